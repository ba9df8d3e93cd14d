-- The reference: what a handler means, by interpreting its bytecode one instruction after the other over the values of
-- numbers.lua and the objects of world.lua. It shares nothing with the compiler, has no types but those of values, and
-- optimises nothing.
--
--   local run = interpreter.new()         run.up: the API that the handler's chunk is given; run:snapshot(objects):
--                                         what there is
--   run:handler(fn, event)                runs fn(e); event: field → value
--   run.undefined                         why the rules say nothing about this run, or nil
--   run.different                         where the rules differ from LuaJIT's in this run: a list of texts
local ffi = require "ffi"
local util = require "jit.util"
local vmdef = require "jit.vmdef"
local numbers = require "numbers"
local world = require "world"

local interpreter = {}
interpreter.__index = interpreter

local MAX_ROUNDS = 65536                       -- of all loops in one run of a handler
local FRAME_LINK = ffi.abi "gc64" and 2 or 1   -- slots between a called function and its first argument

-- --- Decoding ---

local names = {}
for name in vmdef.bcnames:gmatch "......" do names[#names + 1] = name:match "%S+" end

local decoded = setmetatable({}, { __mode = "k" })

-- The instructions of FN: { op, a, b, c, d, line } each. Instruction 0 is the function's header.
local function decode(fn)
  if decoded[fn] then return decoded[fn] end
  local info = util.funcinfo(fn)
  local code = { parameters = info.params, source = info.source:gsub("^@", "") }
  for pc = 1, info.bytecodes - 1 do
    local word = util.funcbc(fn, pc)
    code[pc] = {
      op = names[bit.band(word, 0xff) + 1], a = bit.band(bit.rshift(word, 8), 0xff), b = bit.rshift(word, 24),
      c = bit.band(bit.rshift(word, 16), 0xff), d = bit.rshift(word, 16), line = util.funcinfo(fn, pc).currentline,
    }
  end
  decoded[fn] = code
  return code
end

-- --- Ends ---

local ENDED = {} -- what is raised where a handler ends early

function interpreter:place()
  return ("%s:%d"):format(self.source, self.line)
end

-- An error in Lua's sense: the handler ends, what it did before stays.
function interpreter:fail()
  self.world:count "error"
  error(ENDED, 0)
end

function interpreter:count_round()
  self.rounds = self.rounds + 1
  if self.rounds > MAX_ROUNDS then
    self.rules.differs "the budget of rounds"
    self.world:count "rounds"
    error(ENDED, 0)
  end
end

-- --- Values ---

-- Records remember which of their fields were given a num: it is an integer from there on, which LuaJIT's table does
-- not know.
local nums_in = setmetatable({}, { __mode = "k" })

-- The key of a table that NAME is: an integer the number, which in LuaJIT is another key.
local function key_of(run, name)
  if name == nil then run:fail() end
  if type(name) ~= "cdata" then return name end
  run.rules.differs "an integer as the key of a table"
  return tonumber(name)
end

local function set_field(run, record, name, value)
  if record == nil then run:fail() end
  name = key_of(run, name)
  nums_in[record] = nums_in[record] or {}
  nums_in[record][name] = type(value) == "number" or numbers.is_u64(value) or nil
  record[name] = numbers.is_number(value) and numbers.i64(value) or value
end

local function get_field(run, record, name)
  if record == nil then run:fail() end
  name = key_of(run, name)
  if nums_in[record] and nums_in[record][name] then run.rules.differs "a number kept in a record" end
  return record[name]
end

local function method(receiver, name)
  return { method = name, receiver = receiver }
end

-- base[key]
local function index(run, base, key)
  if base == run.event then return run.fields[key] end
  if type(base) == "table" and base.object then
    if base.entries and not base.total then return run.world:get(base, key) end
    if key == "inc" or key == "add" or not base.entries then return method(base, key) end
    return { cell = base, key = key }
  end
  local kind = type(base)
  if kind == "string" or kind == "userdata" or (kind == "table" and base.cell) then return method(base, key) end
  return get_field(run, base, key)
end

-- base[key] = value
local function assign(run, base, key, value)
  if type(base) == "table" and base.object then return run.world:set(base, key, value) end
  set_field(run, base, key, value)
end

-- --- Calls ---

local function call_method(run, name, receiver, ...)
  local w = run.world
  if name == "find" then return receiver:find(...) end
  if type(receiver) == "userdata" then return receiver:starts(...) end
  if type(receiver) == "string" then return receiver:sub(1, #(...)) == (...) end -- starts
  if receiver.cell then return w:add(receiver.cell, name == "inc" and 1 or (...), true, receiver.key) end
  if receiver.kind == "ring" then return w:emit(receiver, (...)) end
  if receiver.kind ~= "var" then return w:add(receiver, name == "inc" and 1 or (...)) end
  if name == "get" then return receiver.value end
  if name == "set" then return w:var_set(receiver, (...)) end
  w:var_add(receiver, (...))
end

local bit_names = {}
for name, operation in pairs(bit) do bit_names[operation] = name end

local function check(run, count, ...)
  for i = 1, count do
    if (select(i, ...)) == nil then run:fail() end
  end
end

-- What FN, which is none of Lua's functions, returns; or false, and it is one.
local function call_known(run, fn, ...)
  local name = type(fn) == "table" and fn.builtin or bit_names[fn]
  if type(fn) == "table" and fn.method then return true, call_method(run, fn.method, ...) end
  if not name then return false end
  if bit_names[fn] then
    check(run, name == "bnot" and 1 or select("#", ...), ...)
    return true, numbers.bit[name](run.rules, ...)
  end
  if name == "buf" then return true, run.world:buffer(...) end
  if name == "copy" then return true, run.world:copy((...)) end
  if name:find "^read_" then return true, run.world:read(name:sub(6), (...)) end
  check(run, 1, ...)
  return true, numbers.cast[name]((...))
end

-- The results of fn(args[1], …, args[count]): their number, and a list.
local function call(run, fn, args, count)
  local function pack(known, ...) return known, select("#", ...), { ... } end
  local known, result_count, results = pack(call_known(run, fn, unpack(args, 1, count)))
  if known then return result_count, results end
  local source, line = run.source, run.line
  result_count, results = run:interpret(fn, args)
  run.source, run.line = source, line
  return result_count, results
end

-- --- Instructions ---

-- Each function acts on a frame { fn, slots, multiple, multiple_count } and may return where to go on: relative to
-- what follows.

local execute = {}

-- A comparison stands before a JMP, which is taken where it holds.
local function compare(holds)
  return function(run, frame, i)
    if not holds(run, frame.slots[i.a], i.d, frame) then return 1 end
  end
end

local function slot(frame, d) return frame.slots[d] end
local function constant(frame, d) return util.funck(frame.fn, -1 - d) end
local function number(frame, d) return util.funck(frame.fn, d) end
local function primitive(_, d)
  if d > 0 then return d == 2 end
end
local function small(_, d) return d < 0x8000 and d or d - 0x10000 end

-- Only values of one sort can be equal; nil is equal to nil.
local function equal(run, a, b)
  if numbers.is_number(a) and numbers.is_number(b) then return numbers.equal(a, b, run.rules) end
  return rawequal(a, b)
end

local function ordered(run, name, a, b)
  check(run, 2, a, b)
  return numbers[name](a, b, run.rules)
end
local function less(run, a, b) return ordered(run, "less", a, b) end
local function less_or_equal(run, a, b) return ordered(run, "less_or_equal", a, b) end

execute.ISLT = compare(function(run, a, d, frame) return less(run, a, slot(frame, d)) end)
execute.ISGE = compare(function(run, a, d, frame) return not less(run, a, slot(frame, d)) end)
execute.ISLE = compare(function(run, a, d, frame) return less_or_equal(run, a, slot(frame, d)) end)
execute.ISGT = compare(function(run, a, d, frame) return not less_or_equal(run, a, slot(frame, d)) end)
for suffix, operand in pairs { V = slot, S = constant, N = number, P = primitive } do
  execute["ISEQ" .. suffix] = compare(function(run, a, d, frame) return equal(run, a, operand(frame, d)) end)
  execute["ISNE" .. suffix] = compare(function(run, a, d, frame) return not equal(run, a, operand(frame, d)) end)
end

-- Tests of D; the C forms also copy it to A where the JMP is taken.
local function test(wanted, copies)
  return function(_, frame, i)
    local value = frame.slots[i.d]
    if (value and true or false) ~= wanted then return 1 end
    if copies then frame.slots[i.a] = value end
  end
end
execute.IST, execute.ISF = test(true), test(false)
execute.ISTC, execute.ISFC = test(true, true), test(false, true)

local function load(value)
  return function(_, frame, i) frame.slots[i.a] = value(frame, i.d) end
end
execute.MOV, execute.KSTR, execute.KCDATA = load(slot), load(constant), load(constant)
execute.KSHORT, execute.KNUM, execute.KPRI = load(small), load(number), load(primitive)
execute.NOT = load(function(frame, d) return not frame.slots[d] end)
function execute.LEN(run, frame, i)
  check(run, 1, frame.slots[i.d])
  frame.slots[i.a] = #frame.slots[i.d]
end
function execute.KNIL(_, frame, i)
  for a = i.a, i.d do frame.slots[a] = nil end
end

function execute.UGET(_, frame, i)
  local _, value = debug.getupvalue(frame.fn, i.d + 1)
  frame.slots[i.a] = value
end
function execute.GGET(_, frame, i) frame.slots[i.a] = debug.getfenv(frame.fn)[constant(frame, i.d)] end

function execute.UNM(run, frame, i)
  check(run, 1, frame.slots[i.d])
  frame.slots[i.a] = numbers.neg(frame.slots[i.d])
end
for name, operation in pairs { ADD = "add", SUB = "sub", MUL = "mul", DIV = "div", MOD = "mod" } do
  local function operate(run, frame, a, x, y)
    check(run, 2, x, y)
    frame.slots[a] = numbers[operation](x, y, run.rules)
  end
  execute[name .. "VV"] = function(run, frame, i) operate(run, frame, i.a, frame.slots[i.b], frame.slots[i.c]) end
  execute[name .. "VN"] = function(run, frame, i) operate(run, frame, i.a, frame.slots[i.b], number(frame, i.c)) end
  execute[name .. "NV"] = function(run, frame, i) operate(run, frame, i.a, number(frame, i.c), frame.slots[i.b]) end
end

function execute.TNEW(_, frame, i) frame.slots[i.a] = {} end
function execute.TDUP(run, frame, i)
  local record = {}
  for name, value in pairs(constant(frame, i.d)) do set_field(run, record, name, value) end
  frame.slots[i.a] = record
end
local KEYS = { V = slot, S = constant, B = function(_, c) return c end }
for suffix, key in pairs(KEYS) do
  execute["TGET" .. suffix] = function(run, frame, i)
    frame.slots[i.a] = index(run, frame.slots[i.b], key(frame, i.c))
  end
  execute["TSET" .. suffix] = function(run, frame, i)
    assign(run, frame.slots[i.b], key(frame, i.c), frame.slots[i.a])
  end
end
function execute.TSETM(run, frame, i)
  local first = tonumber(ffi.cast("uint32_t *", ffi.new("double[1]", number(frame, i.d)))[0])
  for n = 1, frame.multiple_count do
    assign(run, frame.slots[i.a - 1], first + n - 1, frame.multiple[n])
  end
end

-- COUNT slots from FIRST on, and where OPEN all results of the last call behind them.
local function gather(frame, first, count, open)
  local values = {}
  for n = 1, count do values[n] = frame.slots[first + n - 1] end
  for n = 1, open and frame.multiple_count or 0 do values[count + n] = frame.multiple[n] end
  return values, count + (open and frame.multiple_count or 0)
end

local function call_from(open)
  return function(run, frame, i)
    local args, count = gather(frame, i.a + FRAME_LINK, open and i.c or i.c - 1, open)
    local result_count, results = call(run, frame.slots[i.a], args, count)
    if i.b == 0 then
      frame.multiple, frame.multiple_count = results, result_count
    else
      for n = 1, i.b - 1 do frame.slots[i.a + n - 1] = results[n] end
    end
  end
end
execute.CALL, execute.CALLM = call_from(false), call_from(true)

local function tail_call(open)
  return function(run, frame, i)
    local args, count = gather(frame, i.a + FRAME_LINK, open and i.d or i.d - 1, open)
    frame.result_count, frame.results = call(run, frame.slots[i.a], args, count)
  end
end
execute.CALLT, execute.CALLMT = tail_call(false), tail_call(true)

function execute.RET0(_, frame) frame.results, frame.result_count = {}, 0 end
function execute.RET(_, frame, i) frame.results, frame.result_count = gather(frame, i.a, i.d - 1) end
execute.RET1 = execute.RET
function execute.RETM(_, frame, i) frame.results, frame.result_count = gather(frame, i.a, i.d, true) end

-- Control flow: a jump's distance is biased. What counts as a round is one run of a loop's body.
local function jump(_, _, i) return i.d - 0x8000 end
execute.JMP, execute.UCLO = jump, jump
function execute.LOOP(run) run:count_round() end

-- Whether a loop at COUNTER goes on, its step says; of -0, which integers do not have, LuaJIT's own ways differ.
local function goes_on(run, counter, stop, step)
  if step == 0 and 1 / tonumber(step) < 0 then run.rules.differs "a step of -0" end
  if less_or_equal(run, 0, step) then return less_or_equal(run, counter, stop) end
  return less_or_equal(run, stop, counter)
end

-- The counter is an integer where a bound or the step is; in LuaJIT they cannot be.
function execute.FORI(run, frame, i)
  local slots, a = frame.slots, i.a
  local start, stop, step = slots[a], slots[a + 1], slots[a + 2]
  check(run, 3, start, stop, step)
  if type(start) ~= "number" or type(stop) ~= "number" or type(step) ~= "number" then
    run.rules.differs "a for loop over integers"
    if type(start) == "number" then slots[a] = numbers.common(stop, step, run.rules)(start) end
  end
  if not goes_on(run, slots[a], stop, step) then return i.d - 0x8000 end
  run:count_round()
  slots[a + 3] = slots[a]
end
function execute.FORL(run, frame, i)
  local slots, a = frame.slots, i.a
  slots[a] = numbers.add(slots[a], slots[a + 2], run.rules)
  if not goes_on(run, slots[a], slots[a + 1], slots[a + 2]) then return end
  run:count_round()
  slots[a + 3] = slots[a]
  return i.d - 0x8000
end

-- --- Runs ---

-- Interprets FN on ARGS; returns the number of its results and their list.
function interpreter:interpret(fn, args)
  local code = decode(fn)
  local frame = { fn = fn, slots = {}, multiple_count = 0 }
  for n = 1, code.parameters do frame.slots[n - 1] = args[n] end
  local pc = 1
  repeat
    local i = code[pc]
    self.source, self.line = code.source, i.line
    local step = (execute[i.op] or error("the reference does not know " .. i.op))(self, frame, i)
    pc = pc + 1 + (step or 0)
  until frame.result_count
  return frame.result_count, frame.results
end

-- Runs the handler FN on the event whose FIELDS are given.
function interpreter:handler(fn, fields)
  self.fields, self.rounds = fields, 0
  local ok, message = xpcall(self.interpret, function(raised)
    return raised == ENDED and raised or debug.traceback(tostring(raised))
  end, self, fn, { self.event })
  if not ok and message ~= ENDED then error(message, 0) end
end

function interpreter:snapshot(objects) return self.world:snapshot(objects) end

function interpreter.new()
  local run = setmetatable({ event = {}, rounds = 0, different = {} }, interpreter)
  run.world = world.new(function() run:fail() end)
  run.world.at = function() return run:place() end
  run.rules = {
    count = function(what) run.world:count(what) end,
    differs = function(how) run.different[#run.different + 1] = how end,
    undefined = function(why)
      run.undefined = run.undefined or why
      error(ENDED, 0)
    end,
  }
  run.up = run.world:constructors()
  for _, name in ipairs { "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64" } do
    run.up[name], run.up["read_" .. name] = { builtin = name }, { builtin = "read_" .. name }
  end
  run.up.copy, run.up.buf = { builtin = "copy" }, { builtin = "buf" }
  return run
end

return interpreter
