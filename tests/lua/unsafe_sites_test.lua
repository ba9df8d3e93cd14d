-- Probes that would corrupt the program are refused: on instructions that the kernel takes for others or runs
-- elsewhere, on nops that it replaces, and where the CPU must not be interrupted.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local PROGRAM = "./build/targets/unsafe_sites"
local SUMS = ("2323 "):rep(3) .. "2323\n"

local function address_of(label)
  local pipe = io.popen("nm " .. PROGRAM)
  local found = pipe:read "*a":match("(%x+) %a " .. label .. "\n")
  pipe:close()
  return tonumber(found, 16)
end

-- Runs the program with a uprobe at SPEC of it.
local function run(spec, kind)
  return target.uplua(([[-e 'n = count() %s("%s:%s", function(e) n:inc() end)' -- %s]]):format(kind or "uprobe",
    PROGRAM, spec, PROGRAM))
end

is(target.shell(PROGRAM .. ' >"$D/out"').out, SUMS, "what the program computes")

-- By CPU: function, bytes to the place, bytes to the next one, why; and those of the function that begins with one.
local VECTOR = "the kernel takes this vector instruction for another one"
local NOP = "since Linux 6.18 a probe turns a nop of five bytes into a call, which overwrites data of the function " ..
            "below its stack pointer"
local LITERAL = "the kernel does not load this constant from where it lies"
local EXCLUSIVE = "interrupted there, its exclusive store would never succeed"
local cases = ({
  x64 = { { "keeps", 5, 5, NOP }, { "copies", 18, 6, VECTOR }, { "compares", 4, 5, VECTOR }, begins = { 3, VECTOR } },
  arm64 = { { "keeps", 12, 8, EXCLUSIVE }, { "copies", 4, 4, LITERAL }, { "compares", 8, 4, LITERAL },
    begins = { 4, LITERAL } },
})[jit.arch]

for _, case in ipairs(cases) do
  local name, inside, length, why = unpack(case)
  local place = address_of(name .. "_at")
  for _, spec in ipairs { ("%#x"):format(place), ("%s+%d"):format(name, inside) } do
    local refused = run(spec)
    is(refused.status, 1, spec .. ": no probe")
    like(refused.err,
         ("a probe at %%+%#x of %s would corrupt the program: %s; the next one is at %%+%#x\n"):format(inside, name,
           why, inside + length),
         "why, and where one can be")
    is(refused.out, "", "the program does not run")
  end
  is(run(("%s+%d"):format(name, inside + length)).out, SUMS .. "n: 23\n", "a probe there")
end

local length, why = unpack(cases.begins)
for _, kind in ipairs { "uprobe", "uretprobe" } do
  like(run("begins", kind).err,
       ("a probe at %%+0 of begins would corrupt the program: %s; the next one is at %%+%#x\n"):format(why, length),
         kind .. " of a function that begins with one")
end
local pattern =
  target.uplua(([[-e 'n = count() uprobe("%s:[bck]*s", function(e) n[e.func]:inc() end)' -- %s]]):format(PROGRAM,
  PROGRAM))
is(pattern.out, SUMS .. "n:\ncompares  23\ncopies    23\nkeeps     23\n", "a pattern leaves it out")
like(pattern.err, "1: " .. why .. "\n", "and says so")

target.done()
tap.done_testing()
