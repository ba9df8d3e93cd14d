-- Random handlers over integers compute in the kernel what LuaJIT's int64_t arithmetic computes from the same
-- arguments. Each handler is one Lua function in source; the same source runs here with cdata arguments. Divisors are
-- kept from 0, where handlers.md and LuaJIT differ. The seed is printed; RANDOM_SEED=n repeats a run.
local tap = require "tap"
local target = require "target"

local HANDLERS, DEPTH = tap.fewer(40, 10), 4
local seed = tonumber(os.getenv "RANDOM_SEED" or os.getenv "UPLUA_LONG" and os.time() % 1000000 or 101)
print("# seed " .. seed)
math.randomseed(seed)

local function pick(list) return list[math.random(#list)] end

local CONSTANTS = { "0LL", "1LL", "-1LL", "2LL", "7LL", "-13LL", "255LL", "2147483647LL", "-2147483648LL",
  "4294967296LL", "9223372036854775807LL", "(-9223372036854775807LL - 1)", "3", "100", "-5" }

-- An expression of a 64-bit integer from the variables VARS.
local function expression(vars, depth)
  if depth == 0 or math.random() < 0.15 then
    return math.random() < 0.7 and pick(vars) or "(" .. pick(CONSTANTS) .. " + 0LL)"
  end
  local a, b = expression(vars, depth - 1), expression(vars, depth - 1)
  local kind = math.random(12)
  if kind <= 6 then return ("(%s %s %s)"):format(a, pick { "+", "-", "*" }, b) end
  if kind == 7 then return ("(%s / (bit.band(%s, 1023LL) + 1LL))"):format(a, b) end
  if kind == 8 then return ("(%s %% (bit.bor(%s, 1LL)))"):format(a, b) end
  if kind == 9 then return ("(-%s)"):format(a) end
  if kind == 10 then return ("bit.%s(%s, %s)"):format(pick { "band", "bor", "bxor" }, a, b) end
  if kind == 11 then return ("bit.%s(%s, %d)"):format(pick { "lshift", "rshift", "arshift" }, a, math.random(0, 63)) end
  return ("pick(%s, %s, %s)"):format(a, b, pick(vars))
end

local function condition(vars, depth)
  if depth > 0 and math.random() < 0.4 then
    return ("(%s %s %s)"):format(condition(vars, depth - 1), pick { "and", "or" }, condition(vars, depth - 1))
  end
  if depth > 0 and math.random() < 0.2 then return "not " .. condition(vars, depth - 1) end
  return ("(%s %s %s)"):format(expression(vars, 1), pick { "<", "<=", ">", ">=", "==", "~=" }, expression(vars, 1))
end

local function block(vars, depth, indent, lines)
  depth = math.max(depth, 0)
  local pad = ("  "):rep(indent)
  for _ = 1, math.random(1, 3) do
    local kind = depth > 0 and math.random(6) or 1
    if kind <= 2 then
      lines[#lines + 1] = ("%s%s = %s"):format(pad, pick { "x", "y", "z" }, expression(vars, 2))
    elseif kind == 3 then
      lines[#lines + 1] = ("%sif %s then"):format(pad, condition(vars, 2))
      block(vars, depth - 1, indent + 1, lines)
      if math.random() < 0.6 then
        lines[#lines + 1] = pad .. "else"
        block(vars, depth - 1, indent + 1, lines)
      end
      lines[#lines + 1] = pad .. "end"
    elseif kind == 4 then
      lines[#lines + 1] = ("%sx, y = %s, %s"):format(pad, expression(vars, 2), expression(vars, 2))
    elseif kind == 5 then
      lines[#lines + 1] = ("%sfor i = %d, %d, %d do"):format(pad, math.random(-3, 3), math.random(-3, 6),
        pick { 1, 2, 1, -1, 3 })
      lines[#lines + 1] = ("%s  z = z + i"):format(pad)
      block(vars, depth - 2, indent + 1, lines)
      if math.random() < 0.3 then lines[#lines + 1] = ("%s  if %s then break end"):format(pad, condition(vars, 1)) end
      lines[#lines + 1] = pad .. "end"
    else
      local counter = "k" .. indent
      lines[#lines + 1] = ("%slocal %s = %d"):format(pad, counter, math.random(0, 4))
      local repeats = math.random() < 0.5
      lines[#lines + 1] = pad ..
        (repeats and "repeat" or ("while %s > 0LL and %s do"):format(counter, condition(vars, 1)))
      lines[#lines + 1] = ("%s  %s = %s - 1"):format(pad, counter, counter)
      block(vars, depth - 2, indent + 1, lines)
      lines[#lines + 1] = pad .. (repeats and ("until %s <= 0 or %s"):format(counter, condition(vars, 1)) or "end")
    end
  end
end

-- The source of function NAME(a, b, c), which returns three integers.
local function source(name)
  local lines = { ("function %s(a, b, c)"):format(name), "  local x, y, z = a, b, c" }
  block({ "a", "b", "c", "x", "y", "z" }, DEPTH, 1, lines)
  if math.random() < 0.5 then
    lines[#lines + 1] = ("  if %s then return z, y, x end"):format(condition({ "x", "y", "z" }, 1))
  end
  lines[#lines + 1] = "  return x, y, z\nend"
  return table.concat(lines, "\n")
end

local HELPER = "function pick(p, q, r) if p < q then return r end if p > r then return q end return p end\n"
local functions = {}
for i = 1, HANDLERS do functions[i] = source("h" .. i) end
local code = HELPER .. table.concat(functions, "\n")

-- The kernel's side: each handler stores its results by handler and call.
local script = { "local up = require 'uplua'", code, "local out = up.hash { max = 65536 }" }
for i = 1, HANDLERS do
  script[#script + 1] = ([[
up.uprobe("./build/targets/calls:add3", function(e)
  local x, y, z = h%d(e.arg0, e.arg1 - 20, e.arg2 * 1000000007 - 3)
  out[{ %d, e.arg0 }] = { x = x, y = y, z = z }
end)]]):format(i, i)
end
script[#script + 1] = [[
up.at_exit(function()
  for k, v in out:pairs() do up.printf("R\t%d\t%d\t%d\t%d\t%d\n", k[1], k[2], v.x, v.y, v.z) end
end)]]
local path = target.folder() .. "-random.lua"
local file = assert(io.open(path, "w"))
file:write(table.concat(script, "\n"))
file:close()
local run = target.uplua(path .. " -- ./build/targets/calls 1")
tap.is(run.err, "", "the handlers of seed " .. seed .. " compile, load and lose nothing")

-- This side.
local chunk = assert(loadstring(code))
-- Compiled by Debian's LuaJIT, bit.rshift(bit.band(x, 4294967296LL), 23) is 0 for all x (RANDOM_SEED=297853);
-- interpreted it is right.
jit.off()
local env = setmetatable({}, { __index = _G })
setfenv(chunk, env)
chunk()
local int64 = require "ffi".typeof "int64_t"
local function plain(v) return (tostring(int64(v)):gsub("LL$", "")) end

local results, wrong = 0, 0
for i, n, x, y, z in run.out:gmatch "R\t(%d+)\t(%d+)\t(%S+)\t(%S+)\t(%S+)" do
  local a = int64(tonumber(n))
  local want = { env["h" .. i](a, a * 2 - 20, int64(0) * 1000000007 - 3) }
  results = results + 1
  for k, got in ipairs { x, y, z } do
    if got ~= plain(want[k]) and wrong < 10 then
      wrong = wrong + 1
      io.stderr:write(("# seed %d, h%s(%s), result %d: kernel %s, LuaJIT %s\n%s\n"):format(seed, i, n, k, got,
        plain(want[k]), functions[tonumber(i)]))
    end
  end
end
tap.is(results, HANDLERS * 23, "each handler ran at each of the 23 calls")
tap.is(wrong, 0, "all results are equal")
os.remove(path)
target.done()
tap.done_testing()
