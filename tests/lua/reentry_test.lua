-- Functions that come to their own first instruction again: a round of such a loop is no call. Entries, returns and
-- arguments are those of the calls, wherever the probe stands.
local cjson = require "cjson"
local tap = require "tap"
local target = require "target"
local is = tap.is

local X64 = require "ffi".arch == "x64"
local TIMES = 23

-- How often PROBE's handler sees the functions NAMES of PROGRAM, by the expression KEY, with OPTIONS, as "key count,
-- …"; what is said, and the status.
local function see(program, probe, names, key, options)
  local specs = {}
  for i, one in ipairs(names) do specs[i] = ("%q"):format(program .. ":" .. one) end
  local code = ([[
n = count()
%s({ %s }, %s function(e) n[%s]:inc() end)
at_exit(function() for k, v in n:pairs() do print("=", k, v) end end)]])
    :format(probe, table.concat(specs, ", "), options or "", key)
  local r = target.uplua(("-e %s -- %s"):format(target.quote(code), program))
  local lines = {}
  for text, number in r.out:gmatch "=\t([^\n]-)\t(%d+)" do lines[#lines + 1] = text .. " " .. number end
  table.sort(lines)
  return table.concat(lines, ", "), r.err:gsub("^uplua: tracing[^\n]*\n", ""), r.status
end

-- That this is WANT; NAME is what is checked.
local function check(want, name, ...)
  local out, err, status = see(...)
  is(out, want, name)
  is(err, "", "  … and nothing is said")
  is(status, 0, "  … and it ends well")
end

-- --- loops that compilers make ---

local LOOPS = { "wait_flag", "drain", "bump" }
for _, program in ipairs { "./build/targets/loop_to_entry", "./build/targets/loop_to_entry-Os" } do
  for _, probe in ipairs { "uprobe", "uretprobe" } do
    check("bump 3, drain 3, wait_flag 3", ("%s of %s"):format(probe, program), program, probe, LOOPS, "e.func")
  end
end

-- --- each kind of loop ---

local PROGRAM = "./build/targets/reentries"
local WAYS = { "behind_push", "by_condition", "by_jump", "by_two", "far_away", "slides", "slides_moved", "stays" }

-- "by_jump, 7 23, …": each of WAYS with what FORMAT makes of it.
local function each(format)
  local all = {}
  for i, name in ipairs(WAYS) do all[i] = format:format(name, TIMES) end
  return table.concat(all, ", ")
end

local FUNC_AND_ARGUMENT = "{ e.func, e.arg0 }"
check(each "%s, 7 %d", "with the argument at the entry", PROGRAM, "uprobe", WAYS, FUNC_AND_ARGUMENT)
check(each "%s, 7 %d", "that argument at the return", PROGRAM, "uretprobe", WAYS, FUNC_AND_ARGUMENT)
check(each "%s %d", "the return is seen once without it, too", PROGRAM, "uretprobe", WAYS, "e.func")
check(each "%s, 7 %d", "where the probe does not slide", PROGRAM, "uprobe", WAYS, FUNC_AND_ARGUMENT,
  "{ slide = false },")
check(each "%s, 7 %d", "at return instructions", PROGRAM, "uretprobe", WAYS, FUNC_AND_ARGUMENT,
  '{ returns = "instructions" },')
check(each "%s, 7, true %d", "with the caller, which the stack has", PROGRAM, "uprobe", WAYS,
  "{ e.func, e.arg0, e.caller ~= 0 }")
check("7 23", "one alone", PROGRAM, "uprobe", { "by_condition" }, "e.arg0")

-- A probe slides as far as to before the first jump that leads back.
local slid = {}
for _, one in ipairs(cjson.decode(target.uplua("--json --list uprobe:" .. PROGRAM .. ":s*s*").out)) do
  slid[one.probe:match ":([%w_]+)$"] = one.at > 0 and "slides" or one.why
end
is(slid.slides, "slides", "past an instruction that is stepped")
is(slid.slides_moved, "slides", "past a change of the stack pointer")
is(slid.stays, "its first instruction is stepped, at ten times the price: a loop leads back to it before any " ..
  "cheaper place", "not as far as to the jump")
check("7 23", "one that slides alone", PROGRAM, "uprobe", { "slides_moved" }, "e.arg0")
check("7 23", "its return", PROGRAM, "uretprobe", { "slides_moved" }, "e.arg0")

-- A call of itself is one: with 7, 6, … 1; or with 7, from which it goes round to 6, which calls with that, and so on.
local calls = {}
for i = 1, 7 do calls[i] = ("by_call, %d %d"):format(i, TIMES) end
local both = ("by_both, 2 %d, by_both, 4 %d, by_both, 6 %d, by_both, 7 %d"):format(TIMES, TIMES, TIMES, TIMES)
local recursive = both .. ", " .. table.concat(calls, ", ")
for _, probe in ipairs { "uprobe", "uretprobe" } do
  check(recursive, probe .. " of functions that call themselves", PROGRAM, probe, { "by_call", "by_both" },
    FUNC_AND_ARGUMENT)
end

-- --- the first instruction itself ---

if X64 then
  for _, probe in ipairs { "uprobe", "uretprobe" } do
    check("found 46, in_itself 23, repeated 23", probe .. " of string instructions and a loop of one instruction",
      PROGRAM, probe, { "found", "in_itself", "repeated" }, "e.func")
  end
  check(("0 %d, 64 %d"):format(TIMES, TIMES), "a string instruction that ends early, or does nothing", PROGRAM,
    "uprobe", { "found" }, "e.arg3")

  -- What cannot be told is said.
  for _, variant in ipairs { "", "-fixed", "-packed" } do
    local out, err = see(PROGRAM .. variant, "uprobe", { "by_table", "by_labels", "by_jump" }, "e.func")
    is(out, ("by_jump %d, by_labels %d, by_table %d"):format(TIMES, 7 * TIMES, 7 * TIMES),
      "a jump by a table to the entry counts as a call" .. variant)
    tap.like(err, "^uplua: uprobe [^\n]*: a loop begins at the first instruction of by_table %(it jumps there by a " ..
      "table%), by_labels %(it jumps there by a table%): each of its rounds counts as a call\n$",
      "which a message says")
  end
end

target.done()
tap.done_testing()
