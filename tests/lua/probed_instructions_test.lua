-- What the kernel alone does to a program that is probed at an instruction (tests/targets/probed_instructions.c), and
-- what uplua does: it refuses what ends the program or is never hit, and counts the rest. Runs once: by one kind of
-- uprobe.
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local PROGRAM, CALLS = "./build/targets/probed_instructions", 3
if not target.has "uprobe" then tap.skip_rest "the kernel has no uprobes as perf events" end

-- What is known of some of them, so that a target that tells nothing is noticed.
local KNOWN = jit.arch == "x64" and {
  pushfq = "refused", pushfw = "refused", pushfq_rex = "refused", syscall = "refused", syscall_rex = "refused",
  int3 = "refused", int1 = "refused", iretq = "refused", mov_ss = "refused", lock_inc = "refused", popfq = "counted",
  popfw = "counted", lretq = "counted", behind_mov_ss = "counted", push = "counted", call = "counted", nop = "counted",
} or { nop = "counted" }

local seen = {}
for line in target.shell(PROGRAM .. ' >"$D/out"').out:gmatch "[^\n]+" do
  local name, without, with = line:match "^([%w_]+): (.-); (.*)$"
  if without ~= "ends well" then
    seen[name or line] = "skipped"
    tap.skip(("%s ends the program by itself: %s"):format(name or line, without or ""))
  else
    local run = target.uplua(([[-e 'n = count() uprobe("%s:p_%s", function(e) n:inc() end)' -- %s %s]])
      :format(PROGRAM, name, PROGRAM, name))
    if with == ("%d hits, ends well"):format(CALLS) then
      seen[name] = "counted"
      is(run.err .. run.out, ("n: %d\n"):format(CALLS), name .. ": " .. with)
      is(run.status, 0, "… by uplua, too")
    else
      seen[name] = "refused"
      local why = with:find "^refused"
                  and "the kernel puts no probe on the instruction at %%+0 of p_%s[;:,].* the next one"
                  or "a probe at %%+0 of p_%s would corrupt the program: the kernel steps it .* ended by SIG"
      like(run.err, why:format(name), name .. ": " .. with)
      is(run.status .. run.out, "1", "… so that uplua sets no probe there")
      local _, length = run.err:match "the next one is at (%+0x)(%x+)"
      -- The kernel takes the trap of the program's own int $3, of two bytes, for that of a probe behind it, and has the
      -- program go on between the two bytes: what comes then may never end.
      if name ~= "int_3" then
        local behind = target.uplua(([[-e 'n = count() uprobe("%s:p_%s+%d", function(e) n:inc() end)' -- %s %s]])
          :format(PROGRAM, name, tonumber(length or 0, 16), PROGRAM, name))
        like(behind.err .. behind.out, "^n: %d+\n$", "… but behind it")
      end
    end
  end
end
for name, want in pairs(KNOWN) do is(seen[name], seen[name] == "skipped" and "skipped" or want, name) end
target.done()
tap.done_testing()
