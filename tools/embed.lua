-- tools/embed.lua modules NAME… [+ LIBRARY…]   the C of the table of embedded modules (src/lua/embedded.h): those of Lua,
--                                              of which `luajit -b` makes objects, and those of C, by luaopen_LIBRARY
-- tools/embed.lua scripts FILE…                the module uplua.scripts: name → text of these scripts, which it has
--                                              compressed: 50 KB in place of 150
local what = table.remove(arg, 1)

local function symbol(name) return "luaJIT_BC_" .. name:gsub("[.-]", "_") end

local function modules()
  local rows, declared, is_c = {}, {}, false
  for _, name in ipairs(arg) do
    if name == "+" then
      is_c = true
    else
      local open = "luaopen_" .. name:gsub("[.]", "_")
      declared[#declared + 1] = is_c and ("int %s(lua_State *L);"):format(open)
        or ("extern const char %s[];"):format(symbol(name))
      rows[#rows + 1] = { name, is_c and (".open = %s"):format(open) or (".bytecode = %s"):format(symbol(name)) }
    end
  end
  assert(#rows > 0, "embed.lua: no modules")
  table.sort(rows, function(a, b) return a[1] < b[1] end) -- byte by byte, as strcmp: luajit has set no locale
  print "/* Made by tools/embed.lua: the modules that are part of uplua's own file. */"
  print '#include "lua/embedded.h"\n'
  print(table.concat(declared, "\n"))
  print "\nstatic const struct embedded_module modules[] = {"
  for i, row in ipairs(rows) do
    assert(i == 1 or rows[i - 1][1] ~= row[1], "embed.lua: two modules are called " .. row[1])
    print(('    {.name = "%s", %s},'):format(row[1], row[2]))
  end
  print "};\n"
  print "const struct embedded embedded_modules = {.modules = modules, .count = sizeof modules / sizeof *modules};"
end

-- TEXT as gzip packs it, without a time.
local function packed(text)
  local name = os.tmpname()
  local file = assert(io.open(name, "w"))
  assert(file:write(text) and file:close())
  local pipe = assert(io.popen("gzip -9n <" .. name))
  local bytes = pipe:read "*a"
  assert(pipe:close() and os.remove(name) and bytes ~= "", "embed.lua: gzip failed")
  return bytes
end

local function scripts()
  local lines = { "return {" }
  for _, path in ipairs(arg) do
    local file = assert(io.open(path))
    lines[#lines + 1] = ("  [%q] = %q,"):format(path:match "[^/]*$", file:read "*a")
    file:close()
  end
  lines[#lines + 1] = "}"
  print "-- Made by tools/embed.lua: the scripts that are part of uplua's own file."
  print(("return assert(load(require 'uplua.core'.gzip.expand(%q)))()"):format(packed(table.concat(lines, "\n"))))
end

if what == "modules" then modules() elseif what == "scripts" then scripts() else error "embed.lua modules | scripts" end
