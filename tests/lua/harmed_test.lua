-- Probes that would corrupt the program are refused: on instructions that the kernel takes for others, and on nops that it replaces.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local PROGRAM = "./build/targets/harmed"
local SUMS = ("2323 "):rep(3) .. "2323\n"

local function address_of(label)
  local pipe = io.popen("nm " .. PROGRAM)
  local found = pipe:read "*a":match("(%x+) %a " .. label .. "\n")
  pipe:close()
  return tonumber(found, 16)
end

-- Runs the program with a uprobe at SPEC of it.
local function run(spec, kind)
  return target.uplua(([[-e 'n = count() %s("%s:%s", function(e) n:inc() end)' -- %s]]):format(kind or "uprobe", PROGRAM, spec, PROGRAM))
end

is(target.shell(PROGRAM .. ' >"$D/out"').out, SUMS, "what the program computes")

if jit.arch == "x64" then
  local VECTOR = "the kernel takes this vector instruction for another one"
  local NOP = "Linux 6.18 makes a call of a nop of five bytes, and that overwrites what the function may keep below its stack pointer"
  for _, case in ipairs {
    { "keeps", 5, 5, NOP },
    { "copies", 18, 6, VECTOR },
    { "compares", 4, 5, VECTOR },
  } do
    local name, inside, length, why = unpack(case)
    local place = address_of(name .. "_at")
    for _, spec in ipairs { ("%#x"):format(place), ("%s+%d"):format(name, inside) } do
      local refused = run(spec)
      is(refused.status, 1, spec .. ": no probe")
      like(refused.err, ("a probe at %%+%#x of %s would corrupt the program: %s; the next one is at %%+%#x\n"):format(inside, name, why, inside + length),
           "why, and where one can be")
      is(refused.out, "", "the program does not run")
    end
    is(run(("%s+%d"):format(name, inside + length)).out, SUMS .. "n: 23\n", "a probe there")
  end

  for _, kind in ipairs { "uprobe", "uretprobe" } do
    like(run("begins", kind).err, "a probe at %+0 of begins would corrupt the program: " .. VECTOR .. "; the next one is at %+0x3\n",
         kind .. " of a function that begins with one")
  end
  local pattern = target.uplua(([[-e 'n = count() uprobe("%s:[bck]*s", function(e) n[e.func]:inc() end)' -- %s]]):format(PROGRAM, PROGRAM))
  is(pattern.out, SUMS .. "n:\ncompares  23\ncopies    23\nkeeps     23\n", "a pattern leaves it out")
  like(pattern.err, "1: " .. VECTOR .. "\n", "and says so")
end

target.done()
tap.done_testing()
