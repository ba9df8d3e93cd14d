/* uplua: traces running programs with Lua. Everything is in src/lua and lua/uplua/run/main.lua. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lua/state.h"
#include "sys/interrupt.h"
#include "sys/output.h"

/*
 * Where a standard descriptor is closed, the next file to be opened would become it, and get the output: a BPF map, a
 * script's own file. What stands in its place cannot be read, or written, either.
 */
static void occupy_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

int main(int argc, char *argv[])
{
    occupy_standard_descriptors();
    struct error err;
    lua_State *L = state_new(&err);
    if (!L) {
        fprintf(stderr, "uplua: %s\n", err.text);
        return 1;
    }
    int status = state_run(L, &embedded_modules, argc, argv);
    /* Detached already; the kernel takes a million table entries back faster than lua_close would. */
    int failed = output_flush();
    if (interrupt_signal(NULL) == SIGPIPE) {
        status = 128 + SIGPIPE; /* whoever read it has had enough, which needs no word */
    } else if (failed) {
        fprintf(stderr, "uplua: cannot write the output: %s\n", error_reason(failed));
        status = status ? status : 1;
    }
    exit(status);
}
