-- The chapter "Timelines" of the API.
return {
  title = "Timelines",
  modules = { timeline = "uplua.timeline", marks = "uplua.marks" },
  types = {
    { "Timeline", nil, "a file of what happened when" },
    { "Marks", nil, "the marks that programs write, on a timeline" },
    { "TimelineTrack", nil, "a line of a timeline: what happens there one after the other, or one inside the other" },
  },

  [==[
```lua
local timeline = require "uplua.timeline"
local t = timeline.new("trace.json")
local ring = up.ring { size = "16M" }
up.uretprobe("./app:parse", function(e)
  ring:emit { pid = e.pid, tid = e.tid, comm = e.comm, at = e.time, took = e.elapsed, bytes = e.arg1 }
end)
ring:each(function(r)
  local track = t:track { process = r.pid, thread = r.tid, name = r.comm }
  t:span(track, "parse", r.at - r.took, r.at, { bytes = r.bytes })
end)
```

writes what [ui.perfetto.dev](https://ui.perfetto.dev), Chrome's about:tracing and speedscope draw: an array of JSON,
one event a line. All times are those of events, in ns. Where spans of one track overlap and neither is inside of the
other, the later one stands on a lane below, `worker (2)`, since viewers leave out what overlaps. `args`, a table, is
shown with the event.

The file is written as events come, and is readable whenever the run ends. On a full disk it ends with the last whole
event; beyond `size` ("1G") nothing is written. The ledger counts what is missing. There are up to 65,536 tracks with 64
lanes each.
]==],

  {
    head = { "", "" },
    { [[`timeline.new(path: string, options?: { size?: size }): Timeline`]], [[makes the file anew]],
      raises = "a file that cannot be written" },
  },

  {
    head = { "", "" }, class = "Timeline",
    { [[`t:track(track: { process?: integer|string, thread?: integer, name?: string }): TimelineTrack`]],
      [[the track of a thread, by its number and its process's; without `thread` one of your own that is called `name`,
        in a group: a process, or a text. The same again is the same track]] },
    { [[`t:span(track: TimelineTrack, name: string, from: ns, to: ns, args?: table): boolean`]],
      [[what was from one time to another; whether the file has it]] },
    { [[`t:instant(track: TimelineTrack, name: string, at: ns, args?: table): boolean`]], [[a moment]] },
    { [[`t:counter(track: TimelineTrack, name: string, at: ns, value: number): boolean`]],
      [[what a number is from then on: it is drawn as a curve]] },
    { [[`t:close(): true?, string?`]], [[ends the file; the run's end does that, too]],
      gives_nil = "the file is not whole: the disk is full" },
  },

  [==[
`uplua.marks` draws what programs write to the kernel's trace_marker, as Android's atrace does: `B|PID|name` and `E|PID`
begin and end a span of the thread, `S|PID|name|cookie` and `F|PID|name|cookie` one that may end in another thread,
`C|PID|name|value` is a counter, and any other text a moment.

```lua
local written = require "uplua.marks".draw(t)
up.at_exit(function()
  local told = written:finish()
  t:close()
  io.write(told)
end)
```
]==],

  {
    head = { "", "" },
    { [[`marks.draw(t: Timeline): Marks`]], [[declares the probe, and draws each mark when it comes]] },
  },

  {
    head = { "", "" }, class = "Marks",
    { [[`m:finish(): string`]],
      [[draws what is open to the end of the run, before the timeline is closed; how many marks did not end or begin, as
        lines for people, or ""]] },
  },
}
