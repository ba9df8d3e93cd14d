/* uplua: traces running programs with Lua. Everything is in src/lua and lua/uplua/main.lua. */
#include <stdio.h>
#include <stdlib.h>

#include "lua/state.h"

int main(int argc, char *argv[])
{
    struct error err;
    lua_State *L = state_new(&err);
    if (!L) {
        fprintf(stderr, "uplua: %s\n", err.text);
        return 1;
    }
    int status = state_run(L, argc, argv);
    /* Detached already; the kernel takes a million table entries back faster than lua_close would. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "uplua: cannot write the output\n");
        status = status ? status : 1;
    }
    exit(status);
}
