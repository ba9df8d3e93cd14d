-- A service whose script is loaded again: by SIGHUP, and when it is saved (--watch). Its series go on.
local service = require "service"
local tap     = require "tap"
local target  = require "target"
local is, like = tap.is, tap.like

service.need()

local CALLS = service.CALLS

local MODULE = ([[
local up = require "uplua"
local negatives = up.count()
up.uprobe("CALLS:negative", function() negatives:inc() end)
up.metric("negatives", negatives)
]]):gsub("CALLS", CALLS)

-- A version of the script: DECLARES, by more lines, and the help of its metric.
local function version(help, declares)
  return ([[
local up = require "uplua"
require "negatives"
local adds = up.count()
up.uprobe("CALLS:add3", function() adds:inc() end)
up.metric("adds", adds, { help = "%s" })
%s]]):format(help, declares or ""):gsub("CALLS", CALLS)
end

-- Runs STEPS, a script of bash, beside uplua with OPTIONS on the first of VERSIONS, { name = text }. In them
--   ask /metrics   is what it answers (service.SHELL)
--   save NAME      puts that version in the script's place
--   heard N TEXT   waits until standard error has N lines with TEXT
--   run            has the traced program call add3 23 times, and waits until COUNTER is N
local function served(options, versions, steps)
  local files = {}
  for name, text in pairs(versions) do
    files[#files + 1] = ("cat >\"$D/%s\" <<'END'\n%s\nEND\n"):format(name, text)
  end
  return target.shell(service.SHELL .. ([=[
    %s
    cp "$D/first" "$D/x.lua"
    ./uplua %s --serve 0 "$D/x.lua" >"$D/out" 2>"$D/err" &
    uplua=$!
    serving $uplua
    save() { cp "$D/$1" "$D/.new" && mv "$D/.new" "$D/x.lua"; }
    heard() { n=$1 text=$2; await '[ "$(grep -c "$text" "$D/err")" -ge $n ]' $uplua; }
    run() { %s 1 >/dev/null; sum=$1; await 'ask /metrics | grep -qx "adds_total $sum"' $uplua; }
    %s
    kill -TERM $uplua
    wait $uplua
    echo "status $?"
  ]=]):format(table.concat(files), options, CALLS, steps))
end

local function file(name) return target.read(target.folder() .. "/" .. name) end

local VERSIONS = {
  first = version "one", second = version "two", ["negatives.lua"] = MODULE,
  third = version("three", 'up.metric("added", up.var(7))'),
  unlike = version("four"):gsub("up.count%(%)", "up.sum()", 1):gsub("adds:inc%(%)", "adds:add(1)"),
  bad = "x =", unknown = version("five", 'up.uprobe("CALLS:nowhere", function() end)'):gsub("CALLS", CALLS),
  twice = version("six", 'up.metric("adds", adds)'),
  empty = "local up = require 'uplua' require 'broken'",
  ["broken.lua"] = ([[
    local up = require "uplua"
    up.metric("of_broken", up.var(1))
    up.uprobe("CALLS:add3", function() end)
    error "no luck"]]):gsub("CALLS", CALLS),
}

for _, way in ipairs { { "SIGHUP", "", "kill -HUP $uplua" }, { "--watch", "--watch", "" } } do
  local name, options, asked = unpack(way)
  local run = served(options, VERSIONS, ([[
    run 23
    ask /metrics >"$D/at-first"
    save second; ASKED
    heard 1 'x.lua: 1 probe in the place of 1'
    run 46
    ask /metrics >"$D/changed"
    n=0
    for bad in bad unknown twice empty; do
      save $bad; ASKED
      n=$((n + 1))
      heard $n 'as it was before goes on'
    done
    run 69
    ask /metrics >"$D/refused"
    save third; ASKED
    heard 2 'x.lua: 1 probe in the place of 1'
    run 92
    ask /metrics >"$D/more"
    save unlike; ASKED
    heard 1 'adds is declared differently, and begins anew'
    run 23
    ask /metrics >"$D/anew"
  ]]):gsub("ASKED", asked))
  like(run.noise, "status 143\n$", name .. ": the run goes on, and ends by its signal")
  local texts = {}
  for _, at in ipairs { "at-first", "changed", "refused", "more", "anew" } do texts[at] = file(at) end
  local function hits(n) return ('\nuplua_hits_total{probe="uprobe [^"]*:add3"} %d\n'):format(n) end
  local function adds(help, n)
    return ("# HELP adds_total %s\n# TYPE adds_total counter\nadds_total %d\n"):format(help, n)
  end
  like(texts["at-first"], adds("one", 23), name .. ": the first version")
  like(texts.changed, adds("two", 46), name .. ": the second goes on")
  like(texts.changed, hits(46), name .. ": … and so do its hits")
  like(texts.changed, '\nuplua_lost_total{cause="uprobe [^"]*handler replaced[^"]*"} 1\n', name .. ": … and it is said")
  like(texts.refused, adds("two", 69), name .. ": what is refused changes nothing")
  is(select(2, texts.refused:gsub("\n# HELP adds_total ", "")), 1, name .. ": … and leaves nothing")
  is(texts.refused:find "of_broken", nil, name .. ": … of a module, either")
  like(texts.more, adds("three", 92), name .. ": a version with more")
  like(texts.more, "\nadded 7\n", name .. ": … is told of")
  is(texts.anew:find "\nadded ", nil, name .. ": … and no more when it is gone")
  like(texts.anew, adds("four", 23), name .. ": what is declared otherwise begins anew")
  like(texts.anew, hits(115), name .. ": … but not its hits")
  for at, n in pairs { ["at-first"] = 1, changed = 2, refused = 3, more = 4, anew = 5 } do
    like(texts[at], ("\nnegatives_total %d\n"):format(n * 101), ("%s: a module's metric goes on: %s"):format(name, at))
  end
  like(run.err, "x.lua:2: unexpected symbol", name .. ": why a version is refused: its text")
  like(run.err, "nowhere", name .. ": … a probe")
  like(run.err, "x.lua:6: metric adds: adds_total is there already", name .. ": … a metric twice")
  like(run.err, "no luck", name .. ": … a module")
end

-- --sha256: another script is not run, and does not take the place of the one that is.
local function sum(text)
  return target.shell(("printf %%s %s | sha256sum"):format(target.quote(text))).noise:match "^%x+"
end
if require("uplua.base.digest").sha256 "" then
  local one, two = 'require("uplua").metric("seven", require("uplua").var(7))\n', "-- another\n"
  local of_one = sum(one)
  local files = ('printf %%s %s >"$D/x.lua"'):format(target.quote(one))
  local r = target.shell(([[
    %s
    ./uplua --sha256 %s --serve 0 "$D/x.lua" >"$D/out" 2>"$D/err" &
    uplua=$!
    await 'grep -q "serving metrics at" "$D/err"' $uplua
    port=$(sed -n 's/.*serving metrics at .*:\([0-9]*\)$/\1/p' "$D/err")
    printf %%s %s >"$D/x.lua"
    kill -HUP $uplua
    await 'grep -q "as it was before goes on" "$D/err"' $uplua
    exec 8<>/dev/tcp/127.0.0.1/$port
    printf "GET /metrics HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n" >&8
    timeout 20 cat <&8
    kill -TERM $uplua
    wait $uplua
    echo "status $?"
  ]]):format(files, of_one, target.quote(two)))
  like(r.noise, '\nuplua_script_info{name="[^"]*x.lua",version="[%d.]+",sha256="' .. of_one .. '"} 1\r?\n',
    "the metrics tell which script it is")
  like(r.noise, "\nseven 7\r?\n", "--sha256: what it was goes on")
  like(r.err, "\nuplua: %-%-sha256: [^\n]*x.lua has the SHA%-256 " .. sum(two) .. "\n", "… and why is said")
  like(r.noise, "status 143\n$", "… until its signal")
  local function tried(options, text)
    local r = target.shell(('printf %%s %s >"$D/x.lua"; ./uplua %s >"$D/out" 2>"$D/err"'):format(target.quote(text),
      options))
    return r.status, r.err
  end
  local said = "print(41 + 1)\n"
  is(select(2, tried(("--sha256 %s $D/x.lua"):format(sum(said):upper()), said)), "", "the script is run")
  is(tried(("--sha256 %s $D/x.lua"):format(sum(said)), "#!/usr/bin/uplua\n" .. said), 1, "another one is not")
  is(tried(("--sha256 %s - <$D/x.lua"):format(sum(said)), said), 0, "standard input")
  is(tried(("--sha256 %s - <$D/x.lua"):format(sum(said)), said .. " "), 1, "another one from there")
  is(tried(("--sha256 %s -e ''"):format(sum(said)), ""), 2, "there is nothing to be checked")
  is(tried("--sha256 12 $D/x.lua", said), 2, "no such sum")
  local shebang = "#!/usr/bin/uplua\n" .. said
  is(select(2, tried(("--sha256 %s $D/x.lua"):format(sum(shebang)), shebang)), "", "with its first line")
else
  tap.skip "there is no libcrypto here"
end

-- Code has no file.
local run = target.shell [[
  ./uplua --serve 0 -e 'up.metric("seven", up.var(7))' >"$D/out" 2>"$D/err" &
  uplua=$!
  await 'grep -q "serving metrics at" "$D/err"' $uplua
  kill -HUP $uplua
  await 'grep -q SIGHUP "$D/err"' $uplua
  kill -TERM $uplua
  wait $uplua
  echo "status $?"
]]
like(run.noise, "status 143\n$", "without a file: the run goes on")
like(run.err, "\nuplua: SIGHUP: there is no file of this script to be loaded again\n", "… and says why")

-- A terminal that is gone ends the run, whoever tells of that: the kernel its leader, a shell its jobs.
run = target.shell [[
  printf '< serving metrics at\n@\n' >"$D/steps"
  build/targets/pty ./uplua --serve 0 -e 'up.metric("seven", up.var(7))' <"$D/steps" >"$D/out" 2>"$D/err"
  echo "status $?"
]]
is(run.noise, "status 129\n", "the kernel tells that the terminal is gone")
run = target.shell [[
  export D
  cat >"$D/steps" <<'END'
> ./uplua --serve 0 -e 'up.metric("seven", up.var(7))' & echo $! >"$D/pid"
< serving metrics
> kill -HUP $!
< no file of this script
> kill -0 $! && echo it-goes-"on"
< it-goes-on
@
END
  build/targets/pty bash --norc -i <"$D/steps" >"$D/out" 2>"$D/err"
  pid=$(cat "$D/pid")
  await '! kill -0 $pid 2>/dev/null'
  echo "gone"
]]
is(run.noise, "gone\n", "a shell tells its job so; while the terminal is there, SIGHUP loads the script again")
tap.done_testing()
