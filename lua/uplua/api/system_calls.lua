-- The chapter "System calls as lines" of the API.
return {
  title = "System calls as lines",
  modules = { call = "uplua.call" },

  [==[
```lua
local call = require "uplua.call"
local calls, events = call.set "read,*stat*", up.ring { size = "16M" }
local emit = call.emitter(events, calls, { strings = 64 })
up.sysreturn("*", function(e) if call.failed(e.ret) then emit(e) end end)
events:each(function(record) print(call.line(calls[tonumber(record.nr)], record)) end)
```

prints lines like strace's: `openat(dfd=-100, filename="/nope", flags=0, mode=0) = -1 ENOENT`.

]==],

  {
    head = { "", "" },
    { [[`call.set(patterns?: string): table`]], [[the calls of these names, or all, by number]],
      raises = "a name that is none" },
    { [[`call.emitter(ring: Ring, calls: table, options?: table): fun(e: Event)`]],
      [[a function for handlers at the return of all calls. It emits the calls of the set with their texts
        (`strings`: so many bytes of each)]] },
    { [[`call.failed(ret: integer): boolean`]], [[true for an error, in handlers too]] },
    { [[`call.line(call: table, record: table): string`]], [[the line]] },
    { [[`call.texts(call: table, record: table): string[], integer[]`, `call.result(ret: integer): string`]],
      [[its arguments, as texts and as numbers; the result]] },
  },
}
