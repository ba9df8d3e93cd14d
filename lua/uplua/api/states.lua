-- The chapter "Which state things are in" of the API.
return {
  title = "Which state things are in",
  modules = { states = "uplua.states", sched = "uplua.sched" },
  types = {
    { "States", nil, "what keys are in, since when, and for how long in all" },
    { "StatesOptions", "{ names: string[], title?: string, keys?: \"thread\", found?: table, max?: integer, "
      .. "longest?: integer, stacks?: boolean }", "of states.new" },
    { "StateTime", "{ key: any, elapsed: ns, since: ns, cause?: any, name?: string, pid?: integer, tid?: integer, "
      .. "comm?: string, stack?: Stack }", "a time that a key was in a state" },
    { "WaitParts", "{ whose: Handler, where?: Handler, done: fun(e: Event, who: any, took: ns) }", "of sched.waits" },
  },

  [==[
```lua
local states = require "uplua.states"
local workers = states.new { names = { "idle", "busy" }, title = "Worker" }
up.usdt("./app:app:begin", function(e) workers:enter(e.arg0, "busy", e:ustack()) end)
up.usdt("./app:app:end",   function(e) workers:enter(e.arg0, "idle") end)
workers:slow("busy", "10ms", function(s) print(s.key, text.time(s.elapsed), s.cause) end)
up.at_exit(function() workers:print { by = "busy", top = 20 } end)
```

A key is any value of a handler: a thread, a connection, an address, a tuple. The names of the states are texts of the
script and numbers in the kernel, so in a handler a name is written as it is, or as a choice, `e.ret < 0 and "failed" or
"done"`; one that is not declared is refused. All probes may tell of a key, of any kind, in any thread. A time costs the
target about 0.3 us.

Options: `title` is what a key is called. `keys = "thread"` says that keys are the numbers of threads: the report has
their names and processes, and with `found = { S = "asleep" }` those that are there at the start are in the states that
their letters in /proc/PID/stat stand for. There are up to `max` keys at once (65536); what finds no room is in the
ledger. `longest` (10) times are kept of each state, with `stacks` the stack where each ended.

All sums have the time that a key has been in its present state. A key is handled right as long as no two CPUs tell of
it at the same moment; of two that do, one may find the state that the other is about to change. A time that would be
negative is not counted, and the ledger says how many there were.
]==],

  {
    head = { "", "" },
    { [[`states.new(options: StatesOptions): States`]], [[declares the states]],
      raises = "a name that is given twice, or is a field of the rows" },
  },

  {
    head = { "in handlers", "" }, class = "States",
    { [[`s:enter(key: any, name: string, cause?: any)`]],
      [[the key is in this state from now on; the same again changes nothing. `cause`, a stack or another value, is told
        with the time]] },
    { [[`s:move(key: any, name: string, cause?: any)`]], [[the same, of a key that is known already, and not paused]] },
    { [[`s:pause(key: any)`]],
      [[a key that is known is in no state, and its time in no sum, until it enters one again]] },
    { [[`s:leave(key: any)`]], [[it is in none any more; if it comes back, it is another one]] },
  },

  {
    head = { "in the script", "" }, class = "States",
    { [[`s:ended(name: string, fn: fun(s: StateTime, e: Event))`]],
      [[a handler for each time that has ended in this state; `e` is the event that ended it. To be declared with the
        probes]] },
    { [[`s:slow(name: string, than: duration, fn: fun(s: StateTime))`]],
      [[a callback for each time that was no shorter; `pid`, `tid`, `comm` and `stack` are of who ended it]] },
    { [[`s:rows(): table[]`]],
      [[a row for each key: `key`, `state` and `age` of the present one, `total`, and for each state `NAME` (ns),
        `NAME times`, `NAME longest`; of threads `comm`, `pid`, `tid`]] },
    { [[`s:print(options?: { by?: string, top?: integer, anew?: boolean })`]],
      [[the states, `top` (20) keys ordered by the state `by`, and its longest times; with `anew` what was new since the
        last such report]], raises = "a state that there is not" },
    { [[`s:line(s: StateTime): table, string[]?`]],
      [[a time as a row { elapsed, state, who, at, ended } for a stream, and its stacks as lines]] },
  },

  [==[
`uplua.sched` knows what the scheduler's tracepoints tell. Of the thread that leaves its CPU, in a handler of
`raw_tracepoint:sched_switch`:

```lua
local sched = require "uplua.sched"
up.raw_tracepoint("sched_switch", { all = true }, function(e)
  if e.traced and e.tid ~= 0 then
    if sched.ends(e) then threads:leave(e.tid) else threads:enter(e.tid, sched.state(e)) end
  end
  threads:move(e.args.next.pid, "running")
end)
```
]==],

  {
    head = { "in handlers of sched_switch", "" },
    { [[`sched.state(e: Event): string`]],
      [[what the thread is in from now on: `preempted`, `sleeping`, `disk sleep`, `iowait`, `stopped` or `idle`
        (below)]] },
    { [[`sched.goes_on(e: Event): boolean`]], [[true where it could go on: `preempted`]] },
    { [[`sched.ends(e: Event): boolean`]], [[true where it has ended: its number may be another one's then]] },
    { [[`sched.is_held(e: Event): boolean`]],
      [[true where it stands still for a debugger, as a command does that uplua is about to start]] },
  },

  [==[
A thread is `preempted` where it could go on: another one was given its CPU, or it has yielded. In `disk sleep` nothing
interrupts it; `iowait` is the same for a disk; `idle` is a thread of the kernel without work.
]==],

  {
    head = { "in the script", "" },
    { [[`sched.STATES: string[]`]],
      [[the states, for `states.new`: those above, and `running` and `queued`, of one that was woken and waits for a
        CPU]] },
    { [[`sched.LETTERS: table`]], [[the states of the letters of /proc/PID/stat, for its `found`]] },
    { [[`sched.WINDOW: table`]],
      [[the window of a span that lasts from where a thread could run to the switch to it, and whose key is the thread's
        number: for `sp:slow`]] },
    { [[`sched.meanwhile(s: EndedSpan): table[], ns`]],
      [[what ran on its CPU during such a span, the latest first: `{ tid, comm, took }`; and for how long, from its
        begin on, that is not known, since it was overwritten]] },
    { [[`sched.turns(fn: fun(turn: table))`]],
      [[calls `fn` for each time that a thread of the target has had a CPU, when it leaves it: with `cpu`, `from`, `to`,
        `pid`, `tid`, `comm`, a view as of a ring]] },
    { [[`sched.waits(parts: WaitParts)`]],
      [[follows threads from when they could run to when they run, by functions for handlers: below]],
      raises = "other parts, or none" },
  },

  [==[
```lua
local waited = up.hdr()
sched.waits {
  whose = function(e) return e.pid end,
  done = function(e, pid, took) waited[pid]:add(took) end,
}
```

`whose(e)` returns what is kept of a thread of the target that leaves a CPU; `done(e, who, took)` is called with that
when its wait is over: it was woken, or another one was given its CPU, and runs now. `where(e)`, if it is there, tells
which are followed.
]==],
}
