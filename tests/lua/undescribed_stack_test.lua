-- Stacks through code of which nobody has written down how it is unwound: musl's libc, and a program without tables.
-- Callers are found by what the instructions do to the stack; the frames that come from there are marked.
local tap = require "tap"
local target = require "target"
local is, ok, like = tap.is, tap.ok, tap.like

local SAID = "^uplua: not everything was seen:\n  %d+ × stack with frames marked as guessed: the code that they " ..
             "have called has no unwind table\n$"

-- Each stack at SPEC in a run of PROGRAM: { text (one line), names, count, whole, offsets }; what the program said,
-- and standard error.
local function stacks(program, spec)
  local run = target.script(([[
    local up = require "uplua"
    local s = up.count()
    up.uprobe(%q, function(e) s[e:ustack()]:inc() end)
    up.at_exit(function()
      for stack, count in s:pairs() do
        local offsets = {}
        for i, frame in ipairs(stack:frames()) do
          offsets[i] = ("%%d%%s"):format(frame.address %% 4096, frame.guessed and "?" or "")
        end
        print("stack", count, stack:text { one_line = " ", offsets = false }, stack:folded(),
              stack:incomplete() or "whole", table.concat(offsets, " "))
      end
    end)]]):format(spec), "-- ./" .. program)
  local list = {}
  for count, text, folded, whole, offsets in run.out:gmatch "stack\t(%d+)\t([^\t\n]*)\t([^\t\n]*)\t(%S+)\t([^\n]*)\n" do
    list[#list + 1] = { count = tonumber(count), text = text, folded = folded, whole = whole, offsets = offsets }
  end
  return list, run
end

-- Below the callback: frames of libc, then sorts, main, what libc calls main by, and the program's first function.
local static = {}
for _, kind in ipairs { "musl", "static" } do
  local program = "build/targets/sorts_below-" .. kind
  local list, run = stacks(program, ("./%s:cmp"):format(program))
  like(run.err, SAID, kind .. ": what is guessed is said")
  local calls, wrong = 0, nil
  for _, one in ipairs(list) do
    calls = calls + one.count
    if one.whole ~= "whole" or not one.text:find "^cmp .*[^ ]+ sorts %(guessed%) main [^ ]+ _start %(guessed%)$"
       or one.text:find "unknown" then wrong = one.text .. " " .. one.whole end
    if not one.folded:find "^_start %(guessed%);[^;]+;main;sorts %(guessed%);.*;cmp$" then wrong = one.folded end
    static[one.offsets] = kind == "static" and one.count or nil
  end
  is(calls, tonumber(run.out:match "^(%d+)\n"), "  … every call of the callback")
  is(wrong, nil, "  … has all of its callers, with a mark where that is a guess")
end

-- A thread's stack ends where the thread begins.
for _, kind in ipairs { "musl", "static" } do
  local program = "build/targets/sorts_below-" .. kind
  local list = stacks(program, ("./%s:tick"):format(program))
  is(#list == 1 and list[1].count, 23, kind .. ": a second thread's calls have one stack")
  is(#list == 1 and list[1].whole, "whole", "  … which is whole")
  like(#list == 1 and list[1].text, "^tick ticks [^ ]+ [^ ]+ %(guessed%)$", "  … down to where musl starts it")
end

-- Through functions that only pointers in data lead to, and a large one with jumps by tables.
local run = target.script([[
  local up = require "uplua"
  local s = up.count()
  local function handler(e) s[e:ustack()]:inc() end
  up.syscall("writev", handler)
  up.syscall("write", handler)
  up.at_exit(function()
    for stack, count in s:pairs() do
      print("stack", count, stack:incomplete() or "whole", stack:text { one_line = " ", offsets = false })
    end
  end)]], "-- build/targets/sorts_below-musl")
local wrong
for whole, text in run.out:gmatch "stack\t%d+\t(%S+)\t([^\n]*)\n" do
  local below = text:match " (vfprintf .*)$" or ""
  if whole ~= "whole" or not below:find "^vfprintf %S+ printf %S+ main %(guessed%) %S+ _start %(guessed%)$" then
    wrong = text .. " " .. whole
  end
end
like(run.out, "stack\t", "what printf writes has a stack")
is(wrong, nil, "  … through all of printf's callers")

-- Without symbols nothing says where functions begin, but calls and the addresses that the code computes: the stacks of
-- PROGRAM at SPEC, which are WHOLE in one that has symbols, counts by offsets.
local function check_stripped(program, spec, whole)
  local list, ended = stacks(program, spec)
  like(ended.err, SAID, "stripped: what is guessed is said")
  local different
  for _, one in ipairs(list) do
    if whole[one.offsets] ~= one.count then different = one.offsets end
    whole[one.offsets] = nil
  end
  is(different, nil, "  … each stack is one that it has with symbols")
  is(next(whole), nil, "  … and all of these are there")
end
local address = target.shell [[nm build/targets/sorts_below-static | sed -n 's/^0*\(.*\) T cmp$/0x\1/p' >"$D/out"]].out
local STRIPPED = "build/targets/sorts_below-stripped"
check_stripped(STRIPPED, ("./%s:%s"):format(STRIPPED, address:match "%S+"), static)

-- What calls leaf.
local EXPECTED = {
  ["getppid leaf large aligned variable both main"] = 7,
  ["getppid leaf large ends main"] = 7,
  ["getppid leaf chosen main"] = 14,
  ["getppid leaf assembled main"] = 7,
  ["getppid leaf huge main"] = 7,
  ["getppid leaf large chosen main"] = 7,
  ["getppid leaf large aligned variable both chosen main"] = 7,
  ["getppid leaf large aligned variable chosen main"] = 7,
  ["getppid leaf large aligned chosen main"] = 7,
}
for _, program in ipairs { "build/targets/undescribed", "build/targets/undescribed-clang" } do
  local found, strange, whole = {}, nil, {}
  local list, ended = stacks(program, "libc:getppid")
  like(ended.err, SAID, program .. ": what is guessed is said")
  for _, one in ipairs(list) do
    local names = one.text:gsub(" %(guessed%)", ""):match "^(.* main) "
    if one.whole ~= "whole" or not names or not one.text:find " _start[^ ]*$" then strange = one.text end
    found[names or ""] = (found[names or ""] or 0) + one.count
    whole[one.offsets] = one.count
  end
  is(strange, nil, "  … each stack is whole")
  for names, count in pairs(EXPECTED) do is(found[names], count, "  … " .. names) end
  for names in pairs(found) do ok(EXPECTED[names], "  … nothing else", names) end
  if not program:find "clang" then check_stripped(program .. "-stripped", "libc:getppid", whole) end
end

-- The rules that come from code are told apart.
run = target.uplua "--unwind-info build/targets/undescribed"
like(run.out, "CFA rsp%+%d+, return address at CFA%-8, frame pointer kept %(guessed from the code%)\n",
  "--unwind-info tells such rules apart")
local guessed = 0
for _ in run.out:gmatch "%(guessed from the code%)" do guessed = guessed + 1 end
is(tonumber((run.out:match "rule, ([%d,]+) guessed":gsub(",", ""))), guessed, "  … and counts them")

target.done()
tap.done_testing()
