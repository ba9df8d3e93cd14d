-- Reports as data: --format json and csv, --output, --strict, before the script's name and behind it; and what each
-- says where it cannot do what it is told.
-- Runs once: the ways to set probes make no difference to what is written.
local tap = require "tap"
local target = require "target"

local CALLS = "./build/targets/calls"

local has_json, cjson = pcall(require, "cjson")
if not has_json then tap.skip_rest "there is no cjson for LuaJIT here (package lua-cjson)" end

-- The lines of TEXT as data: those of each type, in their order.
local function decode(text)
  local found = { table = {}, record = {}, object = {}, text = {}, ledger = {}, types = {} }
  for line in text:gmatch "[^\n]+" do
    local ok, one = pcall(cjson.decode, line)
    if not tap.ok(ok, "a line is JSON: " .. line:sub(1, 60)) then return found end
    table.insert(found[one.type], one)
    table.insert(found.types, one.type)
  end
  return found
end

local function probe(handler) return ("uprobe('%s:negative', function(e) %s end)"):format(CALLS, handler) end

-- ./uplua --format json -e CODE on calls, whose own output is thrown away.
local function json_of(code, options)
  local run = target.uplua(("--format json %s -e %s -- sh -c 'exec %s >/dev/null'"):format(options or "",
    target.quote(code), CALLS))
  tap.is(run.status .. run.err, "0", "it runs: " .. code:sub(1, 50))
  return decode(run.out)
end

-- --- what the script prints ---

local found = json_of("n = count() " .. probe "n[{ e.comm, e.arg0 % 2 }]:inc()")
tap.is(table.concat(found.types, " "), "object ledger", "a global that nobody has read, and the ledger last")
local object = found.object[1]
tap.is(object.name .. " " .. object.kind, "n count", "its name and kind")
tap.is(#object.entries, 2, "its entries")
local first, second = object.entries[1], object.entries[2]
tap.is(("%s %d %d"):format(first.key[1], first.key[2], first.value), "calls 0 51", "the largest first, tuples as lists")
tap.is(("%s %d %d"):format(second.key[1], second.key[2], second.value), "calls 1 50", "the other one")
tap.is(#found.ledger[1].lost, 0, "nothing was lost")

found = json_of("n = count() " .. probe "n:inc()")
tap.is(found.object[1].entries[1].value, 101, "without keys: one value")
tap.is(found.object[1].entries[1].key, nil, "and no key")

found = json_of("h = hist { unit = 'ns' } " .. probe "h:add(e.arg0)" ..
  " at_exit(function() print(h) print('a\\tb') end)")
local h = found.object[1].entries[1].value
tap.is(("%d %d %d %d %s"):format(h.count, h.sum, h.min, h.max, h.unit), "101 5050 0 100 ns", "a histogram, by print")
local sum = 0
for _, bucket in ipairs(h.buckets) do sum = sum + bucket.count end
tap.is(sum, 101, "its buckets")
tap.is(h.buckets[#h.buckets].low .. " " .. h.buckets[#h.buckets].high, "64 127", "their ends")
tap.is(found.text[1].text, "a\\x09b", "text, tabs and all")

found = json_of("h = hash() " .. probe
  "h.a = 123456789012345 h.b = 9007199254740991 h.c = -100000000000000 h.d = 0x7fffffffffffffffLL")
local digits = {}
for _, entry in ipairs(found.object[1].entries) do
  digits[entry.key] = type(entry.value) == "number" and ("%.0f"):format(entry.value) or entry.value
end
tap.is(("%s %s %s %s"):format(digits.a, digits.b, digits.c, digits.d),
  "123456789012345 9007199254740991 -100000000000000 9223372036854775807", "large integers keep their digits")

found = json_of("n = count() " .. probe "n[e:ustack()]:inc()")
local frames = found.object[1].entries[1].key
tap.is(frames[1].symbol, "negative", "a stack is the list of its frames, the innermost first")
tap.like(frames[1].module, "/build/targets/calls$", "with their module")

found = json_of("m = hash() s = stats() l = lhist(0, 50, 25) " .. probe
  "m[e.comm] = { last = e.arg0, name = e.comm } s:add(e.arg0) l:add(e.arg0)")
local by_name = {}
for _, one in ipairs(found.object) do by_name[one.name] = one.entries[1] end
tap.is(by_name.m.key .. by_name.m.value.name .. by_name.m.value.last, "callscalls100", "a record by its names")
tap.is(by_name.s.value.avg, 50, "stats")
tap.is(#by_name.l.value.buckets, 3, "buckets of lhist")
tap.is(by_name.l.value.buckets[3].high, nil, "the last has no end")

found = json_of [[
  local view = require "uplua.view"
  local v = view.new { { "name", "Name" }, { "took", "Took", "ns" }, by = "took" }
  v:print { { name = "a", took = 1500 }, { name = "b\27[1m" } }
  v:print {}
  v:refresh({ { name = "c", took = 2 } }, "12:00")
  printf("%d ", 1) printf("line\nand\n\n") io.write "rest"]]
local one = found.table[1]
tap.is(one.columns[2].field .. one.columns[2].title .. one.columns[2].unit, "tookTookns", "a table's columns")
tap.is(one.rows[1].took, 1500, "its cells are numbers")
tap.is(one.rows[2].name, "b\\x1b[1m", "a target's escapes are escaped")
tap.is(one.rows[2].took, nil, "an empty cell")
tap.is(#found.table[2].rows, 0, "no rows")
tap.is(found.table[3].heading, "12:00", "a heading")
local texts = {}
for i, text in ipairs(found.text) do texts[i] = text.text end
tap.is(table.concat(texts, "|"), "1 line|and|rest", "lines of text, whole ones and the last")

-- --- streams, and reports that are no tables to people ---

local STREAM = [[
  local view = require "uplua.view"
  local s = view.stream {
    { "name", "Name", "text", 6 }, { "n", "Hits", "count", 7 }, { "took", "Took", "ns" }, { "x", "X" },
  }
  s:titles()
  s:print { name = "a", n = 1101, took = 1500, x = "rest", more = { 1, 2 } }
  s:print { name = "a long name", x = "b\27[1m" }]]
local lines = target.uplua("-e " .. target.quote(STREAM))
tap.is(lines.out, "Name      Hits Took  X\na        1,101 1.5 us  rest\na long name           b\\x1b[1m\n",
  "a stream's lines")
found = json_of(STREAM)
tap.is(table.concat(found.types, " "), "record record ledger", "a stream as data has no titles")
tap.is(found.record[1].took .. " " .. found.record[1].more[2], "1500 2", "its fields, and those that have no column")
lines = target.uplua("--format csv -e " .. target.quote(STREAM))
tap.is(lines.out, "name,n,took,x\na,1101,1500,rest\na long name,,,b\\x1b[1m\n", "a stream as CSV")
found = json_of [[
  local v = require "uplua.view".new { { "n", "N", "count" }, by = "n" }
  print(v:data({ { n = 2 }, { n = 3 } }, "now"))]]
tap.is(found.table[1].heading .. found.table[1].rows[1].n .. found.text[1].text, "now3true", "view:data writes")
lines = target.uplua [[-e 'print(require "uplua.view".new { { "n", "N" } }:data {})']]
tap.is(lines.out, "false\n", "… where it is wanted")

-- --- scripts ---

local function script_json(arguments)
  local run = target.uplua("--format json " .. arguments)
  tap.is(run.status, 0, arguments)
  return decode(run.out)
end
found = script_json("trace.lua --stack " .. CALLS .. ":negative -- sh -c 'exec " .. CALLS .. " >/dev/null'")
tap.is(#found.record, 101, "trace.lua: a record for each hit")
tap.is(found.record[1].stack[1].symbol, "negative", "with its stack")
found = script_json("mallocleak.lua --top 3 -- sh -c 'exec ./build/targets/leak 3 >/dev/null'")
tap.ok(found.table[1].rows[1].bytes > 0 and #found.table[1].rows[1].stack > 0, "mallocleak.lua: blocks by stack")
found = script_json("stackcount.lua " .. CALLS .. ":add3 -- sh -c 'exec " .. CALLS .. " >/dev/null'")
tap.is(found.table[1].rows[1].number, 23, "stackcount.lua: rows")
found = script_json("argdist.lua --key e.comm --value e.arg0 " .. CALLS .. ":negative -- sh -c 'exec " .. CALLS ..
  " >/dev/null'")
tap.is(found.table[1].rows[1].histogram.sum, 5050, "argdist.lua: histograms")
found = script_json("funccount.lua " .. CALLS .. ":name -- sh -c 'exec " .. CALLS .. " >/dev/null'")
tap.is(found.table[1].rows[1].calls, 23, "funccount.lua: counts")

-- --- csv ---

local run = target.uplua(("--format csv -e %s -- sh -c 'exec %s >/dev/null'"):format(target.quote(
  "n = count() k = count() " .. probe 'n:inc() k[e.arg0 == 23 and "a,\\"b" or "c"]:inc()' ..
  " at_exit(function() print 'told' end)"), CALLS))
tap.is(run.out, 'key,n\n,101\n\nkey,k\nc,100\n"a,""b",1\n', "CSV, with quotes where they must be")
tap.is(run.err, "told\n", "and the text apart")

-- --- where it goes ---

run = target.uplua(("-o %s/report -e %s -- %s"):format(target.folder(), target.quote("n = count() " .. probe "n:inc()"),
  CALLS))
tap.is(target.read(target.folder() .. "/report"), "n: 101\n", "--output has the report")
tap.ok(not run.out:find "n: 101", "standard output has not")
tap.like(run.out, "negative", "but what the command prints")
tap.is(run.err, ("uplua: the report is in %s/report\n"):format(target.folder()), "which is said")
run = target.uplua("-o /no/such/folder/report -e 'n = count()' -- " .. CALLS)
tap.is(run.status .. run.err .. run.out, "1uplua: --output /no/such/folder/report: No such file or directory\n",
  "a file that cannot be written is refused before the command starts")
run = target.uplua("-o /dev/full -e 'print(1)'")
tap.is(run.status .. run.err, "1uplua: --output /dev/full: No space left on device\n", "so is a full disk, at the end")

-- --- behind the script's name ---

local SCRIPT = [[
local up = require "uplua"
local options = up.args { "x.lua [options]", { "top", "N", "integer", 3, "rows" } }
print(options.top)]]
run = target.script(SCRIPT, "--format json --top 4")
tap.is(run.out, '{"type":"text","text":"4"}\n{"type":"ledger","lost":[]}\n', "--format behind the name")
run = target.script(SCRIPT, "--format=xml")
tap.like(run.status .. run.err, "^2.*: %-%-format is json, csv or text; got 'xml'", "a wrong one")
run = target.script(SCRIPT, "--duration 1s")
tap.like(run.status .. run.err, "^2.*'%-%-duration' is uplua's own, which stands before", "others stay before it")
local EVERY = "\nas every script:\n  %-o, %-%-output FILE +the report goes to FILE, "
  .. "[^\n]*\n      %-%-format json|csv|text  [^\n]*\n      %-%-strict [^\n]*\n"
run = target.script(SCRIPT, "--help")
tap.like(run.out, EVERY .. "\n", "--help")
run = target.script(SCRIPT .. "\nup.report(options.interval, function() print(stack) end)", "--help")
tap.like(run.out, EVERY .. "      %-%-interval TIME .*\n      %-%-user ", "… of a script that has reports and stacks")
run = target.uplua "stackcount.lua --help"
local _, outputs = run.out:gsub("%-%-output", "")
tap.is(outputs, 1, "… of a script that has one of these itself")
run = target.script([[
local up = require "uplua"
local options = up.args { "x.lua", { "output", "WHERE", "string", "x", "where" } }
print(options.output)]], "--output mine")
tap.is(run.out, "mine\n", "a script's own option of that name is the script's")

-- --- numbers and texts that are hard to write ---

run = target.script([[
local up, view = require "uplua", require "uplua.view"
up.args { "numbers.lua" }
view.stream { { "a", "A" } }:print {
  a = 9007199254740993LL, b = -9007199254740993LL, c = 2 ^ 60, d = 0.1 + 0.2, e = 18446744073709551615ULL,
  f = 123456789012345, g = -0.5, h = 'x"y\\z\27/', i = 2 ^ 53, ['k"'] = true, n = {}, t = 1e300,
}]], "--format json")
tap.is(run.out, '{"type":"record","a":"9007199254740993","b":"-9007199254740993","c":"1152921504606846976",' ..
  '"d":0.30000000000000004,"e":"18446744073709551615","f":123456789012345,"g":-0.5,"h":"x\\"y\\\\z\\\\x1b/",' ..
  '"i":9007199254740992,"k\\"":true,"t":1e+300}\n{"type":"ledger","lost":[]}\n',
  "no digit is lost, no text ends early, the columns come first and the rest by name")

-- --- --lines, --modules, --addresses ---

run = target.uplua("stackcount.lua --lines --modules -n 1 ./build/targets/calls:negative -- " .. CALLS)
local AT = " %(calls%) [^\n]*/calls%.c:%d+\n"
tap.like(run.out, "\n     negative%+0x0" .. AT .. "     work%+0x%x+" .. AT,
  "stacks with lines and modules, by options behind the script's name")
run = target.uplua("--addresses stackcount.lua -n 1 ./build/targets/calls:negative -- " .. CALLS)
tap.like(run.out, "\n     0x%x+ negative%+0x0\n     0x%x+ work%+0x%x+\n", "with addresses, by an option before it")
run = target.uplua("stackcount.lua -n 1 ./build/targets/calls:negative -- " .. CALLS)
tap.like(run.out, "\n     negative%+0x0\n     work%+0x%x+\n", "and without")

-- --- --kernel, --user ---

local PAGES = [[
local up = require "uplua"
up.args { "pages.lua" }
local n = up.count()
up.tracepoint("kmem:mm_page_alloc", function(e) n[e:stack()]:inc() end)
up.at_exit(function()
  local kernel, own = false, false
  for stack in n:pairs() do
    for _, frame in ipairs(stack:frames()) do
      if frame.kernel then kernel = true else own = true end
    end
  end
  print(kernel, own)
end)]]
for given, want in pairs {
  [""] = "true\ttrue\n", ["--kernel"] = "true\tfalse\n", ["--user"] = "false\ttrue\n",
} do
  run = target.script(PAGES, given .. " -- sh -c 'exec ./build/examples/shop >/dev/null'")
  tap.is(run.out, want, "stacks with " .. (given ~= "" and given or "both parts"))
end
run = target.script(PAGES, "--kernel --user")
tap.like(run.status .. run.err, "^2.*: %-%-user and %-%-kernel together leave nothing; see", "both together")
run = target.uplua([[--kernel -e 'n = count()
  tracepoint("syscalls:sys_enter_write", function(e) n[e:stack()]:inc() end)' -- true]])
tap.is(run.status .. run.err, "0", "before the script's name, too")

-- --- --top ---

local MANY = [[
local up, view = require "uplua", require "uplua.view"
up.args { "many.lua" }
local n = up.count()
up.uprobe("./build/examples/shop:deliver", function(e) n[e.arg1]:inc() end)
up.at_exit(function()
  print(n)
  local rows = {}
  for k, count in n:pairs() do rows[#rows + 1] = { k = k, n = count } end
  view.new { { "k", "K" }, { "n", "N", "count" }, by = "n" }:print(rows)
end)]]
local ON_SHOP = " -- sh -c 'exec ./build/examples/shop >/dev/null'"
tap.is(target.script(MANY, "--top 1" .. ON_SHOP).out, "0  86\n… and 3 more\nK   N\n0  86\n", "--top 1")
tap.is(target.script(MANY, "--top 0" .. ON_SHOP).out,
  "0  86\n1  64\n2  42\n3  21\nK   N\n0  86\n1  64\n2  42\n3  21\n", "--top 0")
found = decode(target.script(MANY, "--top 2 --format json" .. ON_SHOP).out)
tap.is(#found.object[1].entries .. " " .. #found.table[1].rows, "2 2", "… as data")
tap.like(target.script(MANY, "--top x").err, ": %-%-top needs a whole number from 0 up; got 'x'; see %-%-help\n$",
  "no number")

-- --- --interval ---

local REPORT = [[
local up = require "uplua"
up.args { "report.lua" }
local n = up.count()
up.uprobe("./build/examples/shop:sell", function() n:inc() end)
up.report(nil, function()
  print(n:take():get())
  os.execute '[ ! -p "$D/go" ] || : <>"$D/go"' -- lets the shop begin, which waits for a report
end)]]
run = target.script(REPORT, "--interval 10ms --format json -- " ..
  [[sh -c 'mkfifo "$D/go" && : <"$D/go"; exec ./build/examples/shop >/dev/null']])
local all, texts = 0, 0
for _, one in ipairs(decode(run.out).text) do all, texts = all + tonumber(one.text), texts + 1 end
tap.ok(texts >= 2, "--interval: reports each so often")
tap.is(all, 101, "… which together have all")

-- What --duration leaves behind the last period is part of it: no third report of next to nothing.
run = target.uplua [[--duration 2s --format json -e 'n = count() interval("100ms", function() n:inc() end)
  report("1s", function() print "ticks" print(n:take()) end)']]
found = decode(run.out)
tap.ok(#found.text >= 1 and #found.text <= 2, "two periods are two reports")
for i, one in ipairs(found.text) do
  local object = found.object[i].interval
  tap.ok(one.interval.length > 5e7, "and none of next to nothing")
  tap.ok(object.from == one.interval.from and object.to == one.interval.to, "objects and texts say what they are of")
end
local clock = found.ledger[1].clock
tap.ok(clock.monotonic >= found.text[#found.text].interval.to and math.abs(clock.realtime / 1e9 - os.time()) < 1e4,
  "the ledger says which wall clock belongs to these times")
tap.is(decode(target.uplua("--format json -e 'print(1)'").out).ledger[1].clock, nil, "where there are any")

run = target.script(REPORT, "--interval 1ms")
tap.like(run.status .. run.err, "^2.*: %-%-interval: 1ms is below the least, 10ms; see", "too short a time")
run = target.script(PAGES, "--interval 1s -- true")
tap.is(run.status .. run.err, "1uplua: --interval: this script has no report that can be repeated (up.report)\n",
  "a script that has no such report")

-- --- --strict ---

local FULL = target.quote("n = hash { max = 10 } " .. probe "n[e.arg0] = 1")
run = target.uplua(("--strict -e %s -- %s"):format(FULL, CALLS))
tap.is(run.status, 3, "--strict: status 3 where something was lost")
run = target.uplua(("-e %s -- %s"):format(FULL, CALLS))
tap.is(run.status, 0, "without it the command's")
run = target.uplua(("--strict -e 'n = count() %s' -- %s"):format(probe "n:inc()":gsub("'", '"'), CALLS))
tap.is(run.status, 0, "--strict with nothing lost")
found = decode(target.uplua(("--format json -e %s -- sh -c 'exec %s >/dev/null'"):format(FULL, CALLS)).out)
tap.is(found.ledger[1].lost[1].count, 91, "the ledger as data")
tap.like(found.ledger[1].lost[1].text, "'n' is full", "with its text")

-- Blanks that a text begins with are its own.
local BLANK_KEYS = [[-e 'm = hash() m[" a"] = 1 m["a"] = 2 m["  a"] = 3']]
tap.is(target.uplua("--format csv " .. BLANK_KEYS).out, "key,m\n  a,3\n a,1\na,2\n", "blanks at the beginning, as CSV")
tap.is(target.uplua("--format csv -e 't = hash() t[{ \" a\", 5 }] = 1 t[{ \"a\", 5 }] = 2'").out,
  'key,t\n" a, 5",1\n"a, 5",2\n', "… in a list")
tap.is(target.uplua("-e 'm = hash() m[1] = { a = \" b\" }'").out, "m: 1  a= b\n", "… and in a record, as text")
target.done()
tap.done_testing()
