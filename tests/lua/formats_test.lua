-- Every script's report as data: each line by the schema in doc/, the ledger as last one; CSV whose lines have as many
-- cells as their titles; histograms with buckets; texts of all bytes; files that cannot be written.
-- Runs once: the ways to set probes make no difference to what is written.
local schema = require "json_schema"
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local SHOP = "./build/examples/shop"
local DELIVER, SELL = SHOP .. ":deliver", SHOP .. ":sell"
local formats = schema.read "doc/formats.schema.json"

-- The reader of these tests refuses what is no JSON, and the schema what is not in it.
for text, wrong in pairs {
  ['{"a":1,"a":2}'] = "twice", ['{"a":01}'] = "missing", ['["\\x"]'] = "escape", ["[1,]"] = "no value",
  ['{"a":1}x'] = "more",
  ['"\255"'] = "no UTF%-8", ['"a'] = "not closed", ["[1 2]"] = "missing",
} do
  local value, why = schema.decode(text)
  like(value == nil and why or "taken", wrong, "no JSON: " .. text:gsub("[^ -~]", "?"))
end
for text, wrong in pairs {
  ['{"type":"text"}'] = "fits none", ['{"type":"ledger","lost":{}}'] = "fits none", ['{"type":"other"}'] = "fits none",
  ['{"type":"table","columns":[],"rows":[]}'] = "fits none", ['{"type":"record","time":1.5}'] = "fits none",
  ['{"type":"table","columns":[{"field":"a","title":"A","unit":"furlong"}],"rows":[]}'] = "fits none",
} do
  like(tostring(schema.wrong(formats, schema.decode(text))), wrong, "not by the schema: " .. text)
end

-- The lines of OUT as data, checked: each by the schema, and the ledger last.
local function checked(out, what)
  local list = {}
  for line in out:gmatch "[^\n]+" do
    local one, wrong = schema.decode(line)
    wrong = wrong or schema.wrong(formats, one)
    if wrong then
      ok(false, ("%s: %s in %s"):format(what, wrong, line:sub(1, 200)))
      return {}
    end
    list[#list + 1] = one
  end
  is(list[#list] and list[#list].type, "ledger", what .. ": the ledger comes last")
  local ledgers = 0
  for _, one in ipairs(list) do ledgers = ledgers + (one.type == "ledger" and 1 or 0) end
  is(ledgers, 1, "… once")
  return list
end

-- The first of LIST of the type KIND.
local function first(list, kind)
  for _, one in ipairs(list) do
    if one.type == kind then return one end
  end
  return {}
end

local FRAMES, BUSY = "rows.1.stack.1.symbol", "./build/targets/busy user 0.3"

-- Each script: its arguments, the type of record that has its answer, and a place in it that is there. `prints` is what
-- the program itself prints.
local SCRIPTS = {
  argdist = {
    { DELIVER .. " -k e.arg1", "table", "rows.4.hits", 21 },
    { DELIVER .. " -v size:bytes=e.arg1", "table", "rows.1.histogram.buckets.3.count", 42 },
    { DELIVER .. " -v e.arg1 -k odd=e.arg1%2 -s n=e.arg1", "table", "rows.1.histogram.sum", 84 },
  },
  execsnoop = { { "-x -k uid=e.uid", "record", "command" } },
  funccount = {
    { SELL .. " -k odd=e.arg1%2 -s n=e.arg1 --by process", "table", "rows.1.n", 548 },
    { "-i 20ms " .. DELIVER, "table", "interval.length" },
  },
  funclatency = { { "-H -c " .. SELL, "table", "rows.1.histogram.count", 101 } },
  funcslower = { { "-m 0 -S " .. SELL, "record", "stack.1.symbol" } },
  heapscan = {}, -- of a process that is there already: heapscan_test
  hrcount = { { "--slice 1ms " .. SELL, "ledger", "type" } },
  hrtimer = { { "--below 1 --slice 10ms " .. SELL, "ledger", "type" } },
  mallocleak = { { "", "table", "columns.1.field", target = "./build/targets/leak 3" } },
  numdist = { { "-r -v e.elapsed -k odd=e.arg1%2 " .. SELL, "table", "columns.1.field", "odd" } },
  offcputime = { { "", "table", FRAMES, target = "sh -c 'sleep 0.1; sleep 0.1'" } },
  oncpu = { { "", "table", "columns.1.field", target = BUSY } },
  opensnoop = { { "-k uid=e.uid", "record", "path", "/etc/ld.so.cache" } },
  profile = {
    { "-F 499", "table", "rows.1.self", target = BUSY },
    { "-F 499 -S", "table", FRAMES, target = BUSY },
    { "-F 499 -c main -U", "table", "rows.1.name", "main", target = BUSY },
    { "-F 499 -i 0.1", "table", "interval.length", target = BUSY },
  },
  rundelay = { { "-t 0", "ledger", "type", target = BUSY } },
  runqlat = {
    { "-H -b cpu -k e.pid", "table", "columns.1.field", "cpu", target = "sh -c 'for i in 1 2 3; do sleep 0.01; done'" },
  },
  softirqs = { { "-H", "table", "columns.1.field", target = false } },
  spans = {
    { ("--from %s --to uretprobe:%s -k e.tid"):format(SELL, SELL), "table", "columns.1.field" },
  },
  stackcount = { { DELIVER .. " --key n=e.arg1", "table", FRAMES, "deliver" } },
  stat = {
    { DELIVER .. " perf:page-faults --ratio sold=deliver/page-faults", "record", "deliver", 213 },
    { DELIVER .. " -b process", "table", "rows.1.deliver", 213 },
    { "-i 0.1 -b cpu perf:cpu-clock", "table", "interval.length", target = false },
  },
  syscalls = { { "--errors -b thread -k e.ret<0 -s n=1", "table", "rows.1.p999" } },
  systrace = { { "", "record", "comm" } },
  taskstate = { { "", "table", "columns.1.field", target = "sh -c 'sleep 0.1'" } },
  timeline = { { "--calls " .. SELL .. " -o /dev/null", "ledger", "type" } },
  top = { { "-i 0.05 -k e.arg1 -s n=e.arg1 " .. DELIVER, "table", "interval.from" } },
  trace = {
    { "-r -S " .. SELL, "record", "stack.1.symbol" },
    { "syscall:openat", "record", "arguments.2.name", "filename" },
  },
  watchpoint = {
    { "-q ./build/targets/watched:counter -- ./build/targets/watched", "table", "columns.1.field", target = false,
      prints = "done 161\n" },
  },
  usdt = {
    { ("count %s:shop:*"):format(SHOP), "table", "rows.1.hits", 86 },
    { ("trace %s:shop:*"):format(SHOP), "record", "call" },
    { "list " .. SHOP, "table", "rows.1.probe", target = false },
  },
}

-- What is asked of a script that has no row here: its lines are by the schema, where it runs without arguments.
local ANY = { { "", "ledger", "type" } }

-- The value at PLACE, "rows.1.n", in RECORD.
local function at(record, place)
  local value = record
  for step in place:gmatch "[^.]+" do
    if type(value) ~= "table" then return nil end
    value = value[tonumber(step) or step]
  end
  return value
end

-- The cells of each line of a table of CSV; nil where a quote is not closed.
local function cells_of(text)
  local rows, row, at_cell = {}, {}, 1
  while at_cell <= #text do
    local cell, stop = text:match('^"([^"]*)"()', at_cell)
    while cell and text:sub(stop, stop) == '"' do -- a quote in quotes
      local more, after = text:match('^"([^"]*)"()', stop)
      if not more then return nil end
      cell, stop = cell .. '"' .. more, after
    end
    if not cell then cell, stop = text:match("^([^,\n\"]*)()", at_cell) end
    row[#row + 1] = cell
    local mark = text:sub(stop, stop)
    if mark ~= "," and mark ~= "\n" then return nil end
    if mark == "\n" then rows[#rows + 1], row = row, {} end
    at_cell = stop + 1
  end
  return rows
end

local function arguments_of(name, case)
  local on = case.target == nil and SHOP or case.target
  local quoted = case[1]:gsub("%S+", function(word) return target.quote(word) end)
  local command = on and "-- sh -c " .. target.quote("exec " .. on .. " >/dev/null") or ""
  return ("%s.lua %s %s"):format(name, quoted, command)
end

local there = {}
for path in io.popen "ls scripts/*.lua":lines() do there[#there + 1] = path:match "([^/]+)%.lua$" end
ok(#there > 15, "there are scripts")
for _, name in ipairs(there) do
  for _, case in ipairs((name ~= "watchpoint" or target.watches()) and (SCRIPTS[name] or ANY) or {}) do
    local arguments = arguments_of(name, case)
    local options = case.target == false and "--duration 0.3 " or ""
    local run = target.uplua(("%s--format json %s"):format(options, arguments))
    if not SCRIPTS[name] and run.status == 2 then
      tap.skip(name .. ".lua needs arguments: give it a row")
      break
    end
    if case.prints then run.out = run.out:gsub(case.prints, "") end
    local list = checked(run.out, arguments)
    local value = at(first(list, case[2]), case[3])
    if case[4] then is(value, case[4], case[3]) else ok(value ~= nil, ("%s has %s"):format(case[2], case[3])) end
    run = target.uplua(("%s--format csv %s"):format(options, arguments))
    if case.prints then run.out = run.out:gsub(case.prints, "") end
    for part in (run.out .. "\n"):gmatch "(.-\n)\n" do
      local rows = cells_of(part)
      local good = rows ~= nil
      for _, row in ipairs(rows or {}) do good = good and #row == #rows[1] end
      ok(good, "CSV: " .. arguments)
    end
  end
end

-- --- intervals ---

local list = checked(target.uplua(("--format json funccount.lua -i 20ms %s -- %s"):format(DELIVER, SHOP)).out:gsub(
  "101 orders[^\n]*\n", ""), "intervals")
local calls, before = 0, nil
for _, one in ipairs(list) do
  if one.type == "table" then
    is(one.interval.to - one.interval.from, one.interval.length, "an interval is as long as it says")
    ok(not before or one.interval.from == before, "… and begins where the one before ended")
    before = one.interval.to
    for _, row in ipairs(one.rows) do calls = calls + row.calls end
  end
end
is(calls, 213, "all intervals together")

-- --- texts of all bytes ---

local run = target.script([[
local up, view = require "uplua", require "uplua.view"
up.args { "bytes.lua" }
local all = {}
for byte = 0, 255 do all[byte + 1] = string.char(byte) end
all = table.concat(all)
view.stream { { "text", "Text" } }:print { text = all, [all] = 1, list = { all } }
view.new { { "text", all } }:print { { text = all } }
view.new { { "text", "Text" } }:data({ { text = all } }, all)
print(all)
for byte = 0, 255 do view.stream { { "one", "One" } }:print { one = string.char(byte) } end]], "--format json")
list = checked(run.out, "all bytes")
is(run.status, 0, "they can be written")
is(#list, 256 + 5 + 1, "a line each") -- the text has a newline
local escaped = list[1].text
like(escaped, "^\\x00\\x01\\x02.*\\x1f !\"#.*\\%].*~\\x7f\\x80.*\\xff$", "what is no text is shown by its number")
is(list[1].list[1], escaped, "in lists")
is(list[1][escaped], 1, "in names")
is(list[2].columns[1].title, escaped, "in titles")
is(list[3].heading, escaped, "in headings")
local different = {}
for i = 6, 261 do different[list[i].one or ""] = true end
local count = 0
for _ in pairs(different) do count = count + 1 end
is(count, 256, "each byte is another text")

-- --- files ---

local D = target.folder()
run = target.uplua(("-o %s funccount.lua %s -- %s"):format(D, SELL, SHOP))
is(run.status .. run.err, ("1uplua: --output %s: Is a directory\n"):format(D), "-o that is a folder")
run = target.uplua(("funccount.lua -o %s %s -- %s"):format(D, SELL, SHOP))
is(run.status .. run.err, ("1uplua: --output %s: Is a directory\n"):format(D), "… behind the script's name")
is(run.out, "", "… before the command is started")
run = target.uplua(("stackcount.lua -o %s %s -- %s"):format(D, SELL, SHOP))
like(run.err, "Is a directory", "… of a script that writes stacks")
for _, suffix in ipairs { "svg", "folded", "pb.gz" } do
  run = target.shell(("ln -s /dev/full $D/full.%s; ./uplua stackcount.lua -o $D/full.%s %s -- %s >$D/out 2>$D/err")
    :format(suffix, suffix, SELL, SHOP))
  ok(run.status ~= 0, "a full disk: ." .. suffix)
  like(run.err, "^uplua: %-%-%l+: cannot write %S+/full." .. suffix:gsub("%.", "%%.") .. ": No space left on device\n",
    "… is told")
end
target.done()
tap.done_testing()
