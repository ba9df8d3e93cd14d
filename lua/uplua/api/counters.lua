-- The chapter "Counters" of the API.
return {
  title = "Counters",
  modules = { stat = "uplua.stat" },
  types = {
    { "Counter", nil, "counts that the script reads" },
    { "Stat", nil, "several things counted at a time" },
    { "CounterOptions", "{ cpus?: boolean, cgroup?: string, children?: boolean }", "of counter",
      keys = {
        cpus = "counts on each CPU, whoever runs there",
        cgroup = "counts the processes of the cgroup of this folder, version 2",
        children = "also counts the processes that the target starts or has started already",
      } },
  },

  {
    head = { "", "" }, class = "Counter",
    { [[`up.counter(event: string|string[], options?: CounterOptions): Counter`]],
      [[counts the event from now on, a command's from its start on: in the target's threads and in those that they
        create; without a target on all CPUs]],
      raises = "an event that there is not, or that cannot be counted here" },
    { [[`up.counter { "cycles", "instructions" }`]],
      [[a group: its events, 16 at most, are counted at the same times, so that they can be divided by each other]] },
    { [[`c:read(): number|table?, number`]],
      [[the count since the beginning; of a group a table by name. A second result is the share of the time for
        which the CPU had counters free]],
      gives_nil = "the CPU never had a counter free" },
    { [[`c:take(): number|table?, number`]],
      [[the same since the last `take`]] },
    { [[`c:places(): table`]],
      [[by CPU, or by thread: a thread's numbers include those of the threads that it has created since]] },
    { [[`c:clear()`]],
      [[begins anew]] },
    { [[`print(c)`]],
      [[with `(82.3 %)` behind a number that was counted for that share of the time. A global counter that the
        script has not looked at prints at the end]] },
    { [[`c:close()`]],
      [[ends it; the count so far can still be read]] },
  },

  [==[
The share is 1 at best. The numbers are scaled up for the rest of the time, which the ledger tells; they are nil if the
CPU never had counters free.

A script that counts runs until it is stopped, with or without probes. In `at_exit` it reads the count until the end.
The events are those of `up.perf` ([handlers.md](handlers.md)). Options: `cpus = true` counts on each CPU, whoever runs
there; `cgroup = "/sys/fs/cgroup/…"` counts the processes of a cgroup (version 2); `children = true` also counts the
processes that the target starts or has started already.

```lua
local c = up.counter { "task-clock", "context-switches", "page-faults" }
up.every("1s", function()
  local t = c:take()
  print(t["task-clock"] / 1e6 .. " ms", t["context-switches"], t["page-faults"])
end)
```
]==],

  {
    head = { "", "" },
    { [[`stat.new(specs: string[], options?: { ratios?: string[], by?: string }): Stat`]],
      [[counts hits of probes, and events that the kernel counts (`perf:page-faults`; several with commas are a group),
        with the ratios between them]],
      raises = "what is no spec; ends the script where something cannot be counted so" },
  },

  {
    head = { "", "" }, class = "Stat",
    { [[`st.columns: table[]`, `st.titles: string[]`]],
      [[columns for a view, of by whom, the specs and the ratios; the titles of the specs]] },
    { [[`st:clear()`]], [[begins anew: for `up.at_start`]] },
    { [[`st:take(): table, table, boolean`]],
      [[what was counted since the last take: a row by titles, with the ratios; the share of the time of each; whether
        there was anything]], raises = "it counts by whom" },
    { [[`st:rows(): table[]`]], [[by whom: the rows since the last]], raises = "it does not count by whom" },
    { [[`st:ratios(row: table): table`]], [[puts the ratios of a row, such as of sums, into it]] },
  },

  [==[
`ratios` are written as users give them with `--ratio`, `A/B` or `NAME=A/B` of titles or events, and `by`, by whom, as
with `--by`. `stat.lua` is such a script. What a ratio needs and nobody has asked for is counted for it; IPC of
instructions and cycles, and shares of misses, are there without being asked for.
]==],
}
