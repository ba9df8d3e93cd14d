-- The whole message of each refusal: what a handler cannot do, and what to write instead. refusals_test.lua has what is
-- refused for other reasons.
local tap = require "tap"
local target = require "target"

-- { the handler's body, the message without the file and line 4; FILE where it is told with another line }
local cases = {
  { [[coroutine.yield(1)]], "a handler cannot use coroutines: it runs from its beginning to its end" },
  { [[local co = coroutine.create(recursive)]],
    "a handler cannot use coroutines: it runs from its beginning to its end" },
  { [[m[1] = thread]], "a thread cannot be stored in a map by a handler" },
  { [[local t = setmetatable({ x = 1 }, constants)]],
    "a handler cannot use metatables: its records have fields alone" },
  { [[getmetatable(constants)]], "a handler cannot use metatables: its records have fields alone" },
  { [[with_metatable(1)]],
    "a handler calls Lua functions that are known when it is compiled; 'with_metatable' is none" },
  { [[m[1] = string.format("%d", e.arg0)]],
    "a handler cannot build strings; emit the parts and join them in the ring's callback" },
  { [[m[1] = string.sub(e.comm, 1)]],
    "a handler cannot build strings; emit the parts and join them in the ring's callback" },
  { [[m[1] = tostring(e.arg0)]],
    "a handler cannot build strings; emit the parts and join them in the ring's callback" },
  { [[m[1] = table.concat({ "a" })]],
    "a handler cannot build strings; emit the parts and join them in the ring's callback" },
  { [[m[1] = string.len(e.comm)]], "a handler cannot call string.len: use #s" },
  { [[m[1] = string.find(e.comm, "x")]],
    "a handler cannot call string.find: a handler compares strings by ==, ~= and s:starts(prefix); " ..
    "do the rest in user space, in the ring's callback" },
  { [[for k, v in ipairs(constants) do m[k] = v end]],
    "a handler cannot use the generic for; iterate in user space, with m:pairs()" },
  { [[for k, v in pairs(constants) do end]],
    "a handler cannot use the generic for; iterate in user space, with m:pairs()" },
  { [[for k, v in next, constants do end]],
    "a handler cannot use the generic for; iterate in user space, with m:pairs()" },
  { [[for k, v in m:pairs() do end]],
    "'m:pairs' is for the script side: in a handler write m[key], m[key] = value or m[key] = nil" },
  { [[mutual(e.arg0)]],
    [[FILE:2: functions that call themselves cannot run in a handler (line 2)
  called at FILE:2
  called at FILE:4]] },
  { [[local x = n[1] m[1] = x]],
    "a handler cannot read the aggregation 'n', it only adds to it; " ..
    "what handlers read belongs into an up.hash() or up.var()" },
  { [[m[1] = n[1] + 1]],
    "a handler cannot read the aggregation 'n', it only adds to it; " ..
    "what handlers read belongs into an up.hash() or up.var()" },
  { [[if n[1] > 5 then m[1] = 1 end]],
    "a handler cannot read the aggregation 'n', it only adds to it; " ..
    "what handlers read belongs into an up.hash() or up.var()" },
  { [[if n[1] then m[1] = 1 end]],
    "a handler cannot read the aggregation 'n', it only adds to it; " ..
    "what handlers read belongs into an up.hash() or up.var()" },
  { [[if n[1] == 5 then m[1] = 1 end]],
    "a handler cannot read the aggregation 'n', it only adds to it; " ..
    "what handlers read belongs into an up.hash() or up.var()" },
  { [[m[1] = n + 1]], "arithmetic or order comparison on a shared object" },
  { [[m[1] = n:get()]], "'n:get' is for the script side: a handler only adds to an aggregation" },
  { [[m[1] = h:percentile(99)]], "'h:percentile' is for the script side: a handler only adds to an aggregation" },
  { [[if e.comm then m[1] = 1 end]], "this condition is always true: a string is never nil or false" },
  { [[if e:ustack() then m[1] = 1 end]], "this condition is always true: a stack is never nil or false" },
  { [[local r = { e.arg0 } m[1] = r[1] and 1 or 2 if r[1] then m[2] = 1 end]],
    "this condition is always true: an integer is never nil or false; did you mean ~= 0?" },
  { [[m[1] = 0.5 * e.arg0]],
    "0.5 is not an integer: handlers compute with integers; up.i64(a) / b cuts the fraction off" },
  { [[m[1] = e.arg0 / 0.5]],
    "0.5 is not an integer: handlers compute with integers; up.i64(a) / b cuts the fraction off" },
  { [[m[1] = bit.lshift(1, 31)]],
    "on Lua numbers this bit operation has 32 bits in Lua, " ..
    "and another result than with the 64 of a handler: write up.i64(1)" },
  { [[m[1] = bit.rshift(-1, 1)]],
    "on Lua numbers this bit operation has 32 bits in Lua, " ..
    "and another result than with the 64 of a handler: write up.i64(-1)" },
  { [[for i = 0, 3 do m[1] = bit.lshift(1, i) end]],
    "on Lua numbers bit.lshift has 32 bits in Lua, and 64 in a handler: write bit.lshift(up.i64(1), n)" },
  { [[for i = 0, 3 do m[1] = bit.band(i, 5) end]],
    "on Lua numbers bit.band has 32 bits in Lua, and 64 in a handler: write bit.band(up.i64(i), 5)" },
  { [[for i = 0, 3 do m[1] = bit.bnot(i) end]],
    "on Lua numbers bit.bnot has 32 bits in Lua, and 64 in a handler: write bit.bnot(up.i64(i))" },
  { [[for i = 0, 3 do m[1] = i / 2 end]], "a fraction in Lua: up.i64(i) / 2 cuts it off" },
  { [[for i = -1, 3 do m[1] = i % 3 end]],
    "% of a Lua number that may be negative, or by one that may be 0, has another result in Lua: write up.i64(i) % 3" },
  { [[for i = 3, -1, -1 do m[1] = i % 3 end]],
    "% of a Lua number that may be negative, or by one that may be 0, has another result in Lua: write up.i64(i) % 3" },
  { [[for i = 0, 3 do m[1] = 7 % i end]],
    "% of a Lua number that may be negative, or by one that may be 0, has another result in Lua: write up.i64(7) % n" },
  { [[n[e.arg0][e.arg1]:inc()]], "'n' has one key: for two write n[{ a, b }]" },
  { [[h[1][e.arg1]:add(1)]], "'h' has one key: for two write h[{ a, b }]" },
  { [[m[e.arg0][e.arg1] = 1]], "'m' has one key: for two write m[{ a, b }]" },
  { [[m[1] = 2 m[2] = m[e.arg0][e.arg1] ]], "'m' has one key: for two write m[{ a, b }]" },
  { [[m[1] = { x = 1 } m[1][e.arg0] = 2]], "'m' has one key: for two write m[{ a, b }]" },
  { [[up.printf("%s", up.cast("char **", e.arg0)[0])]],
    "printf: argument 2 is a 'char *', an address: up.str(p) is the text there" },
  { [[printf("x")]], "'printf' is nil when the handler is compiled: there is no such function: " ..
                     "say up.printf, of local up = require \"uplua\"" },
  { [[m[1] = bit.bswap(3)]], "bit.bswap of a Lua number swaps 4 bytes in Lua, and 8 in a handler: write up.i64(x)" },
  { [[m[1] = e.arg0 ^ 2]], "'^' on values of the kernel is not available in a handler; multiply" },
  { [[m[1] = bit.tohex(e.arg0)]], [[a handler cannot call bit.tohex: up.printf("%x", x) prints it]] },
  { [[local x m[1] = x + 1]], "arithmetic or comparison on a value that is always nil" },
  { [[local x m[1] = x.y]], "'x' is nil: it is not set when the handler is compiled" },
  { [[local x x()]], "'x' is nil when the handler is compiled: there is no such function" },
  { [[m[nil] = 1]], "the key of 'm' is always nil here" },
  { [[m[1] = -nil]], "arithmetic or comparison on a value that is always nil" },
  { [[pcall(mutual, 1)]], "a handler cannot raise or catch errors: return ends it, up.exit() ends the run" },
  { [[error("x")]], "a handler cannot raise or catch errors: return ends it, up.exit() ends the run" },
  { [[assert(e.arg0 > 0)]], "a handler cannot raise or catch errors: return ends it, up.exit() ends the run" },
  { [[if type(e.arg0) == "number" then m[1] = 1 end]],
    "a handler cannot call type: the type of each value is known when the handler is compiled" },
  { [[m[1] = tonumber(e.comm)]],
    "a handler cannot call tonumber: emit the string and convert it in the ring's callback" },
  { [[m[1] = select(2, 1, 2)]],
    "a handler cannot call select: a handler has as many values as are written there: " ..
    "name them, a tuple's are t[1], t[2]" },
  { [[m[1] = unpack(constants)]],
    "a handler cannot call unpack: a handler has as many values as are written there: " ..
    "name them, a tuple's are t[1], t[2]" },
  { [[m[1] = math.floor(e.arg0 / 2)]],
    "a handler cannot call math.floor: a handler computes with integers, which have no fraction: / cuts it off" },
  { [[m[1] = math.max(e.arg0, 3)]], "a handler cannot call math.max: write a > b and a or b" },
  { [[m[1] = math.min(e.arg0, 3)]], "a handler cannot call math.min: write a < b and a or b" },
  { [[m[1] = math.abs(e.arg0)]], "a handler cannot call math.abs: write x < 0 and -x or x" },
  { [[m[1] = math.random()]],
    "a handler cannot call math.random: a handler computes with integers: + - * / % and bit.*" },
  { [[io.write("x")]], "a handler cannot call io.write: use up.printf(format, …)" },
  { [[io.open("x")]],
    "a handler cannot call io.open: files are for user space: up.printf() prints, a ring's callback can write" },
  { [[m[1] = os.time()]],
    "a handler cannot call os.time: use e.time, which up.clock() shows as the wall clock's in user space" },
  { [[os.execute("x")]], "a handler cannot call os.execute: it is for user space" },
  { [[print(e.arg0)]], "a handler cannot call print: use up.printf(format, …)" },
  { [[rawget(constants, 1)]], "a handler cannot call rawget: use t[key]" },
  { [[require "x"]], "a handler cannot call require: load it outside: a handler can use what it gives" },
  { [[load("x")]], "a handler cannot call load: load it outside: a handler can use what it gives" },
  { [[table.insert(constants, 1)]],
    "a handler cannot call table.insert: a handler's records have the fields that they are written with; " ..
    "use up.hash() for what grows" },
  { [[ffi.cast("int", 1)]],
    "a handler cannot call ffi.cast: up.cast(\"struct name *\", address) reads structures, " ..
    "up.read_u64(address) and its kin words, up.str(address) strings" },
  { [[m[1] = constants]], "a table of the script cannot be stored in a map by a handler" },
  { [[m[1] = e]], "the event cannot be stored in a map by a handler" },
  { [[m[1] = recursive]], "a function cannot be stored in a map by a handler" },
  { [[m[e] = 1]], "the event cannot be stored as a key by a handler" },
  { [[m[1] = { f = recursive }]], "a function cannot be stored in a record by a handler" },
  { [[m[1] = function() end]],
    "a handler cannot create functions; define the function outside and call it: it is inlined" },
  { [[r:emit(e.arg0)]], "a ring takes records: r:emit { name = value }, not an integer" },
  { [[r:emit(constants)]], "a ring takes records: r:emit { name = value }, not a table of the script" },
  { [[r:emit(nil)]], "emits a value that is always nil" },
  { [[r:each(print)]], "a handler can only :emit { … } into a ring" },
  { [[v:set("x")]], "the var 'v' was made for an integer, and is set to a string here" },
  { [[v:clear()]], "a handler can only :get(), :set(x) and :add(n) a var" },
  { [[m:set(1, 1)]], "'m:set' is for the script side: in a handler write m[key], m[key] = value or m[key] = nil" },
  { [[n:add("x")]], ":add(value) takes an integer, not a string" },
  { [[h:add(e.comm)]], ":add(value) takes an integer, not a string" },
  { [[up.every(1, print)]],
    "a handler cannot call up.every: probes and callbacks are declared by the script, not by handlers" },
  { [[up.now()]], "a handler cannot call up.now: use e.time" },
  { [[up.hash()]], "a handler cannot call up.hash: make it outside of the handler, which can use it then" },
  { [[up.clock(e.time)]],
    "a handler cannot call up.clock: texts are made in user space, in the ring's callback; up.printf() prints" },
  { [[up.site("x")]], "a handler cannot call up.site: it is for user space" },
  { [[m[1] = e.comm + 1]], "arithmetic or order comparison on a string" },
  { [[m[1] = {} == {}]], "records cannot be compared in a handler; compare fields" },
  { [[m[1] = {} < {}]], "arithmetic or order comparison on a record { }" },
  { [[inlined(e.arg0)]],
    [[FILE:2: a handler cannot build strings; emit the parts and join them in the ring's callback
  called at FILE:4]] },
  { [[dies(m[1])]],
    "FILE:2: this record was read from 'm' at line 4, and 'm' has been assigned to since, at line 2: " ..
    "take what you need before that, or keep up.copy(record)\n  called at FILE:4" },
}

local path = target.folder() .. "-messages.lua"
for _, case in ipairs(cases) do
  local file = assert(io.open(path, "w"))
  file:write(('local up = require "uplua" ' ..
              "local m, n, h, v, r, constants = up.hash(), up.count(), up.hist(), up.var(0), up.ring(), {} " ..
              'local ffi = require "ffi"\n' ..
              "local function recursive(x) return recursive(x) + 1 end " ..
              "local mutual local function other(x) return mutual(x) end function mutual(x) return other(x) end " ..
              'local function inlined(x) local s = x .. "" end local function dies(r) m[2] = { n = 1 } r.n = 2 end ' ..
              "local with_metatable, thread = setmetatable({}, { __call = print }), coroutine.create(print)\n" .. [[
up.uprobe("./build/targets/calls:add3", function(e)
  %s
end)
]]):format(case[1]))
  file:close()
  local run = target.uplua(path .. " -- ./build/targets/calls 1")
  os.remove(path)
  local want = case[2]:find("FILE", 1, true) and case[2] or "FILE:4: " .. case[2]
  tap.is(run.err, "uplua: " .. want:gsub("FILE", path) .. "\n", case[1])
end

local outside = target.script("local up = require 'uplua'\nlocal n = count()", "")
tap.like(outside.err,
  "script.lua:2: attempt to call global 'count' %(a nil value%): say up.count, of local up = require \"uplua\"\n",
  "in a file without up.")
outside = target.script("nobody()", "")
tap.like(outside.err, "script.lua:1: attempt to call global 'nobody' %(a nil value%)\n",
  "what is no function of uplua's")
target.done()
tap.done_testing()
