-- What the tests of a script library are written with: `uplua --test DIR` runs them. A test is a script whose name ends
-- in _test.lua:
--
--   local test = require "uplua.test"
--   local run = test.run { "shop_deliveries.lua", "./shop", target = { "./shop", "101" } }
--   test.is(run.status, 0, "the shop's own status")
--   test.is(run.objects.calls["High Street"], 101, "every delivery is counted")
--   test.is(run.ledger, {}, "nothing was lost")
--
-- Checks are printed by the Test Anything Protocol (testanything.org): a line each, then the plan.
local core   = require "uplua.core"
local equal  = require "uplua.base.equal"
local loop   = require "uplua.base.loop"
local order  = require "uplua.objects.order"
local proc   = require "uplua.base.proc"
local record = require "uplua.objects.record"
local run    = require "uplua.base.run"
local text   = require "uplua.base.text"

local test = {}

local clean, finish

local own = run.part(function()
  loop.at_exit(function() finish() end)
  loop.at_failure(function() clean() end)
  return {
    count = 0, failed = 0, -- checks
    processes = {},        -- that start has started
    folder = nil,          -- for files, made when first needed
  }
end)

local PATIENCE = 500 -- polls
local POLL = "0.02"  -- seconds between two looks at what a process has printed

local function quote(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

local function check_text(who, what, value, level)
  if type(value) ~= "string" then
    error(("test.%s: %s is a text, not %s"):format(who, what, text.shown(value)), level + 1)
  end
end

local function read(path)
  local file = io.open(path, "rb")
  if not file then return "" end
  local content = file:read "*a"
  file:close()
  return content
end

-- Leaves nothing behind.
function clean()
  local mine = own()
  for _, process in ipairs(mine.processes) do process:stop() end
  if mine.folder then os.execute("rm -rf " .. quote(mine.folder)) end
  mine.processes, mine.folder = {}, nil
end

-- The end of the test, and its plan.
function finish()
  local mine = own()
  clean()
  io.stdout:write(("1..%d\n"):format(mine.count))
  if mine.failed > 0 then
    io.stderr:write(("#   %d of %s failed\n"):format(mine.failed, text.plural(mine.count, "check")))
    loop.ask(1)
  end
end

-- An empty folder for the test's files, which is removed at its end.
function test.folder()
  local mine = own()
  if mine.folder then return mine.folder end
  local pipe = io.popen "mktemp -d"
  mine.folder = pipe:read "*l"
  pipe:close()
  if not mine.folder then error("test.folder: no folder can be made in $TMPDIR or /tmp", 2) end
  return mine.folder
end

-- --- checks ---

-- A note on standard error, a line or more.
local function note(format, ...)
  io.stdout:flush()
  io.stderr:write("#   ", (text.escape(format:format(...), "\n\t"):gsub("\n", "\n#   ")), "\n")
end

-- Where the test calls one of the functions of this module: "shop_test.lua:12".
local function caller()
  local level = 2
  while true do
    local info = debug.getinfo(level, "Sl")
    if not info then return "?" end
    if info.currentline > 0 and not info.source:find "^@uplua[./]" then
      return ("%s:%d"):format(info.short_src, info.currentline)
    end
    level = level + 1
  end
end

-- A check called NAME: passes if GOOD is neither nil nor false. Returns whether it did, as all checks do.
function test.ok(good, name)
  local mine = own()
  mine.count, mine.failed = mine.count + 1, mine.failed + (good and 0 or 1)
  name = text.escape(tostring(name or "")):gsub("#", "\\#")
  io.stdout:write(("%s %d - %s\n"):format(good and "ok" or "not ok", mine.count, name))
  if not good then note("at %s", caller()) end
  return good and true or false
end

local function is_table(value) return type(value) == "table" and not (getmetatable(value) or {}).__tostring end

-- VALUE in one line, the keys of tables in their order.
local function shown(value)
  if not is_table(value) then
    return type(value) == "string" and ('"%s"'):format(text.escape(value)) or record.show(value)
  end
  local keys, parts = {}, {}
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys, order.less)
  for i, key in ipairs(keys) do
    local name = key == i and "" or type(key) == "string" and key .. " = " or ("[%s] = "):format(shown(key))
    parts[i] = name .. shown(value[key])
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

-- GOT equals WANT; tables by what is in them.
function test.is(got, want, name)
  local good = test.ok(equal(got, want), name)
  if not good then note("got  %s\nwant %s", shown(got), shown(want)) end
  return good
end

-- GOT, a text, matches the Lua pattern PATTERN.
function test.like(got, pattern, name)
  check_text("like", "the second argument, a Lua pattern,", pattern, 2)
  local good = test.ok(type(got) == "string" and got:find(pattern) ~= nil, name)
  if not good then note("got  %s\nwant something like %s", shown(got), pattern) end
  return good
end

-- Says that something is not checked here, and what this machine lacks for it.
function test.skip(reason)
  check_text("skip", "the reason", reason, 2)
  local mine = own()
  mine.count = mine.count + 1
  io.stdout:write(("ok %d # SKIP %s\n"):format(mine.count, (text.escape(reason):gsub("#", "\\#"))))
end

-- --- processes ---

local function words_of(who, command, level)
  if type(command) ~= "table" or type(command[1]) ~= "string" then
    error(("test.%s: a command is a list of its words, such as { \"./shop\", \"101\" }"):format(who), level + 1)
  end
  local words = {}
  for i, word in ipairs(command) do words[i] = quote(tostring(word)) end
  return table.concat(words, " ")
end

local Process = {}
Process.__index = Process

local function wait_a_little() os.execute("sleep " .. POLL) end

-- True while it runs; a process that has ended and that nobody has waited for does not.
function Process:is_running()
  local stat = proc.read("%d/stat", self.pid)
  return stat ~= nil and not stat:find "^%d+ %(.*%) [ZX]"
end

-- What it has printed by now, errors among it.
function Process:output() return read(self.file) end

-- Waits until its output matches PATTERN, for TIME ("10s") at most. Returns what string.match does; raises that it has
-- ended before, or that the time is over.
function Process:wait_for(pattern, time)
  check_text("start():wait_for", "the pattern", pattern, 2)
  local ns, wrong = text.duration(time or "10s")
  if not ns then error("test.start():wait_for: " .. wrong, 2) end
  local deadline = loop.now() + ns / 1e9
  while true do
    local running = self:is_running() -- before the output is read: what it prints last counts
    local output = self:output()
    if output:find(pattern) then return output:match(pattern) end
    local why = not running and "has ended" or loop.now() > deadline and "has not done so in " .. text.time(ns)
    if why then
      error(("%s was to print %s and %s; it printed:\n%s"):format(self.name, shown(pattern), why, output), 2)
    end
    wait_a_little()
  end
end

-- Sends it a signal, SIGTERM unless NAME says another ("INT"), and waits until it is gone; after ten seconds SIGKILL.
-- What it has started and left in its session is ended with it.
function Process:stop(name)
  for _, signal in ipairs { name or "TERM", "KILL" } do
    if not self:is_running() then break end
    os.execute(("kill -%s %d 2>/dev/null"):format(signal, self.pid))
    for _ = 1, PATIENCE do
      if not self:is_running() then break end
      wait_a_little()
    end
  end
  os.execute(("kill -s KILL -- -%d 2>/dev/null"):format(self.pid))
end

-- Starts COMMAND, a list of words, which runs beside the test and is ended with it. Returns it: its `pid`, output(),
-- wait_for(pattern, [time]), is_running(), stop([signal]).
function test.start(command)
  local words = words_of("start", command, 2)
  local processes = own().processes
  local file = ("%s/process-%d"):format(test.folder(), #processes + 1)
  -- exec: the PID is the command's; setsid: so is the group; env: a shell has what it starts beside it ignore Ctrl-C
  local pipe = io.popen(("( exec setsid env --default-signal=INT,QUIT %s >%s 2>&1 </dev/null ) & echo $!")
    :format(words, quote(file)))
  local pid = tonumber(pipe:read "*l" or "")
  pipe:close()
  local process = setmetatable({ pid = pid, file = file, name = tostring(command[1]) }, Process)
  processes[#processes + 1] = process
  return process
end

-- --- runs of uplua ---

-- The entries of an object by their keys, where all keys are texts or numbers; the value alone where there are none.
local function by_key(entries)
  if #entries == 1 and entries[1].key == nil then return entries[1].value end
  local values = {}
  for _, entry in ipairs(entries) do
    if type(entry.key) == "table" then return entries end
    values[entry.key] = entry.value
  end
  return values
end

-- What the JSON Lines LINES say, in RESULT.
local function decode(lines, result)
  local cjson = require "cjson"
  for line in lines:gmatch "[^\n]+" do
    local one = cjson.decode(line)
    if one.type == "table" then
      one.type = nil
      result.tables[#result.tables + 1] = one
    elseif one.type == "object" and one.name then
      result.objects[one.name] = by_key(one.entries)
    elseif one.type == "object" then
      result.objects[#result.objects + 1] = by_key(one.entries)
    elseif one.type == "ledger" then
      result.ledger = one.lost
    elseif one.type == "text" then
      result.text = result.text .. one.text .. "\n"
    else
      result.records[#result.records + 1] = one
    end
  end
end

local RUN = { target = true, pid = true, options = true, time = true }

-- Runs a script by uplua as its user would, to its end: GIVEN is the list of its words, its name or path first, and of
-- these fields, each of which may be left out:
--   target    the command to trace, a list of words
--   pid       the process to trace: test.start().pid
--   options   uplua's own options, a list: { "--duration", "2s" }
--   time      when to give up: "60s"
-- Returns what it said, as data:
--   status    the exit status
--   tables    the tables that it has printed: { heading =, columns = { { field =, title =, unit = }, … }, rows = {…} }
--   objects   the counts, histograms and maps that it has printed, by name; those without one by number. Of each its
--             values by key; a list of { key =, value = } where keys are tuples or stacks
--   records   what it has printed event by event, a table each
--   text      the lines of text that it has printed besides
--   ledger    what was lost: { { text =, count = }, … }; {} where nothing was, nil where the run did not get so far
--   output    what the target has printed; errors: what uplua and the target have said on standard error
function test.run(given)
  local words = words_of("run", given, 2)
  for field in pairs(given) do
    if type(field) == "string" and not RUN[field] then
      error(("test.run: there is no field '%s'%s"):format(field, text.did_you_mean(field, RUN)), 2)
    end
  end
  if not pcall(require, "cjson") then error("test.run needs the Lua library cjson: the package lua-cjson", 2) end
  local D = quote(test.folder())
  local options = given.options and words_of("run", given.options, 2) or ""
  local target = given.target and "-- " .. words_of("run", given.target, 2) or given.pid and "-- " .. given.pid or ""
  local time, wrong = text.duration(given.time or "60s")
  if not time then error("test.run: " .. wrong, 2) end
  os.execute(("rm -f %s/report %s/output %s/errors"):format(D, D, D))
  -- INT: it ends as by Ctrl-C, and says why it would have gone on
  local uplua = ("timeout -s INT -k 10 %d %s"):format(math.ceil(time / 1e9), quote(core.system.executable()))
  local pipe = io.popen(("%s %s --format json --output %s/report %s %s >%s/output 2>%s/errors </dev/null; echo $?")
    :format(uplua, options, D, words, target, D, D))
  local status = tonumber(pipe:read "*l" or "")
  pipe:close()
  local result = {
    status = status, tables = {}, objects = {}, records = {}, text = "", output = read(test.folder() .. "/output"),
    errors = (read(test.folder() .. "/errors"):gsub("uplua: the report is in [^\n]*\n", "", 1)),
  }
  decode(read(test.folder() .. "/report"), result)
  return result
end

return test
