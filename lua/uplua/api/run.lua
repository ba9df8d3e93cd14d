-- The chapter "The run" of the API.
return {
  title = "The run",
  classes = { timer = "Timer" },
  types = {
    { "Timer", nil, "what every and after return" },
    { "Target", "{ pids: integer[], tids: integer[], command?: string[], name?: string, follow: boolean, "
      .. "whole_machine: boolean, cpus?: integer[], comms?: string[], cgroup?: string }", "whom a run traces" },
  },

  {
    head = { "", "" },
    { [[`up.every(period: duration, fn: fun()): Timer`, `up.after(delay: duration, fn: fun()): Timer`]],
      [[call fn while the run lasts; return a timer with `cancel()`]],
      defines = "`timer:cancel()`", raises = "a period of 0, a number below 1,000: seconds were meant" },
    { [[`up.at_start(fn: fun())`]],
      [[calls fn when all probes are attached, before a command begins: counts before that have no known beginning]] },
    { [[`up.at_stop(fn: fun())`]],
      [[calls fn when the run ends, before the probes are detached]] },
    { [[`up.at_exit(fn: fun())`]],
      [[calls fn for the report, after they are]] },
    { [[`up.report(period: duration|false?, fn: fun(), options?: { tables?: boolean }): Timer?`]],
      [[calls fn as `at_exit` does; with a period also each time that it has passed, as for `--interval` of a
        script]] },
    { [[`up.exit(status?: integer)`]],
      [[ends the run; in handlers too]],
      raises = "a status that is not from 0 to 255" },
    { [[`up.target(): Target`]],
      [[whom the run traces: `pids`; `tids`, if only these; `command`, its words; `name`, of the command or first
        process; `follow`; `cpus`, `comms`, `cgroup`: those of the options; `whole_machine`: no target]] },
    { [[`up.version: string`]], [[uplua's version, `"1.0"`, which is that of this API: what it has stays]] },
    { [[`up.require_version(needed: string)`]],
      [[ends the script by one line and status 1 where uplua is older than `"1.2"`; for the first line of a library]],
      raises = "what is no version" },
    { [[`up.ledger(): table[]`]],
      [[what was lost so far: a list of pairs, `pair[1]` the text and `pair[2]` how many; empty where nothing was]] },
  },

  [==[
Above each report of `up.report` stands what it is of: `12:34:56.000000 to 12:34:57.000000, 1.0 s`. With false or nil as
period there is only the report at the end, unless the run's `--interval` says more. What `--duration` leaves behind the
last period is part of it, if that is less than a tenth of one. With the option `tables = true`
what fn prints by `view:print` lives on a terminal, as with `view:refresh`; what it prints besides has to stand below
rows that `view:print` returns, which has printed none then.
]==],
}
