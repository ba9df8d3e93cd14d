-- Files for pprof, decoded by protoc: samples with their sums, the innermost function first; mappings with build ids,
-- offsets in the file, lines, inlined functions; labels; and files by their suffix.
local pprof  = require "uplua.pprof"
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

if target.shell "command -v protoc".status ~= 0 then
  tap.skip "there is no protoc (Debian: protobuf-compiler)"
  tap.done_testing()
  return
end

-- What of pprof's messages is asked for here.
local SCHEMA = [[
syntax = "proto3";
message Type { int64 f1 = 1; int64 f2 = 2; }
message Label { int64 f1 = 1; int64 f2 = 2; }
message Sample { repeated uint64 f1 = 1; repeated int64 f2 = 2; repeated Label f3 = 3; }
message Mapping { uint64 f1 = 1; uint64 f2 = 2; uint64 f3 = 3; uint64 f4 = 4; int64 f5 = 5; int64 f6 = 6;
  bool f7 = 7; bool f8 = 8; bool f9 = 9; bool f10 = 10; }
message Line { uint64 f1 = 1; int64 f2 = 2; }
message Location { uint64 f1 = 1; uint64 f2 = 2; uint64 f3 = 3; repeated Line f4 = 4; }
message Function { uint64 f1 = 1; int64 f2 = 2; int64 f3 = 3; int64 f4 = 4; }
message Profile { repeated Type f1 = 1; repeated Sample f2 = 2; repeated Mapping f3 = 3; repeated Location f4 = 4;
  repeated Function f5 = 5; repeated string f6 = 6; int64 f9 = 9; Type f11 = 11; int64 f12 = 12; }
]]

-- The message that the lines of protoc --decode from AT on show: field → list of values, and where it ends.
local function message(lines, at)
  local fields = {}
  local function add(field, value)
    field = tonumber(field)
    fields[field] = fields[field] or {}
    table.insert(fields[field], value)
  end
  while lines[at] and not lines[at]:find "^%s*}" do
    local field, value = lines[at]:match "^%s*f(%d+): (.*)$"
    if field then
      add(field, value:match '^"(.*)"$' or value)
      at = at + 1
    else
      local inner
      field = lines[at]:match "^%s*f(%d+) {"
      inner, at = message(lines, at + 1)
      add(field, inner)
    end
  end
  return fields, at + 1
end

-- The profile in the file PATH: samples with the names of their functions, and what it says besides.
local function read(path)
  local run = target.shell(([[
    printf '%%s' '%s' >"$D/p.proto"
    gzip -dc %s | protoc -I "$D" --decode=Profile "$D/p.proto" >"$D/out" 2>"$D/err"]]):format(SCHEMA, path))
  is(run.err, "", "protoc reads it, and knows all fields")
  is(run.out:find "\n%s*%d+[: ]", nil, "… as they are declared")
  local lines = {}
  for line in run.out:gmatch "[^\n]+" do lines[#lines + 1] = line end
  local raw = message(lines, 1)
  local strings = raw[6]
  local function text(index) return strings[tonumber(index and index[1] or 0) + 1] end
  local functions, locations, mappings, samples = {}, {}, {}, {}
  for _, f in ipairs(raw[5]) do functions[f[1][1]] = { name = text(f[2]), file = text(f[4]) } end
  for _, m in ipairs(raw[3] or {}) do
    mappings[m[1][1]] = { start = tonumber(m[2][1]), limit = tonumber(m[3][1]), file = text(m[5]), id = text(m[6]) }
  end
  for _, l in ipairs(raw[4]) do
    local one = { mapping = l[2] and mappings[l[2][1]], address = l[3] and tonumber(l[3][1]) }
    for i, line in ipairs(l[4]) do
      one[i] = { name = functions[line[1][1]].name, file = functions[line[1][1]].file, line = line[2] and line[2][1] }
    end
    locations[l[1][1]] = one
  end
  for i, s in ipairs(raw[2]) do
    samples[i] = { value = tonumber(s[2][1]), label = s[3] and text(s[3][1][2]), key = s[3] and text(s[3][1][1]) }
    local names = {}
    for j, id in ipairs(s[1]) do
      samples[i][j] = locations[id]
      for _, line in ipairs(locations[id]) do names[#names + 1] = line.name end
    end
    samples[i].names = table.concat(names, " ")
  end
  return samples, { type = text(raw[1][1][1]), unit = text(raw[1][1][2]), first = strings[1] }
end

local function sum_of(samples)
  local sum = 0
  for _, sample in ipairs(samples) do sum = sum + sample.value end
  return sum
end

local SHOP = "./build/examples/shop"
local path = os.tmpname()
os.remove(path)
local run = target.uplua(("stackcount.lua -p -o %s.pb.gz %s:deliver -- %s"):format(path, SHOP, SHOP))
is(run.err, ("uplua: the profile is in %s.pb.gz\n"):format(path), "it is said what was written")
local samples, about = read(path .. ".pb.gz")
is(sum_of(samples), 213, "the sum is the report's")
is(about.type .. " " .. about.unit, "hits count", "what is counted")
is(about.first, "", "the first string is empty")
is(#samples, 4, "a sample for each stack")
for _, sample in ipairs(samples) do
  like(sample.names, "^deliver .*main .*_start$", "the innermost function first")
  like(sample.key .. " " .. sample.label, "^by shop %(pid %d+%)$", "whose it is")
end
local site = samples[1][1]
like(site.mapping.file, "/build/examples/shop$", "a mapping of the program")
local id = target.shell('readelf -n build/examples/shop >"$D/out"').out:match "Build ID: (%x+)"
is(site.mapping.id, id or "", "its build id")
ok(site.address >= site.mapping.start and site.address < site.mapping.limit, "the code lies in its mapping")
local offset = target.uplua(("-e 'print(up.site(\"%s:deliver\").offset) up.exit()' -- true"):format(SHOP)).out
is(site.address - site.mapping.start, tonumber(offset:match "%d+"), "at its offset in the file")
like(site[1].file, "shop%.c$", "a file of the source")
ok(tonumber(site[1].line) > 1, "… and a line")
os.remove(path .. ".pb.gz")

-- Inlined functions are lines of one location, the innermost first.
local line, at = 0, nil
for text in io.lines "tests/targets/sites.c" do
  line = line + 1
  if text:find("/* the inlined line */", 1, true) then at = line end
end
local SITES = "./build/targets/sites"
target.uplua(("stackcount.lua -o %s.pb.gz %s@targets/sites.c:%d -- %s"):format(path, SITES, at, SITES))
local inlined = 0
for _, sample in ipairs((read(path .. ".pb.gz"))) do
  local place = sample[1]
  if #place == 2 and place[1].name == "inlined" and (place[2].name == "first" or place[2].name == "second"
    or place[2].name == "alias") and tonumber(place[1].line) == at then
    inlined = inlined + sample.value
  end
end
is(inlined, 124, "an inlined function and its caller at one address")
os.remove(path .. ".pb.gz")

-- Times.
run = target.uplua(("offcputime.lua -o %s.pb.gz -- perl -e 'select undef, undef, undef, 0.1'"):format(path))
samples, about = read(path .. ".pb.gz")
is(about.type .. " " .. about.unit, "time microseconds", "offcputime.lua: microseconds")
ok(sum_of(samples) > 1e5 and sum_of(samples) < 1e8, "… so many", sum_of(samples))
os.remove(path .. ".pb.gz")

-- Folded stacks and odd names, whole numbers of any size.
pprof.write(path .. ".pb.gz", { ["main;serve;a\nb"] = 2 ^ 40, ["main"] = 1 }, { type = "bytes", unit = "bytes" })
samples = read(path .. ".pb.gz")
table.sort(samples, function(a, b) return a.value > b.value end)
is(samples[1].names .. " " .. samples[1].value, "a\\\\x0ab serve main " .. 2 ^ 40, "folded stacks, large numbers")
is(samples[2].names .. " " .. samples[2].value, "main 1", "each in one sample")
os.remove(path .. ".pb.gz")
ok(not pcall(pprof.write, path, 23), "a number is no source")
ok(not pcall(pprof.data, {}, { unti = "x" }), "an option that there is not")
like(select(2, pcall(pprof.write, "/nope/x.pb.gz", {})), "pprof: cannot write /nope/x.pb.gz: No such file", "no folder")

-- -o by its suffix: the report is printed, but for other names.
local OF_SUFFIX = { svg = "^<%?xml", folded = "^_start;.*deliver %d+\n", txt = "^ +deliver.*\n213 hits in 4 stacks" }
for suffix, want in pairs(OF_SUFFIX) do
  local name = ("%s.%s"):format(path, suffix)
  run = target.uplua(("stackcount.lua -o %s %s:deliver -- %s"):format(name, SHOP, SHOP))
  like(target.read(name), want, suffix)
  is(run.out:find("213 hits", 1, true) ~= nil, suffix ~= "txt", "… and the report")
  like(run.err, "^uplua: the [%a ]+ in " .. name:gsub("%p", "%%%0") .. "\n$", "… as is said")
  os.remove(name)
end
for option, want in pairs {
  ["-o /nope/x.pb.gz"] = "^stackcount.lua: %-%-output: cannot write /nope/x.pb.gz: No such file or directory; see",
  ["-o /nope/x.txt"] = "^uplua: %-%-output /nope/x.txt: No such file or directory\n",
  ["-o x.svg --flame y.svg"] = "^stackcount.lua: %-%-flame and %-%-output name two files of one kind; see",
} do
  like(target.uplua(("stackcount.lua %s %s:deliver -- %s"):format(option, SHOP, SHOP)).err, want, option)
end
-- /profile of a service: what is counted from the request on, and nothing before.
if pcall(require("ffi").load, "libmicrohttpd.so.12") then
  local service = require "service"
  run = service.served([[
    local n = count()
    uprobe("CALLS:add3", function(e) n[{ e.comm, e:ustack() }]:inc() end)
    up.metric("adds", n, { profile = { type = "calls", unit = "count" } })
    up.metric("other", count())
  ]], [[
    run
    fetch() { exec 8<>/dev/tcp/127.0.0.1/$port
      printf "GET $1 HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n" >&8
      timeout 20 cat <&8; exec 8>&-; }
    ( sleep 0.5; run ) &
    fetch '/profile?seconds=2' | LC_ALL=C sed '1,/^\r$/d' >"$D-own/served.pb.gz"
    wait $!
    ask '/profile?seconds=0' | head -1
    ask '/profile?seconds=x' | head -1
    ask '/profile?metric=other' | tail -1
    ask /metrics | grep -c '^adds'
  ]])
  is(run.noise, "HTTP/1.1 400 Bad Request\nHTTP/1.1 400 Bad Request\nthere is no profile of that name: adds\n0\n" ..
    "status 143\n", "what is wrong is said, and a profile is no metric")
  samples, about = read(target.folder() .. "-own/served.pb.gz")
  is(sum_of(samples), 23, "/profile has what came in its time")
  is(about.type .. " " .. about.unit, "calls count", "… as the metric says")
  like(samples[1].names, "^add3 ", "… with its functions")
end
target.done()
tap.done_testing()
