-- The chapter "Tests of scripts" of the API.
return {
  title = "Tests of scripts",
  modules = { test = "uplua.test" },
  types = {
    { "TestRun", "{ status: integer, tables: table[], objects: table, records: table[], text: string, "
      .. "ledger?: table[], output: string, errors: string }", "what a script said, as data" },
    { "TestProcess", "{ pid: integer }", "a process that a test has started" },
  },

  [==[
```lua
local test = require "uplua.test"
local run = test.run { "shop_deliveries.lua", "./shop", target = { "./shop" } }
test.is(run.status, 0, "the shop's own status")
test.is(run.objects.calls["Elm Street"], 101, "every delivery is counted")
test.is(run.ledger, {}, "nothing was lost")
```

`uplua --test DIR` runs DIR/\*_test.lua and DIR/tests/\*_test.lua, with DIR's modules and the scripts of DIR/scripts at
hand, and prints one report by the [Test Anything Protocol](https://testanything.org).

A run has the exit `status`; `tables`, of each its `heading`, `columns` and `rows`; `objects`, the counts, histograms
and maps that were printed, by name: of each its values by key, or the list of its entries, `key` and `value`, where
keys are tuples or stacks; `text`, the lines that were printed besides; `ledger`, what was lost, `text` and `count` of
each; `output`, what the target printed, and `errors`. [formats.md](formats.md) says how values become data. Besides
its words the table may have `target`, a command to trace, or `pid`; `options`, a list of uplua's own; and `time`,
when to give up (60 s).
]==],

  {
    head = { "", "" },
    { [[`test.run(given: table): TestRun`]], [[runs a script to its end]], raises = "a field that there is not" },
    { [[`test.start(command: string[]): TestProcess`]], [[starts a command, which ends with the test]] },
    { [[`test.ok(good: any, name: string): boolean`]], [[a check: passes unless `good` is nil or
      false]] },
    { [[`test.is(got: any, want: any, name: string): boolean`]], [[passes if both are equal; tables by what is in
      them]] },
    { [[`test.like(got: string, pattern: string, name: string): boolean`]], [[passes if the text matches a Lua
      pattern]] },
    { [[`test.skip(reason: string)`]], [[says that something is not checked, and what this machine lacks for it]] },
    { [[`test.folder(): string`]], [[a folder for files, removed when the test is over]] },
  },

  {
    head = { "", "" }, class = "TestProcess",
    { [[`p:wait_for(pattern: string, time?: duration): string`]],
      [[waits until what it has printed matches, for 10 s unless `time` says else; returns what `string.match` does]],
      raises = "it has ended without that, or the time is over" },
    { [[`p:output(): string`]], [[what it has printed so far]] },
    { [[`p:is_running(): boolean`]], [[whether it has not ended]] },
    { [[`p:stop(signal?: string)`]], [[ends it, by SIGTERM or by `signal`, such as `"INT"`]] },
  },
}
