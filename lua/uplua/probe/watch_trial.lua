-- Whether this machine's debug registers do what a watchpoint promises, as a trial has found (src/sys/watch_trial.h):
-- what is wrong with them, and the refusal or the warning that follows.
local core    = require "uplua.core"
local failure = require "uplua.base.failure"
local names   = require "uplua.probe.kernel_names"
local options = require "uplua.options"
local run     = require "uplua.base.run"
local text    = require "uplua.base.text"

local watch_trial = {}

-- What is wrong, by the verdict, and what the target has to expect.
local VERDICTS = {
  harmful = {
    problem = function(trial)
      return ("hardware breakpoints end the traced program on this machine: %d of %d trial programs were killed by %s")
        :format(trial.ended, trial.programs, names.signal_name(trial.signal))
    end,
    harms = true,
    expect = "the target may be ended by that signal, too, and accesses are missed",
  },
  blind = {
    problem = function(trial)
      return ("hardware breakpoints are not %s on this machine: %s of %s accesses of a trial program were seen")
        :format(trial.seen == 0 and "reported" or "reported exactly", text.thousands(trial.seen),
                text.thousands(trial.made))
    end,
    expect = "accesses are missed",
  },
}

-- What is wrong here with watchpoints on ACCESS, "w", "rw" or "x"; what is to be expected of them (nil: nothing, they
-- are not used); and the signal that they end programs by, if they do. nil where they can be trusted, and where the
-- kernel gives this process none, as the attach will say. Raises why there can be no trial.
function watch_trial.problem(access)
  local trial, why, of = core.probe.watch_trial(access)
  if trial then
    local verdict = VERDICTS[trial.verdict]
    if verdict then return verdict.problem(trial), verdict.expect, verdict.harms and trial.signal end
  elseif of == "environment" then
    return "hardware breakpoints are not used: " .. why
  elseif of == "trial" then
    error("whether hardware breakpoints can be trusted on this machine could not be tried: " .. why, 0)
  end
end

-- What is wrong with any of them, for --info: nil where all can be trusted. It raises nothing.
function watch_trial.any_problem()
  for _, access in ipairs { "w", "rw", "x" } do
    local _, problem = pcall(watch_trial.problem, access)
    if problem then return problem end
  end
end

local accepted = run.part(function()
  return {
    warned = {}, -- of these problems, as keys
    ends = {},   -- a signal → the problem that says that watchpoints end programs by it
  }
end)

-- What keeps SPEC from being watched for ACCESS; nil where nothing does. REMEDY: what answers the question without.
-- With --trust-watchpoints the trial's verdict does not, and what is to be expected is told, once.
function watch_trial.refusal(spec, access, remedy)
  local problem, expect, signal = watch_trial.problem(access)
  if not problem then return end
  if not expect then return ("watch %s: %s; %s"):format(spec, problem, remedy) end
  if not options.trust_watchpoints then
    return ("watch %s: %s; %s; --trust-watchpoints attaches all the same"):format(spec, problem, remedy)
  end
  local mine = accepted()
  if not mine.warned[problem] then failure.report(("--trust-watchpoints: %s: %s"):format(problem, expect)) end
  mine.warned[problem] = true
  if signal then mine.ends[signal] = problem end
end

-- Why a watchpoint may have ended a program by SIGNAL: one that is attached though the trial has found harm.
function watch_trial.ends(signal) return accepted().ends[signal] end

return watch_trial
