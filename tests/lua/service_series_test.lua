-- How many series a service has: what an aggregation has no room for, and what nobody adds to any more, is not lost for
-- the sum of all; what uplua tells of itself.
local service = require "service"
local tap     = require "tap"
local target  = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

service.need()

local function file(name) return target.read(target.folder() .. "/" .. name) end

-- The sum of the samples in TEXT that are called NAME, how many these are, and the one of all keys without room.
local function series(text, name)
  local sum, count, rest = 0, 0, nil
  for labels, number in ("\n" .. text):gmatch("\n" .. name .. "{([^\n]*)} ([^\n]+)") do
    sum, count = sum + tonumber(number), count + 1
    if labels == 'overflow="true"' then rest = tonumber(number) end
  end
  return sum, count, rest
end

-- Each call has a key of its own, 1 to 23.
local KEYED = [[
  local at = var(0)
  local n, s, h, d, l, m = count { max = 10 }, sum { max = 10 }, hist { max = 10, unit = "ns" }, hdr(3, { max = 10 }),
    lhist(0, 30, 10, { max = 10 }), max { max = 10 }
  uprobe("CALLS:add3", function(e)
    at:add(1)
    local k = at:get()
    n[k]:inc() s[k]:add(k) h[k]:add(k) d[k]:add(k * 1000000) l[k]:add(k) m[k]:add(k)
  end)
]]
local run = service.served(KEYED .. [[
  up.metric("n", n) up.metric("s", s) up.metric("h", h) up.metric("d", d) up.metric("l", l) up.metric("m", m)
]], [[
  run
  await 'ask /metrics | grep -q "^n_total{overflow=\"true\"} 13$"' $uplua
  ask /metrics >"$D/metrics"
]])
like(run.noise, "status 143\n$", "the run ends by the signal")
local text = file "metrics"
local sum, count, rest = series(text, "n_total")
is(sum, 23, "more keys than there is room for: no call is lost")
is(count, 11, "… ten have a series of their own")
is(rest, 13, "… and the rest one")
is(series(text, "s_total"), 276, "… of a sum")
is(series(text, "h_seconds_count"), 23, "… of a hist")
ok(math.abs(series(text, "h_seconds_sum") - 276e-9) < 1e-15, "… its sum")
is(series(text, "d_sum"), 276000000, "… of a large one")
is(series(text, "d_count"), 23, "… all its values")
is(series(text, "l_count"), 23, "… of equal steps")
is(select(3, series(text, "m")), 23, "… of a largest value")
for _, name in ipairs { "n", "s", "h", "d", "l", "m" } do
  like(text, ('\nuplua_lost_total{cause="\'%s\' is full %%(max = 10%%): new keys are one series, ' ..
    "'overflow'; give it a larger max\"} [1-9]"):format(name), "… which the ledger counts: " .. name)
end
like(run.err, "  13 × 'n' is full %(max = 10%) since %d+%-%d%d%-%d%d %d%d:%d%d:%d%d: new keys are one series, ",
  "… and since when")
like(run.out, "^n:\n[^:]*\n%(other keys%)  13\n", "the report has them, too, though a scrape has read it")

-- The same objects without metrics are as ever.
run = target.uplua(("-e %s -- %s 1"):format(target.quote((KEYED:gsub("CALLS", service.CALLS))), service.CALLS))
like(run.err, "  13 × 'n' is full %(max = 10%): not inserted; give it a larger max", "what is not exported is lost")
ok(not run.out:find "other keys", "… and not there")

run = target.uplua(("--format json -e %s -- %s 1"):format(
  target.quote((KEYED:gsub("CALLS", service.CALLS)) .. ' up.metric("n", n)'), service.CALLS))
like(run.out, '"name":"n","entries":%[.*{"key":"%(other keys%)","value":13}%]', "… as JSON")

-- Keys that nobody adds to any more.
run = service.served([[
  local n, h, m, v = count { max = 100 }, hist { max = 100 }, max { max = 100 }, count()
  local at = var(0)
  uprobe("CALLS:add3", function(e)
    at:add(1)
    n[at:get()]:inc() h[at:get()]:add(5) m[at:get()]:add(7)
    v["always"]:inc()
  end)
  every("100ms", function() end)
  up.metric("n", n, { ttl = "1s" }) up.metric("h", h, { ttl = "1s" }) up.metric("m", m, { ttl = "1s" })
  up.metric("v", v)
]], [[
  run
  await 'ask /metrics | grep -q "^n_total{key=\"23\"} 1$"' $uplua
  ask /metrics >"$D/before"
  await 'ask /metrics | grep -q "^uplua_series_expired_total{metric=\"m\"} 23$"' $uplua
  ask /metrics >"$D/after"
  run
  await 'ask /metrics | grep -q "^n_total{key=\"46\"} 1$"' $uplua
  ask /metrics >"$D/again"
]])
text = file "before"
sum, count, rest = series(text, "n_total")
is(sum, 23, "keys that are new")
is(count, 23, "… are a series each")
text = file "after"
sum, count, rest = series(text, "n_total")
is(rest, 23, "keys that nobody has added to for the ttl are added up")
is(count, 1, "… and no series any more")
is(select(3, series(text, "h_count")), 23, "… of a hist")
is(select(2, series(text, "m")), 0, "… a gauge's are gone")
is(select(2, series(text, "v_total")), 1, "… what has no ttl stays")
like(text, '\nuplua_series_expired_total{metric="n"} 23\n', "… which is counted")
ok(not text:find "\nuplua_lost_total{", "… and no loss")
text = file "again"
is(series(text, "n_total"), 46, "what comes then is added")
is(select(2, series(text, "n_total")), 24, "… with series of its own")
like(run.out, "^n:\n.*\n46 +1\n%(other keys%)  23\n", "… and the report has all")

like(text, '\nuplua_program_seconds_total{probe="uprobe [^"]*:add3"} [%d.]*[1-9]', "what its programs take")
like(text, "\nuplua_map_bytes [1-9]%d+\n", "… and its maps")
ok(not text:find "\nuplua_target_up{", "no process that could be gone")

-- Whether what is traced is there.
run = service.served('uprobe("CALLS:add3", function(e) end)', [[
  await 'ask /metrics | grep -q "^uplua_target_up{target=\"'$first'\"} 1$"' $uplua
  ask /metrics >"$D/before"
  kill $first
  wait $first 2>/dev/null
  await 'ask /metrics | grep -q "^uplua_target_up{target=\"'$first'\"} 0$"' $uplua
  ask /metrics >"$D/after"
  kill $second
  wait $second 2>/dev/null
]], 2)
text = file "before"
is(select(2, text:gsub("\nuplua_target_up{[^\n]* 1\n", "")), 1, "processes that are there")
target.done()
tap.done_testing()
