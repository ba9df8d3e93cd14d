/* The functions of C that Lua calls by FFI. */
#pragma once

/*
 * The table of their pointers: struct uplua_natives of LuaJIT's FFI, of which uplua.contract takes the members. `make`
 * writes both declarations from the headers of the functions (tools/contract).
 */
const void *natives_table(void);
