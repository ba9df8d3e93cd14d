-- The begin of the API's page.
return {
  types = {
    { "ns", "integer", "nanoseconds" },
    { "bytes", "integer", "a number of bytes" },
    { "size", "integer|string", "bytes, or \"64K\", \"4M\", \"1G\"" },
    { "duration", "number|string", "\"100ms\", \"5s\", \"2m\", \"1h\", or ns" },
    { "hertz", "integer", "times a second" },
    { "address", "integer", "an address in memory" },
  },

  [==[
# The API

`local up = require "uplua"`. In `-e` code and at the prompt the same functions are globals. uplua compiles handlers,
which then run in the kernel; everything else is LuaJIT. Both sides share the objects of "Shared objects" below.

This page is made by `make doc` from lua/uplua/api/, where each public name is declared once, with its types: to add or
change one, edit its row there. `make lint` says what is missing, and tests/api-1.0/ keeps a script for each name.

In a signature, `[x]` may be left out. A wrong argument is an error at the script's line. What is not there is nil, with
the reason as second result. Options stand in one table; unknown ones are errors. "Types and errors", at the end, has
the type and unit of each argument and result.

Editors that know LuaCATS (lua-language-server) complete and check these names: `make install` puts their definitions
into PREFIX/share/uplua/luacats, which belongs into the setting `Lua.workspace.library`.
]==],
}
