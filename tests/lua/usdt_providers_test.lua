-- USDT probes that Debian's programs and libraries come with: Python's, libstdc++'s and, with UPLUA_LONG, PostgreSQL's.
local tap = require "tap"
local target = require "target"
local is = tap.is

local script = target.folder() .. "-providers.lua"

local function run(text, options, command)
  local file = assert(io.open(script, "w"))
  file:write('local up = require "uplua"\n', text)
  file:close()
  return target.uplua(("%s %s -- %s"):format(options, script, command))
end

local r = run([[
local imports, collections = up.count(), up.count()
up.usdt("python:import-find-load-*", function(e) imports[{ up.str(e.arg0), e.nargs }]:inc() end)
up.usdt("python:gc__start", function(e) collections[e.arg0]:inc() end)
up.at_exit(function()
  local seen = {}
  for key, count in imports:pairs() do
    local name, nargs = key[1], key[2]
    if name == "colorsys" then seen[nargs] = count end
  end
  print("imports", seen[1], seen[2])
  print("collections", collections[1])
end)
]], "", [[/usr/bin/python3.11 -I -S -c 'import gc, colorsys
for i in range(101): gc.collect(1)']])
is(r.out, "imports\t1\t1\ncollections\t101\n", "python3.11: behind semaphores, strings, an argument on the stack")
is(r.err, "", "python3.11: nothing is lost")

r = run([[
local n, objects, types = up.count(), up.count(), up.count()
for _, name in ipairs { "throw", "rethrow", "catch" } do
  up.usdt("libstdcxx:" .. name, function(e)
    n[name]:inc()
    types[e.arg1]:inc()
  end)
end
up.at_exit(function() print(n.throw, n.rethrow, n.catch, types:size()) end)
]], "", "./build/targets/throws")
is(r.out, "101\t23\t124\t1\n", "libstdc++: what is thrown, thrown again and caught, of one type")
is(r.err, "", "libstdc++: nothing is lost")

if os.getenv "UPLUA_LONG" then
  local POSTGRES = "/usr/lib/postgresql/15/bin/"
  local data = target.folder() .. "-postgres"
  assert(os.execute(("mkdir %s && chown nobody %s && runuser -u nobody -- %sinitdb -D %s >/dev/null 2>&1"):format(data,
    data, POSTGRES, data)) == 0, "this needs Debian's package postgresql")
  local queries = assert(io.open(script .. ".sql", "w"))
  for i = 1, 101 do queries:write(("select %d\n"):format(i)) end
  queries:close()
  r = run(([[
local n, texts = up.count(), up.count()
up.usdt("%spostgres:postgresql:query__start", function(e)
  n.query:inc()
  if up.str(e.arg0):starts "select " then texts[up.str(e.arg0)]:inc() end
end)
up.usdt("%spostgres:postgresql:transaction__commit", function(e) n.commit:inc() end)
up.at_exit(function() print(n.query, n.commit >= 101, texts:size()) end)
]]):format(POSTGRES, POSTGRES), "--follow",
("sh -c 'exec runuser -u nobody -- %spostgres --single -D %s template1 <%s.sql >/dev/null 2>&1'"):format(POSTGRES,
                                                                                                         data, script))
  is(r.out, "101\ttrue\t101\n", "postgres: the texts of 101 queries, behind semaphores")
  is(r.err, "", "postgres: nothing is lost")
  os.execute(("rm -rf %s %s.sql"):format(data, script))
end
target.done()
os.remove(script)
tap.done_testing()
