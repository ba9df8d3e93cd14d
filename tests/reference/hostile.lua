-- Random handlers through the compiler alone, for tests/c/compiler_fuzz_test.c: well-typed ones, ill-typed ones, and
-- bytecode that no Lua has made. Each has to end in an object or in a message that says where and what.
require("uplua.base.run").new({ explain = true }):use() -- compiles, and lists the code, without loading it
io.output "/dev/null"

local capture = require "uplua.compile.capture"
local generate = require "generate"
local setup = require "uplua.probe.setup"
local spoil = require "spoil"
local test_run = require "uplua.probe.providers.testrun"
local up = require "uplua"

-- The shared objects of all programs are the same ones: each constructor's calls return what the first program's have.
local objects, calls = {}, 0
for _, name in ipairs { "hash", "percpu_hash", "count", "sum", "hist", "lhist", "hdr", "stats", "min", "max", "var",
  "ring" } do
  local new = up[name]
  rawset(up, name, function(...)
    calls = calls + 1
    objects[calls] = objects[calls] or new(...)
    return objects[calls]
  end)
end

local function declare(program)
  calls = 0
  for _, handler in ipairs((assert(load(program.source, "@" .. program.name))(up))) do
    test_run.handler(program.name, handler)
  end
end

-- Compiles what is declared: true, or false and why not.
local function compile()
  local ok, message = pcall(setup.commit)
  setup.discard()
  return ok, tostring(message)
end

local hostile = {}

-- Compiles COUNT programs from SEED on; CHANGE(program): makes them worse. Returns how many were compiled and refused,
-- and a list of what was no clean refusal.
local function run(count, seed, change, is_clean)
  local compiled, refused, wrong = 0, 0, {}
  for s = seed, seed + count - 1 do
    local program = generate.program(s)
    change(program)
    local declared, why = pcall(declare, program)
    local ok, message = compile()
    if not declared then ok, message = false, why end
    if ok then compiled = compiled + 1 else refused = refused + 1 end
    if not ok and not is_clean(message, program) then wrong[#wrong + 1] = ("seed %d: %s"):format(s, message) end
  end
  return compiled, refused, table.concat(wrong, "\n")
end

local LIMITS = { "bytes of stack at one time", "strings cannot change places",
  "a record made in a loop cannot be kept" }

function hostile.well_typed(count, seed)
  return run(count, seed, function() end, function(message)
    for _, limit in ipairs(LIMITS) do
      if message:find(limit, 1, true) then return true end
    end
  end)
end

function hostile.ill_typed(count, seed)
  return run(count, seed, spoil, function(message, program)
    return message:find(program.name .. ":%d+: %S+ %S+") and not message:find "corrupt" and not message:find "report"
  end)
end

-- Of the functions that a program dumps, one has a byte changed, or a few: mostly among its instructions, which stand
-- first.
function hostile.mutated(count, seed)
  local dump, wanted, dumps = capture.dump, 1, 0
  function capture.dump(handle)
    local bytes = dump(handle)
    dumps = dumps + 1
    if dumps ~= wanted then return bytes end
    for _ = 1, math.random(3) do
      local at = math.random(#bytes * (math.random() < 0.8 and 0.5 or 1))
      bytes = bytes:sub(1, at - 1) .. string.char(math.random(0, 255)) .. bytes:sub(at + 1)
    end
    return bytes
  end
  local compiled, refused, wrong = run(count, seed, function() dumps, wanted = 0, math.random(3) end, function(message)
    return message:find "%S+ %S+" and not message:find "report"
  end)
  capture.dump = dump
  return compiled, refused, wrong
end

return hostile
