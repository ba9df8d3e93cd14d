-- The chapter "Shared objects" of the API.
return {
  title = "Shared objects",
  types = {
    { "MapOptions", "{ max?: integer, key?: DeclaredType, value?: DeclaredType, name?: string, option?: string }",
      "of hash, lru_hash and percpu_hash",
      keys = {
        max = "room for so many keys (65536 otherwise); what finds none is counted",
        key = "the type of the keys, which the handlers tell otherwise",
        value = "the type of the values, which the handlers tell otherwise",
        name = "what messages and reports call it, otherwise its variable",
        option = 'the option of the script by which its user makes room, for messages: "--max"',
      } },
    { "ArrayOptions", "{ max?: integer, value?: DeclaredType, name?: string }", "of array",
      keys = {
        max = "the number of elements",
        value = "the type of the values, which the handlers tell otherwise",
        name = "what messages and reports call it, otherwise its variable",
      } },
    { "AggregationOptions",
      "{ max?: integer, key?: DeclaredType, unit?: \"ns\"|\"bytes\"|\"count\", name?: string, option?: string }",
      "of count, sum, min and max",
      keys = {
        max = "room for so many keys (65536 otherwise); what finds none is counted",
        key = "the type of the keys, which the handlers tell otherwise",
        unit = "what its numbers are shown as: times, sizes, or plain numbers",
        name = "what messages and reports call it, otherwise its variable",
        option = 'the option of the script by which its user makes room, for messages: "--max"',
      } },
    { "DistributionOptions",
      "{ max?: integer, key?: DeclaredType, unit?: \"ns\"|\"bytes\"|\"count\", name?: string, option?: string }",
      "of stats, hist, lhist and hdr",
      keys = {
        max = "room for so many keys (65536 otherwise); what finds none is counted",
        key = "the type of the keys, which the handlers tell otherwise",
        unit = "what its numbers are shown as: times, sizes, or plain numbers",
        name = "what messages and reports call it, otherwise its variable",
        option = 'the option of the script by which its user makes room, for messages: "--max"',
      } },
    { "Bucket", "{ low: number, high: number, count: integer }", "a bucket of a histogram" },
    { "RingOptions", "{ size?: size, delay?: duration, order?: boolean, option?: string }", "of ring",
      keys = {
        size = 'its bytes, such as "1M"; records that find no room are lost, and counted',
        delay = "how long records may wait until they are read; 0: each is read as it comes",
        order = "records come in the order of their times, with those of other rings",
        option = 'the option of the script by which its user makes room, for messages: "--max"',
      } },
    { "VarOptions", "{ type: DeclaredType }", "of var; a text is the type" },
    { "DeclaredType", "string|table", "a declared type, such as \"u32\" or { n = \"u64\" }" },
    { "Map", nil, "a hash, lru_hash, percpu_hash or array", indexed = true },
    { "Aggregation", nil, "what handlers add to: by key, or one total", indexed = true },
    { "Count", nil, "what count and sum make", parent = "Aggregation" },
    { "Summary", nil, "what stats makes, and what it has of a key", parent = "Aggregation" },
    { "Histogram", nil, "what hist, lhist and hdr make, and what they have of a key", parent = "Summary" },
    { "Snapshot", nil, "what take returns: the values of one moment, in plain Lua", indexed = true },
    { "Variable", nil, "what var makes" },
    { "Ring", nil, "what ring makes" },
    { "Buffer", nil, "the bytes that up.buf has read in a handler" },
  },

  {
    head = { "constructor", "in a handler", "in the script" },
    { [[`up.hash { max = 65536 }`, `lru_hash`, `percpu_hash`]],
      [[`m[k]`, `m[k] = v`, `m[k] = nil`]],
      [[`m[k]`, `m:get(k)`, `m:set(k, v)`, `m:delete(k)`, `m:pairs()`, `m:size()`, `m:clear()`, `m:top(n, by)`,
        `print(m)`]],
      shown = true,
      defines = "`up.hash(options?: MapOptions): Map` `up.lru_hash(options?: MapOptions): Map`"
        .. " `up.percpu_hash(options?: MapOptions): Map`",
      text = "a map that handlers and the script share; lru_hash drops what was not used for longest, percpu_hash "
        .. "has a value for each CPU",
      raises = "an unknown option, a type that there is not" },
    { [[`up.array { max = N }`]],
      [[`a[i]`, `a[i] = v`]],
      [[the same; `a:clear()` makes all 0, `print(a)` shows what is not]],
      shown = true,
      defines = "`up.array(options?: ArrayOptions): Map`",
      text = "a map with the keys 0 … max - 1, all 0 at first",
      raises = "an unknown option, a type that there is not" },
    { [[`up.count()`, `up.sum()`]],
      [[`c:inc()`, `s:add(v)`, `c[k]:inc()`, `s[k]:add(v)`]],
      [[`c:get()`, `c[k]`, `c:pairs()`, `c:top(n)`, `c:take()`, `c:clear()`, `print(c)`]],
      shown = true,
      defines = "`up.count(options?: AggregationOptions): Count` `up.sum(options?: AggregationOptions): Count`",
      text = "counts, or adds up, by key or without" },
    { [[`up.min()`, `up.max()`]],
      [[`s:add(v)`, `s[k]:add(v)`]],
      [[as `sum`; nil where nothing was added]],
      shown = true,
      defines = "`up.min(options?: AggregationOptions): Aggregation`"
        .. " `up.max(options?: AggregationOptions): Aggregation`",
      text = "keeps the least, or the largest, of the values that are added" },
    { [[`up.stats()`]],
      [[`s:add(v)`, `s[k]:add(v)`]],
      [[`.count .sum .avg .min .max`, `s[k]` …, `s:pairs()`, `s:top(n, by)`, `s:take()`, `s:clear()`, `print(s)`]],
      shown = true,
      defines = "`up.stats(options?: DistributionOptions): Summary`",
      text = "keeps the number, sum, average, least and largest of the values that are added" },
    { [[`up.hist()`, `up.lhist(low, high, step)`, `up.hdr([digits = 2])`]],
      [[`h:add(v)`, `h[k]:add(v)`]],
      [[`.count .sum .avg .min .max`, `h:percentile(99.9)`, `h:buckets()`, `h[k]` …, `h:pairs()`, `h:top(n, by)`,
        `h:take()`, `h:clear()`, `print(h)`]],
      shown = true,
      defines = "`up.hist(options?: DistributionOptions): Histogram`"
        .. " `up.lhist(low: integer, high: integer, step: integer, options?: DistributionOptions): Histogram`"
        .. " `up.hdr(digits?: integer, options?: DistributionOptions): Histogram`",
      text = "a histogram: of powers of two, of equal steps, or of so many significant digits",
      raises = "more than 1,000,000 buckets, digits that are not from 1 to 4" },
    { [[`up.var(0)`, `up.var(false)`, `up.var("text")`, `up.var(0, "u32")`]],
      [[`v:get()`, `v:set(x)`, `v:add(n)`]],
      [[the same]],
      shown = true,
      defines = "`up.var(initial?: integer|boolean|string, type?: DeclaredType|VarOptions): Variable`",
      text = "one value that handlers and the script read and set: an integer, a boolean or a text" },
    { [[`up.ring { size = "4M", delay = "2ms" }`]],
      [[`r:emit { pid = e.pid }`, true or false]],
      [[`r:each(function(ev) … end)`, `r:poll(timeout, fn)`; `up.copy(ev)` keeps a record]],
      shown = true,
      defines = "`up.ring(options?: RingOptions): Ring`",
      text = "records that handlers emit, in order, and that the script is called with",
      raises = "a size above 1G, a delay that is no duration" },
  },

  {
    head = { "of a map", "" }, class = "Map",
    { [[`m:get(key: any): any`]],
      [[the value of the key, a copy; nil if there is none. Of `percpu_hash` a list by CPU, from 0]] },
    { [[`m:set(key: any, value: any)`]],
      [[replaces or inserts; nil deletes. Of `percpu_hash` a list by CPU, or one value, which is CPU 0's alone]],
      raises = "a key or value that does not fit the map's types; a map that is full" },
    { [[`m:delete(key: any): boolean`]], [[true if the key was there]], raises = "an array: set an entry to 0" },
    { [[`m:pairs(): fun(): any, any`]], [[iterates over what is there at this moment, in no order]] },
    { [[`m:size(): integer`]], [[the number of entries]] },
    { [[`m:clear()`]], [[removes all entries; an array's become 0]] },
    { [[`m:top(n?: integer, by?: string|function): fun(): any, any`]],
      [[iterates over the `n` largest, the largest first: by value, by a field of it, or by `by(value, key)`]] },
  },

  {
    head = { "of an aggregation", "" }, class = "Aggregation",
    { [[`a:add(value: integer)`]], [[in handlers: adds a value]], raises = "the script calls it" },
    { [[`a:get(key?: any): any`]],
      [[the total, of a key or without one; what was never added to is 0, nil, or an empty histogram]] },
    { [[`a:pairs(): fun(): any, any`]], [[iterates over keys and totals, in no order]] },
    { [[`a:top(n?: integer, by?: string|function): fun(): any, any`]],
      [[iterates over the `n` largest, the largest first: by number, by a field such as `"sum"`, or by
        `by(value, key)`]] },
    { [[`a:size(): integer`]], [[the number of keys]] },
    { [[`a:take(): Snapshot`]], [[what was added since the last take; it starts anew, and nothing is lost]] },
    { [[`a:clear()`]], [[starts anew]] },
  },

  {
    head = { "of a count", "" }, class = "Count",
    { [[`c:inc()`]], [[in handlers: adds 1]], raises = "the script calls it" },
  },

  {
    head = { "of stats, of a histogram, and of their values by key", "" }, class = "Summary",
    { [[`s.count: integer`, `s.sum: integer`, `s.avg: number?`]],
      [[how many values were added, their sum and average; without keys]] },
    { [[`s.min: integer?`, `s.max: integer?`]], [[the least and the largest; nil where nothing was added]] },
  },

  {
    head = { "of a histogram, and of its values by key", "" }, class = "Histogram",
    { [[`h:percentile(p: number): integer?, string?`]],
      [[the value at or below which `p` percent of the values are]],
      gives_nil = "nothing was added, or it lies in a bucket without an end, whose label is the second result",
      raises = "a percentage that is not from 0 to 100" },
    { [[`h:buckets(): Bucket[]`]],
      [[the buckets that have values, in order: `{ low, high, count }`; -`math.huge` or `math.huge` is no end]] },
  },

  {
    head = { "of what `take` returns", "" }, class = "Snapshot",
    { [[`t:get(key?: any): any`]], [[the value of the key, or the one there is]] },
    { [[`t:pairs(): fun(): any, any`]], [[iterates over keys and values, in no order]] },
    { [[`t:top(n?: integer, by?: string|function): fun(): any, any`]], [[iterates over the `n` largest]] },
    { [[`t:size(): integer`]], [[the number of keys]] },
  },

  {
    head = { "of a var", "" }, class = "Variable",
    { [[`v:get(): any`]], [[its value, also in handlers]] },
    { [[`v:set(value: any)`]], [[replaces it, also in handlers]], raises = "a value of another type" },
    { [[`v:add(n: integer)`]], [[adds to it in one step, also in handlers; wraps at its width]],
      raises = "a var of booleans or texts" },
  },

  {
    head = { "of a ring", "" }, class = "Ring",
    { [[`r:emit(record: table): boolean`]],
      [[in handlers: true if there was room; else the record is lost, and counted]], raises = "the script calls it" },
    { [[`r:each(fn: fun(record: table))`]],
      [[calls `fn` with each record from now on, while the run lasts; a record is valid until `fn` returns]] },
    { [[`r:poll(timeout: duration, fn?: fun(record: table)): integer`]],
      [[waits for a record, and then as long as the ring's `delay` asks for, and calls `fn` with those that have come;
        returns how many these were; a timeout of 0 waits for nothing]] },
  },

  {
    head = { "of a buffer, which `up.buf` has read", "" }, class = "Buffer",
    { [[`b:bytes(): string`]], [[the bytes that were kept; `#b` is their number]] },
    { [[`b.size: bytes`]], [[how many there were: more than `#b` where the buffer was cut]] },
    { [[`b:find(text: string, from?: integer, plain?: boolean): integer?, integer?`]],
      [[looks for a text in the bytes, as `string.find` does]] },
    { [[`b:starts(text: string): boolean`]], [[true if the bytes begin so]] },
  },

  [==[
In a handler `m[k] = m[k] + x`, `m[k] = (m[k] or 0) + x` and the same with `-` are one atomic addition. Types are
inferred from all handlers of a script together, or declared: `up.hash { key = "u32", value = { n = "u64", name =
"string[32]", ids = "u64[8]" } }` ([handlers.md](handlers.md)). A map that handlers only read, and in which the script
has stored nothing yet, holds integers, unless its types are declared. `take` returns the counts and starts anew. No
increment is lost between the two: a handler that runs meanwhile counts before or after.

- **Keys that the target chose.** A process may be called `top`: `m["top"]` is the method. `m:get(k)` of maps, of
  aggregations and of what `take` gives, and `:pairs()`, tell all keys apart. What cannot be a key there, because it is
  too long or has a NUL in it, is not there: `get` gives nil or 0, `delete` false, and `set` raises.
- **Buckets.** `hist` has a bucket for each power of two. `lhist(0, 100, 10)` has one for each 10 values from 0 on, one
  below, and one for 100 and above; at most 1,000,000. `hdr(digits)` keeps every value to so many significant digits (1
  to 4), as HdrHistogram does; negative values share one bucket. `h:buckets()` has those with values, in order. `low`
  and `high` are the least and the greatest integer of a bucket, where it has no end -`math.huge` or `math.huge`. Beyond
  2^53, where a number is not each integer, `high` is the greatest of the bucket that it can be.
- **Units.** `up.hist { unit = "ns" }`, `up.lhist(0, 4096, 512, { unit = "bytes" })`, `up.hdr { unit = "count" }`, and
  `up.stats`, `up.sum`, `up.count`, `up.min` and `up.max` alike: `print` shows `[1.0 us, 2.0 us)`, `1.5 KB`, `1,204`.
  The numbers that a script reads stay as they were added.
- **Percentiles** are interpolated within a bucket, and exact at both ends: 0 is the minimum, 100 the maximum. If a
  percentile lies in a bucket without an end, such as that for 100 and above, `h:percentile(p)` is nil and, as a second
  result, the bucket: `"≥ 100"`.
- **Signs.** An added value is signed or unsigned, as it is computed: `up.u64(-1)` is the largest value. All
  aggregations except `count` and `sum` compare values, so that all handlers must add the same kind. If one handler adds
  an `up.u64(x)` and another a signed integer, the message shows both.
- **Sums** are exact. A sum that does not fit in 64 bits is a number rounded to 16 digits, as averages are, and the end
  of the run says so.
- **The order** of a ring's records is that in which CPUs have got places for them: of two CPUs' records within a few
  microseconds of each other, the one that is read first may have the later `e.time`. With `order = true` all come in
  the order of their times.
- **The order** of a script's rings: where it has several, callbacks are called in one order of time for all of them,
  and what handlers print stands in that order, too. A record's time is that of `e.time`. They are read some 2 ms later
  for it, and a record whose handler does not use `e.time` costs a look at the clock more. A ring with `order = false`,
  or a `delay` of its own, and without `order = true`, stands for itself. What came too late for the order is in
  [the ledger](ledger.md). That holds for rings that are there when the first handlers are loaded, at the end of the
  script. Where another one, or a handler that prints, comes later, and before there was only one, uplua warns that
  these two have no order; one with `order = true` has an order with all that come later.
- **Rings** are read at once where they were quiet, and from then on each `delay`: 2 ms, unless the script says
  otherwise. Where an eighth of a ring fills up sooner, it is read sooner. So records that come fast do not wake uplua
  one by one, which costs the traced thread 1 to 3 us each; `up.ring { delay = 0 }` has each record read as it comes.
  Whatever the delay, the end of a run hands out all that is in the ring. Where a ring is full, records are lost, and
  counted.
- **Options** come last: `up.lhist(0, 100, 10, { max = 1000 })`. By key, an aggregation has room for at least `max`
  keys. An `lhist` or `hdr` of more than 128 buckets needs room only for those stretches of 128 that are used; each
  counts as a key. `name` names a map in messages and reports, and for `--watch` ([uplua.md](uplua.md)): else its
  variable does. `option` is what the user of a script raises `max`, or a ring's `size`, with: `up.hash { max =
  options.max, option = "--max" }`. The message that there was no room names it.
]==],
}
