/* gzip: text as a file of gzip's (RFC 1952). */
#include <lauxlib.h>
#include <stdlib.h>
#include <zlib.h>

#include "lua/core.h"

/* gzip.compress(text) → the bytes of the file */
static int gzip_compress(lua_State *L)
{
    enum { GZIP = 16, WINDOW = 15, MEMORY = 8 };
    size_t size;
    const char *text = luaL_checklstring(L, 1, &size);
    z_stream stream = {.next_in = (Bytef *)text, .avail_in = (uInt)size};
    luaL_argcheck(L, stream.avail_in == size, 1, "it is too long for gzip");
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW + GZIP, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        core_no_memory(L);
    size_t room = deflateBound(&stream, size);
    char *out = malloc(room);
    stream.next_out = (Bytef *)out;
    stream.avail_out = (uInt)room;
    int result = out ? deflate(&stream, Z_FINISH) : Z_MEM_ERROR;
    deflateEnd(&stream);
    if (result == Z_STREAM_END)
        lua_pushlstring(L, out, room - stream.avail_out);
    free(out);
    return result == Z_STREAM_END ? 1 : luaL_error(L, "gzip: out of memory");
}

/* gzip.expand(bytes) → the text of a file of gzip's, of which is known that it is one */
static int gzip_expand(lua_State *L)
{
    enum { GZIP = 16, WINDOW = 15, PIECE = 16 << 10 };
    size_t size;
    const char *bytes = luaL_checklstring(L, 1, &size);
    z_stream stream = {.next_in = (Bytef *)bytes, .avail_in = (uInt)size};
    if (inflateInit2(&stream, WINDOW + GZIP) != Z_OK)
        core_no_memory(L);
    luaL_Buffer text;
    luaL_buffinit(L, &text);
    int result;
    do {
        char piece[PIECE];
        stream.next_out = (Bytef *)piece;
        stream.avail_out = sizeof piece;
        result = inflate(&stream, Z_NO_FLUSH);
        luaL_addlstring(&text, piece, sizeof piece - stream.avail_out);
    } while (result == Z_OK);
    inflateEnd(&stream);
    luaL_pushresult(&text);
    return result == Z_STREAM_END ? 1 : luaL_error(L, "gzip: no file of gzip's");
}

int gzip_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {{"compress", gzip_compress}, {"expand", gzip_expand}, {NULL, NULL}};
    return core_functions(L, functions);
}
