-- up.sym: functions as keys and values. What handlers count by address, the script reads by function, of processes that
-- are gone, too.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local PROGRAM = "./build/targets/callers"

-- --- numbers that are no addresses ---

local run = target.script(([[
local up = require "uplua"
local n, shift = up.count(), 1LL
up.uprobe("%s:hit", function(e)
  for i = 56, 62 do n[up.sym(e.ip + bit.lshift(shift, i))]:inc() end
  n[up.sym(e.ip)]:inc()
end)
up.at_exit(function()
  local named, calls = 0, 0
  for k, v in n:pairs() do
    if k.symbol then named, calls = named + 1, tonumber(v) end
  end
  print("named", named, calls)
end)
]]):format(PROGRAM), "-- " .. PROGRAM)
is(run.out:match "named\t(%d+)\t[1-9]", "1", "what has marks of stacks is no function")

-- --- all that can have keys and values ---

run = target.script(([[
local up = require "uplua"
local P = "%s:"
local n, s, h, st, hd, taken = up.count(), up.sum(), up.hist(), up.stats(), up.hdr(), up.count()
local pairs_of, plain, lru, events = up.count(), up.hash(), up.hash(), up.ring()
up.uprobe(P .. "hit", function(e)
  local from = up.sym(e.caller)
  n[from]:inc()
  s[from]:add(e.arg0)
  h[from]:add(e.arg0)
  st[from]:add(e.arg0)
  hd[from]:add(e.arg0)
  taken[from]:inc()
  pairs_of[{ from, e.arg0 >= 100, e.comm }]:inc()
  plain[e.arg0] = from
  events:emit { from = from, at = up.sym(e.ip), n = e.arg0 }
  if e.arg0 == 1000 then lru[e.tid] = { from = from, n = 1 } end
end)
up.uprobe(P .. "leave", function(e)
  n[up.sym(e.caller)]:inc()
  up.printf("%%s by %%s\n", up.sym(e.ip), up.sym(e.caller))
end)
local seen, at = {}, {}
events:each(function(ev)
  seen[ev.from] = (seen[ev.from] or 0) + 1
  at[ev.at] = (at[ev.at] or 0) + 1
end)
local function show(what, o, value)
  local lines = {}
  for k, v in up.sorted(o) do lines[#lines + 1] = tostring(k) .. "=" .. value(v) end
  table.sort(lines)
  print(what, table.concat(lines, " "))
end
local early
up.at_exit(function()
  show("count", n, tostring)
  show("sum", s, tostring)
  show("hist", h, function(v) return v.count .. "/" .. v.sum .. "/" .. v.min .. "/" .. v.max end)
  show("stats", st, function(v) return v.count .. "/" .. v.max end)
  show("hdr", hd, function(v) return v.count .. "/" .. v:percentile(50) end)
  show("tuple", pairs_of, tostring)
  local first = taken:take()
  show("taken", first, tostring)
  show("again", taken, tostring)
  show("events", seen, tostring)
  show("at", at, tostring)
  local values = {}
  for _, from in plain:pairs() do values[from] = (values[from] or 0) + 1 end
  show("values", values, tostring)
  for _, r in lru:pairs() do print("record", r.from, r.n) end
  local key
  for k in n:pairs() do if tostring(k) == "first" then key = k end end
  print("get", n:get(key), n[key], first:get(key), s[key], h[key].count, n:size())
  print("field", key.symbol, key.module:match "[^/]*$", key.kernel)
  print("top", (n:top(1)()))
  print("refused", pcall(function() lru:set(1, { from = key, n = 2 }) end))
end)
]]):format(PROGRAM), "-- " .. PROGRAM)
is(run.status .. run.err, "0", "up.sym as key and as value of all shared objects")
for _, row in ipairs {
  { "count\tfirst=124 last=1 second=7", "two places of one function are one key" },
  { "sum\tfirst=15403 second=7000", "sums are added up" },
  { "hist\tfirst=124/15403/0/200 second=7/7000/1000/1000", "histograms are merged, with their extremes" },
  { "stats\tfirst=124/200 second=7/1000", "and stats" },
  { "hdr\tfirst=124/%d+ second=7/%d+", "and percentiles" },
  { "tuple\tfirst, false, callers=23 first, true, callers=101 second, true, callers=7", "as part of a key" },
  { "taken\tfirst=124 second=7", "a take" },
  { "again\t", "and nothing is left" },
  { "events\tfirst=124 second=7", "in a ring, one object for each" },
  { "at\thit=131", "of e.ip" },
  { "values\tfirst=124 second=1", "as a value of a map" },
  { "record\tsecond\t1", "in a record of a map" },
  { "get\t124\t124\t124\t15403\t124\t3", "what is there for a symbol" },
  { "field\tfirst\tcallers\tnil", "what it is of" },
  { "top\tfirst", "in order" },
  { "refused\tfalse\t[^\n]*a symbol stands for all addresses of its function[^\n]*", "the script cannot write one" },
} do like(run.out, "%f[^\n%z]" .. row[1] .. "\n", row[2]) end
like(run.out, "leave by last\n", "a call behind which another function begins; and printed")

run = target.uplua(([[-e 'n = count() uprobe("%s:hit", function(e) n[up.sym(e.caller)]:inc() end)' -- %s]])
  :format(PROGRAM, PROGRAM))
like(run.out, "n:\nfirst   124\nsecond    7\n", "a count prints by function")

run = target.uplua(([[--follow -e 'n = count()
  uprobe("%s:hit", function(e) n[up.sym(e.caller)]:inc() end)' -- %s twice]]):format(PROGRAM, PROGRAM))
like(run.out, "n:\nfirst   248\nsecond   14\n", "of two processes, which lie at other addresses")

-- --- another program at the same addresses; the kernel ---

run = target.shell [[
  export NEXT_PROGRAM=build/targets/same_addresses-large
  mkfifo "$D/fifo"
  ./uplua -e 'n = count()
    uprobe("./build/targets/same_addresses-small:three", function(e) n[up.sym(e.ip)]:inc() end)
    uprobe("./build/targets/same_addresses-large:drei", function(e) n[up.sym(e.ip)]:inc() end)' \
    -- build/targets/same_addresses-small "$D/fifo" >"$D/out" 2>"$D/err" & uplua=$!
  : >"$D/fifo"
  wait $uplua]]
like(run.out, "drei +23\n", "a program that another one has executed")
like(run.out, "three +23\n", "has its own names, though its addresses are the same")

run = target.uplua [[-e 'n = count()
  tracepoint("timer:hrtimer_start", function(e) n[up.sym(e.args["function"])]:inc() end)' -- sleep 0.02]]
-- Programs of others on this CPU may keep the kernel from running this one, which is told.
local told = run.err:gsub("uplua: not everything was seen:\n  %d+ × tracepoint [^\n]*that the kernel passed over" ..
                          "[^\n]*\n", "")
is(run.status .. told, "0", "up.sym where no process's addresses are looked up")
like(run.out, "hrtimer_wakeup +%d+\n", "functions of the kernel")

-- --- what cannot be ---

for _, case in ipairs {
  { "n[up.sym()]:inc()", "up.sym takes an address, such as e.caller", "no address" },
  { "n[up.sym(e.comm)]:inc()", "up.sym takes an address, such as e.caller, not a string", "a text" },
  { "if up.sym(e.ip) == up.sym(e.caller) then n:inc() end", "compare", "a comparison" },
  { "n[up.sym(e.ip)]:inc() n[e.arg0]:inc()", "a symbol", "keys of two kinds" },
  { "n[up.sym(e.ip)]:inc() n[{ address = 1, pid = 2, program = 3 }]:inc()", "a symbol", "a record like it" },
} do
  like(target.uplua("--explain -e " .. target.quote(
    ('n = count() uprobe("%s:hit", function(e) %s end)'):format(PROGRAM, case[1]))).err, case[2], case[3])
end
like(target.uplua [[-e 'print(up.sym(4))']].err, "up.sym names an address as the handler runs: it is for handlers",
  "in the script")
target.done()
tap.done_testing()
