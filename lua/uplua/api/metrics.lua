-- The chapter "Metrics" of the API.
return {
  title = "Metrics",
  types = {
    { "MetricOptions", "{ labels?: string[], unit?: string, help?: string, type?: string, buckets?: number[]," ..
      " ttl?: string, profile?: boolean|table, keys?: fun(key: any): any }",
      "of metric",
      keys = {
        labels = "names for the parts of the keys; by default a record's fields, else key, or key1, key2 and so on",
        unit = "what it counts, at the end of its name; by default the object's own: ns become seconds",
        keys = "a function from a key to what its labels say: a text, or a list of them",
        help = "a sentence for whoever looks at it",
        type = "of a function: counter, what it returns only grows; gauge by default",
        ttl = "after so long a time without a change a key's series is no more: 10m, 1h; of aggregations",
        profile = "of a count or sum by stack: it is no metric, but /profile; true, or the options of pprof.write",
        buckets = "of hist and hdr, { LOWEST, HIGHEST }: the least and the greatest value that have buckets",
      } },
  },

  {
    head = { "", "" },
    { [[`up.metric(name: string, source: any, options?: MetricOptions)`]],
      [[`uplua --serve` tells of the source by this name: of a shared object, or of a function, which returns a number,
        or a table of them by key; without the option nothing of the run is other]],
      raises = "a name or label that Prometheus has no room for, or that is there already" },
  },

  [==[
```lua
local calls, times = up.count(), up.hist { unit = "ns" }
up.uretprobe("redis-server:call", function(e)
  calls[e.comm]:inc()
  times:add(e.elapsed)
end)
up.metric("redis_calls", calls, { labels = { "thread" }, help = "commands that were executed" })
up.metric("redis_call", times, { help = "how long they took" })
```

| of | it is |
|---|---|
| `count`, `sum`; a function of the type `"counter"` | a counter, `redis_calls_total` |
| `var`, `min`, `max`, a map, a function | a gauge |
| `stats` | three gauges, `…_min`, `…_avg`, `…_max` |
| `hist`, `lhist`, `hdr` | a histogram, `redis_call_seconds` |

A handler knows integers alone: the bucket of a power of two that ends before 2^k is `le = 2^k - 1`, in the unit that is
exported. The buckets of `hist` and `hdr` do not change while the run lasts: from 1 us to 17 s of times, from 16 B to 16
GB of bytes, else from 1 to 2^32, or what `buckets` says. What is below counts in the first, what is above in none but
`+Inf`. `lhist` has its own. [service.md](service.md) has the rest.
]==],
}
