-- The chapter "Spans" of the API.
return {
  title = "Spans",
  modules = { span = "uplua.span", block = "uplua.block" },
  types = {
    { "SpanSide", "{ time: ns, pid: integer, tid: integer, cpu: integer, comm: string, [string]: any }",
      "what is known of a span's begin, of its end, or of what it has passed" },
    { "EndedSpan", "{ key: any, elapsed: ns, from: SpanSide, to: SpanSide, via?: SpanSide[], legs?: table[], "
      .. "events?: WindowEvent[], missing?: table[] }",
      "a span that has ended" },
    { "SpanOptions", "{ from: table, to: table, via?: table[], wins?: \"newest\"|\"oldest\"|\"nested\"|\"all\", "
      .. "stays?: boolean, max?: integer, timeout?: duration, exit?: \"thread\"|\"process\" }", "of span.new" },
    { "SlowOptions", "{ window?: table, size?: size }", "of sp:slow" },
    { "WindowEvent", "{ time: ns, since: ns, cpu: integer, pid: integer, tid: integer, comm: string, name: string, "
      .. "arguments: table[], call: string, ret?: integer, elapsed?: ns, stack?: Stack }", "of the window of a span" },
    { "Span", nil, "what span.new pairs" },
    { "BlockRequest", "{ disk: string, op: integer, bytes: bytes, sector: integer, pid: integer, comm: string, "
      .. "waited: ns, served: ns, took: ns, failed: integer }", "a request to a disk, at its end" },
    { "BlockRequests", nil, "the requests to disks that are followed" },
  },

  [==[
```lua
local span = require "uplua.span"
local requests = span.new {
  from = { "usdt:app:queued",   key = function(e) return e.arg0 end, keep = function(e) return { bytes = e.arg1 } end },
  to   = { "usdt:app:answered", key = function(e) return e.arg0 end },
}
local took = up.hdr { unit = "ns" }
requests:done(function(s) took[s.to.comm]:add(s.elapsed) end)
requests:slow("10ms", function(s) print(s.key, s.elapsed, s.from.bytes) end)
```

pairs what begins at one probe with what ends at another: a request that one thread queues and another answers, a lock
that is waited for, a block that is read. The probes are of any kind, in any thread, process or part of the kernel. What
belongs together has the same `key`: a number, a text, or a tuple of such. The kernel pairs them, so that only what the
script asks for travels.
]==],

  {
    head = { "", "" },
    { [[`span.new(options: SpanOptions): Span`]], [[declares the probes of a span]],
      raises = "what is wrong with the options, and as `up.probe`" },
  },

  {
    head = { "option", "" },
    { [[`from = { SPEC, key = fn, … }`]], shown = true,
      [[where spans begin, a spec or a list of specs of `up.probe`; several with a key each:
        `{ { SPEC, key = fn }, { SPEC, key = fn } }`, in the others, too]] },
    { [[`to = { SPEC, key = fn, … }`]], shown = true,
      [[where they end; one spec as in `from`: a hit ends a span and then begins the next]] },
    { [[`via = { { SPEC, key = fn, … }, … }`]], shown = true,
      [[what they may pass on their way; of several hits the last counts]] },
    { [[`wins = "newest"`]], shown = true,
      [[which of several begins of a key an end belongs to: the `"newest"`, the `"oldest"`; where all are open at once,
        the newest of them (`"nested"`), or `"all"`]] },
    { [[`stays = true`]], [[an end leaves the begin open, for more ends]], shown = true },
    { [[`max = 65536`]], [[so many are open at one time]], shown = true },
    { [[`timeout = "10s"`]], [[what takes longer is given up]], shown = true },
    { [[`exit = "thread"`]], shown = true,
      [[what a thread has begun is given up when it exits, or with `"process"` a process: at once where the key of
        `from` is `e.tid`, or `e.pid`; else within a second, and before the report]] },
  },

  {
    head = { "of from, to and each via", "" },
    { [[`key = function(e) … end`]], shown = true,
      [[what tells which begin an end belongs to; nil: the hit does not count]] },
    { [[`keep = function(e) … end`]], shown = true,
      [[returns a record of what else is to be known of this side than `time`, `pid`, `tid`, `cpu` and `comm`]] },
    { [[`where = function(e) … end`]], [[true for the hits that are meant]], shown = true },
    { [[`time = function(e) … end`]], [[the time, in ns, where the event has one of its own]], shown = true },
    { [[any other option]], shown = true,
      [[is the probe's: `all = true` where the event is another task's, as `sched_wakeup` and `sched_switch` are]] },
  },

  [==[
These functions run in the kernel, as parts of a handler: `up.expression` makes one from what a user gives.
]==],

  {
    head = { "of a span", "" }, class = "Span",
    { [[`sp:done(fn: fun(s: EndedSpan))`]],
      [[`fn` is a handler: it runs in the kernel for each span that ends. May be called several times, also while the
        span is traced, as at the prompt]] },
    { [[`sp:slow(than: duration, options?: SlowOptions, fn: fun(s: EndedSpan))`]],
      [[calls `fn` in the script for each span that took at least so long; with 0 for each. Options: `window`, what else
        is to be known of it (below); `size`, of the ring (`"1M"`)]],
      raises = "what is wrong with an argument" },
    { [[`sp:times(): fun(): table[]`]],
      [[has the kernel add up how long spans take, and the parts of their way; the function returns rows of what has
        ended since its last call (below)]] },
    { [[`sp:line(s: EndedSpan): table, string[]`]],
      [[a span of `slow` as a row { time, elapsed, key, from, to } for a stream, and lines below it: the parts of its
        way, what of its window may be missing, and the events of that]] },
    { [[`sp:counts(): table`]], [[what became of the begins and ends, by the names below]] },
    { [[`sp:open(n?: integer): table[]`]],
      [[the begins without an end, the oldest first, `n` at the most: `{ key, age, from, via }`]] },
    { [[`tostring(sp)`, `print(sp)`]], [[the counts for people]], shown = true },
  },

  {
    head = { "of a span that has ended", "" },
    { [[`s.key`, `s.elapsed`]], [[its key, and ns from its begin to its end]], shown = true },
    { [[`s.from`, `s.to`]], shown = true,
      [[both sides: `time`, `pid`, `tid`, `cpu`, `comm`, and what `keep` returned]] },
    { [[`s.via[1]` …]], [[what it has passed; nil, in the script false, where it has not]], shown = true },
    { [[`s.legs`]], shown = true,
      [[in the script: `{ from, to, elapsed }` of each part of its way, in order of time]] },
  },

  [==[
A row of `sp:times()` has `part`, the names of both ends, `count`, `p50`, `p90`, `p99`, `max`, `sum` and `histogram`.
The first is of the whole; the others are of the parts, where there is a `via`. A span that has not passed a place, or
in another order, has no part that ends or begins there.

What happened during the slow ones? A window is a list of other probes, of any kind: system calls, switches of threads,
page faults, samples, functions.

```lua
requests:slow("10ms", { window = { "tracepoint:sched:sched_switch", "syscall:*", "profile:999" } }, function(s)
  for _, event in ipairs(s.events) do print(text.time(event.since), event.comm, event.call) end
end)
```

Their events are kept in the kernel, by CPU, the newest in the place of the oldest. They are read only for a span that
was slow, when its window has passed: while none is, nothing wakes the script.
]==],

  {
    head = { "of a window", "" },
    { [[`SPEC`, `{ SPEC, where = fn, … }`]], shown = true,
      [[a spec of `up.probe`; `where` is a part of its handler, and other options are the probe's]] },
    { [[`by = "thread"`]], shown = true,
      [[whose events: of the threads of `from`, `via` and `to`; of their `"process"`es; what was on their `"cpu"`s;
        those of the span's `"key"`, with `{ SPEC, key = fn }` each; of `"all"`]] },
    { [[`before = "1ms"`, `after = "1ms"`]], [[so long before the span's begin, and after its end]], shown = true },
    { [[`size = "1M"`]], [[so much memory for each CPU]], shown = true },
    { [[`stack = true`, `kernel = true`, `depth = 2`]], [[as of `trace.each`]], shown = true },
  },

  {
    head = { "of a span with a window", "" },
    { [[`s.events`]], shown = true,
      [[a list in order of time of events as of `trace.each`, with `cpu`, and `since`: ns since the span's begin, less
        than 0 before it]] },
    { [[`s.missing`]], shown = true,
      [[a list of `{ cpu, from, to }`: between these times something may be missing, since it was overwritten; such
        windows are in the ledger, too]] },
  },

  {
    head = { "count", "" },
    { [[`begun`, `ended`, `open`]], [[begins; spans that have ended; begins that have not]], shown = true },
    { [[`unbegun`, `unbegun_via`]], shown = true,
      [[ends, and what was passed, without a begin: it was before tracing, or is ended or given up already]] },
    { [[`replaced`]], [[begins that gave way to another one of the same key]], shown = true },
    { [[`timed_out`, `exited`]], [[given up: after the timeout, at an exit]], shown = true },
    { [[`full`]], [[begins for which there was no room]], shown = true },
    { [[`keyless`]], [[hits for which `key` returned nil]], shown = true },
    { [[`backwards`]], shown = true,
      [[ends whose time is before their begin's, as by clocks of CPUs that differ; they are no spans]] },
    { [[`cut`]], shown = true,
      [[begins whose key has a text that was cut: it is one with others that begin alike. They are in the other counts,
        too]] },
  },

  [==[
Each begin is counted once: `begun` is the sum of `ended`, `open`, `replaced`, `timed_out`, `exited`, `full` and
`backwards` (with `stays`, and with `wins = "all"`, an end may be that of several or of none). A script that asks for
none of them has them printed at the end, if anything but spans that have ended is among them. `full`, `backwards` and
`cut` are in [the ledger](ledger.md), too. Of two ends of one begin that come at the same moment, one counts as
`ended`, the other as `unbegun`.

A text of more than 63 bytes is cut, as everywhere in handlers: two keys that are equal up to there are one, and the
ledger counts them. `up.str(e.arg1, 256)` takes more.
]==],

  [==[
`uplua.block` knows the spans of requests to disks: from when they were asked for to when they were given to the device,
and to when that had done them.

```lua
local block = require "uplua.block"
local served = up.hdr(2, { unit = "ns" })
local requests = block.requests(function(e, r) served[{ r.disk, r.op }]:add(r.served) end)
up.at_exit(function()
  for key, h in served:pairs() do print(key[1], block.operation(key[2]), h.count, h:percentile(99)) end
  io.write(requests:losses())
end)
```

Of a request `waited` is from queued to issued, `served` from there to the end, and `took` both; `pid` and `comm` are of
who asked: of what was only written to memory that is a thread of the kernel. `failed` is 0 or the device's status.

What the target asks for counts, whoever runs when it is done. A device that has no queue of requests, such as a RAM
disk or an encrypted volume, has none here; what lies below it has.
]==],

  {
    head = { "", "" },
    { [[`block.requests(done: fun(e: Event, r: BlockRequest)): BlockRequests`]],
      [[declares the probes; `done` is a part of the handler at a request's end]] },
    { [[`block.operation(op: integer): string`]], [[the name of an operation's number: `read`]] },
  },

  {
    head = { "", "" }, class = "BlockRequests",
    { [[`b:counts(): table`]],
      [[`merged`, further requests that the kernel has merged into others before they were issued; `unseen`, those that
        were issued and not seen done]] },
    { [[`b:losses(): string`]], [[these as lines for people, or ""]] },
  },
}
