-- uplua.types: types of arguments, of results and of the kernel's, and bytes as their values; what is wrong is said.
local tap    = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

-- What CODE prints, a script about the program of values.
local function run(code)
  return target.uplua(("-e %s -- build/targets/values"):format(target.quote([[
    local types = require "uplua.types"
    local all = types.argument("./build/targets/values:show", "all"):target()
  ]] .. code)))
end
local function prints(code, want, what)
  local result = run(code)
  is(result.err, "", what .. ": no error")
  is(result.out, want .. "\n", what)
end
local function refused(code, want, what) like(run(code).err, want, what) end

prints([[print(all.name, all.kind, all:fields()[4].name, all:fields()[8].bits)]], "struct all\tstruct\tcontrol\t3",
  "a type")
prints([[print(all:text "")]], "{…}", "no bytes")
prints([[print(all:text "\1\0a")]], "{yes=true, no=false, letter=97 'a', …}", "some bytes")
prints([[print(#all:decode(("\255"):rep(all.size)).numbers, all:decode(("\255"):rep(all.size)).below)]], "16\t-1",
  "all bytes set")
-- What is no number has bits of which LuaJIT makes nil, or worse, once it has compiled the load.
prints([[local known, bytes = {}, ("\255"):rep(all.size)
  for _ = 1, 500 do known[all:text(bytes)] = true end
  local text = next(known)
  print(next(known, text), text:find "nan" ~= nil)]], "nil\ttrue", "what is no number, again and again")
prints([[local ok = true
  for i = 0, 255 do ok = ok and #all:lines(string.char(i):rep(all.size), 20) > 20 end
  print(ok)]], "true", "each byte everywhere, in 20 columns")
prints([[local node = types.result "./build/targets/values:give"
  print(node:target().name, node:target():fields()[3].type:target():target())]], "struct node\tnil", "of a result")
prints([[print(types.kernel "struct timespec64":text(("\1" .. ("\0"):rep(7)):rep(2)))]], "1.000000001 s",
  "the kernel's")
prints([[local r = up.ring()
  local size = all.size
  up.uprobe("./build/targets/values:show", function(e) r:emit { all = up.buf(e.args.all, size) } end)
  r:each(function(record) print(all:decode(record.all).mode) end)]], "READ|EXECUTE", "what a handler has taken")
refused([[types.argument("./build/targets/values:show", "nobody")]],
  "^uplua: types: ./build/targets/values:show has no argument 'nobody' whose type is known\n", "no such argument")
refused([[types.argument("./build/targets/typed-plain:many", "a")]], "has no argument 'a' whose type is known",
  "no debug information")
refused([[types.kernel "struct nobody_has"]], "the kernel has no type 'struct nobody_has' in its BTF", "no such type")
refused([[all:text(5)]], "text: a string or a buffer is expected, not a number", "no bytes")
refused([[all:lines("", "wide")]], "lines: the width is a number, not a string", "no width")

target.done()
tap.done_testing()
