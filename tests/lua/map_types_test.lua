-- lru_hash and percpu_hash in everything that a map can do in a handler, and aggregations that several setups share.
local setup = require "uplua.probe.setup"
local tap = require "tap"
local test_run = require "uplua.probe.providers.testrun"
local up = require "uplua"
local ok, is, like = tap.ok, tap.is, tap.like

-- What all CPUs have together.
local function together(list, field)
  local sum = 0
  for cpu = 0, #list do sum = sum + (field and list[cpu][field] or list[cpu]) end
  return sum
end

local out, found = up.hash(), up.count()
local l, lr, ls, small = up.lru_hash(), up.lru_hash(), up.lru_hash(), up.lru_hash { max = 64 }
local p, pr, ps = up.percpu_hash(), up.percpu_hash(), up.percpu_hash()
l[5] = 50
p[5] = 50
ls.x = "from the script"

local run = test_run.handler("run", function(e)
  -- set, get, delete, and what is absent
  l[e.arg0] = e.arg1
  p[e.arg0] = e.arg1
  out.l, out.p = l[e.arg0] or -1, p[e.arg0] or -1
  if l[99] == nil and p[99] == nil then found.absent:inc() end
  l[1], p[1] = 7, 7
  l[1] = nil
  p[1] = nil
  if l[1] == nil and p[1] == nil then found.deleted:inc() end
  -- additions
  l[2] = (l[2] or 0) + e.arg1
  p[2] = (p[2] or 0) + e.arg1
  l[2] = l[2] - 1
  p[2] = p[2] - 1
  -- records, references, fields, copies
  if not lr[e.comm] then lr[e.comm] = { n = 0, who = e.comm } end
  if not pr[e.comm] then pr[e.comm] = { n = 0, who = e.comm } end
  lr[e.comm].n = lr[e.comm].n + 2
  pr[e.comm].n = pr[e.comm].n + 2
  local r, q = lr[e.comm], pr[e.comm]
  if r and q then
    r.n = r.n * 10
    q.n = q.n * 10
    if r.who == q.who then found.same:inc() end
  end
  lr.copy = up.copy(lr[e.comm])
  pr.copy = up.copy(pr[e.comm])
  -- strings and tuples
  ls[e.comm] = "a string of a handler"
  ps[{ e.comm, 1 }] = e.arg1 > 0 and "positive" or "negative"
  if ls.x == "from the script" then found.script:inc() end
end)
local fill = test_run.handler("fill", function(e) small[e.arg0] = e.arg0 end)
setup.commit()

run { 5, 100 }
is(l[5], 100, "lru_hash: set")
is(out.l, 100, "lru_hash: get")
is(l[2], 99, "lru_hash: additions")
is(l[1], nil, "lru_hash: deletion")
is(lr.uplua.n, 20, "lru_hash: a reference")
is(lr.copy.who, "uplua", "lru_hash: a copy")
is(ls.uplua, "a string of a handler", "lru_hash: a string")
for i = 1, 1000 do fill { i } end
ok(small:size() <= 64 and small:size() > 0, "a full lru makes room: it has " .. small:size() .. " of 64")
is(small[1], nil, "for what is new")
local newest = 0
for key, value in small:pairs() do newest = math.max(newest, key == value and key or 0) end
ok(newest > 900, "the newest are there")
local cpu
for c = 0, #p[5] do if p[5][c] == 100 then cpu = c end end
ok(cpu ~= nil, "percpu_hash: set is for the handler's CPU")
is(out.p, 100, "percpu_hash: get")
is(p[1], nil, "percpu_hash: deletion")
is(together(p[2]), 99, "percpu_hash: additions")
is(together(pr.uplua, "n"), 20, "percpu_hash: a reference")
is(together(pr.copy, "n"), 20, "percpu_hash: a copy")
is(ps[{ "uplua", 1 }][cpu], "positive", "percpu_hash: a string by a tuple")
for _, what in ipairs { "absent", "deleted", "same", "script" } do is(found[what], 1, what) end
is(#setup.ledger(), 0, "nothing is lost")

-- An aggregation of two setups: a take turns both.
local s, h, k = up.stats(), up.hist(), up.lhist(0, 1000, 1)
local one = test_run.handler("one", function(e) s:add(e.arg0) h[e.arg0 % 2]:add(e.arg0) k:add(e.arg0) end)
setup.commit()
one { 4 }
one { 900 }
is(s:take().sum, 904, "a take before the second setup")
local two = test_run.handler("two", function(e) s:add(e.arg0 * 1000) h[e.arg0 % 2]:add(e.arg0) k:add(e.arg0) end)
setup.commit()
one { 5 }
two { 6 }
is(s.sum, 6005, "handlers of both setups add to the same")
is(s.min, 5, "smallest")
is(h[0].count, 3, "by key")
is(k.count, 4, "in stretches")
is(h:take()[1].max, 5, "a take behind it")
is(s:take().max, 6000, "of the other")
one { 7 }
two { 8 }
is(s.max, 8000, "both have turned")
is(s.count, 2, "none adds to what was taken")
is(h:size(), 2, "and the keyed one as well")
for round = 1, 5 do
  one { round }
  local taken = k:take()
  is(taken.count, round == 1 and 7 or 1, "take " .. round)
  is(taken.max, round == 1 and 900 or round, "its maximum")
end
setup.close()
-- What the script stores only once the handlers are there, they see: for them such a map holds integers.
local late, percpu, wanted, given = up.hash(), up.percpu_hash(), up.lru_hash(), up.hash { value = "string[16]" }
local seen = up.count()
local look = test_run.handler("look", function(e)
  seen.late:add(late[e.comm] or 1000)
  if percpu[e.arg0] then seen.percpu:inc() end
  if wanted[{ e.arg0, e.arg1 }] then seen.wanted:inc() end
  if given[e.arg0] == "x" then seen.given:inc() end
  late.gone = nil
end)
setup.commit()
look { 5, 6 }
is(tostring(seen:take()), "late  1,000", "nothing is there yet")
late.gone = 101
for _, name in ipairs { "luajit", "uplua" } do late[name] = 23 end
percpu[5], wanted[{ 5, 6 }], given[5] = 1, 1, "x"
look { 5, 6 }
local counts = seen:take()
is(counts.late, 23, "a key that came later")
is(counts.percpu, 1, "per CPU")
is(counts.wanted, 1, "tuples")
is(counts.given, 1, "another type is declared")
is(late.gone, nil, "a handler deletes it")
like(select(2, pcall(late.set, late, "x", true)), "an integer is expected, not a boolean", "another type is refused")
tap.done_testing()
