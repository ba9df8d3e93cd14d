-- --new: the begin of a script of one's own. Writes NAME.lua with its options, a handler for each spec and the names of
-- its arguments; NAME_test.lua; and NAME.md, its page.
local cli       = require "uplua.run.cli"
local any       = require "uplua.probe.any"
local failure   = require "uplua.base.failure"
local file      = require "uplua.file"
local info      = require "uplua.run.info"
local providers = require "uplua.probe.providers"
local system    = require "uplua.core".system
local text      = require "uplua.base.text"

local skeleton = {}

local NONE = "syscall:openat" -- what stands there where no spec was given
local NO_SPEC = "; uplua --list KIND:PATTERN tells what there is"
local MOST = 3                -- functions of a pattern whose arguments are told

local SCRIPT = [==[
--[=[
$NAME: how often do these happen, and in which processes?

  uplua $NAME.lua [options] [-- PID ... or COMMAND]

prints a table: $SPECS, by process.

  -n, --top N            the N most frequent (default 10; 0: all)
  -i, --interval TIME    a report each TIME, too

  $ uplua --duration 5s $NAME.lua
--]=]
local up   = require "uplua"
local view = require "uplua.view"

local options = up.args {
  "$NAME.lua [options] [-- PID ... or COMMAND]",
  { "top,n",      "N",    "integer",  10,    "the N most frequent; 0: all" },
  { "interval,i", "TIME", "duration", false, "a report each TIME, too" },
  arguments = 0,
}

-- Counted in the kernel. A key is a text, a number, a stack (e:ustack()), or several of these in braces.
local hits = up.count()
$NUMBERED
$PROBES
local table_of_hits = view.new {
  { "probe", "Probe" }, $COLUMN{ "comm", "Process" }, { "n", "Hits", "count" }, by = "n", top = options.top,
}

up.report(options.interval, function()
  local rows = {}
  for key, n in hits:take():pairs() do rows[#rows + 1] = { probe = key[1], $ROW, n = n } end
$CALLS  table_of_hits:print(rows)
end)
]==]

local PROBE = [==[
$ARGUMENTSup.probe("$SPEC", function(e)
  $HITS[{ "$SPEC", $NAME$WHO }]:inc()
end)
]==]

-- Of patterns it is said which functions are left out.
local ERRORS = [==[
else
  test.is(run.errors, "", "nothing is said on standard error")
]==]

-- Of a probe of all system calls, which knows their numbers alone.
local NUMBERED = [==[
local calls = up.count() -- by the number of the system call
]==]

local CALLS = [==[
  for key, n in calls:take():pairs() do
    rows[#rows + 1] = { probe = key[1], name = up.syscall_name(key[2]), comm = key[3], n = n }
  end
]==]

local TEST = [==[
-- $NAME.lua: uplua --test FOLDER, or --test FOLDER/$NAME_test.lua, as root.
local test = require "uplua.test"

local SCRIPT = (arg[0]:match "^.*/" or "./") .. "$NAME.lua" -- beside this file

-- The program to trace. Take one of which you know how often it hits the probes: exact counts are the best test.
local COMMAND = { "ls", "/" }

local checked = test.run { SCRIPT, options = { "--check" } }
test.is(checked.status, 0, "the handlers compile")

local run = test.run { SCRIPT, target = COMMAND }
test.is(run.status, 0, "the status is that of the program")
test.is(run.ledger, {}, "nothing was lost")
local report = run.tables[1] or { rows = {} }
if not report.rows[1] then
  test.skip(("'%s' hits none of the probes: have COMMAND be a program that does"):format(table.concat(COMMAND, " ")))
$ERRORSend
for _, row in ipairs(report.rows) do
  test.is(row.comm, $COMM, ("%s: nothing else was traced"):format(row.probe))
  test.ok(row.n > 0, ("%s: what stands there was hit"):format(row.probe))
end
]==]

local PAGE = [==[
# $NAME

How often do these happen, and in which processes?

    uplua $NAME.lua [options] [-- PID ... or COMMAND]

| Option | |
|---|---|
| `-n`, `--top N` | the N most frequent; 0: all. Default: 10 |
| `-i`, `--interval TIME` | a report each TIME, too |

Its probes:

$LIST
`uplua --explain $NAME.lua` prints what its handlers are compiled to; the manual's page of handlers has what these can
say. `uplua --watch $NAME.lua` runs the script anew whenever it is saved. `uplua --test $NAME_test.lua` runs its test:
have its COMMAND be a program that hits the probes.
]==]

-- TEMPLATE with the values of its $WORDS.
local function fill(template, words)
  return (template:gsub("%$(%u+)", function(word) return words[word] end))
end

-- The arguments of an entry of --list, "e.args.bytes (u64)" each; nil where none are known.
local function arguments_of(entry)
  local list = {}
  for i, one in ipairs(entry.arguments or {}) do
    list[i] = one.type == "?" and ("%s (no handler can read it: %s)"):format(one.name, one.source)
      or ("%s (%s)"):format(one.source:find "^e%." and one.source or "e.args." .. one.name, one.type)
  end
  for _, place in ipairs(not entry.arguments and entry.places or {}) do
    for i, one in ipairs(place.arguments) do list[i] = ("e.%s (%s)"):format(one.name, one.type) end
  end
  return #list > 0 and table.concat(list, ", ") or nil
end

-- S in lines of comments.
local function comment(s)
  local lines, line = {}, "--"
  for word in s:gmatch "%S+" do
    if #line + #word + 1 > 118 then lines[#lines + 1], line = line, "--  " end
    line = line .. " " .. word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n") .. "\n"
end

local function wrong(format, ...) failure.mistake("--new: " .. format:format(...)) end

-- What stands above the probe of SPEC: what its arguments are called. Raises that there is no such probe.
local function describe(spec)
  local provider, rest = providers.of_spec(spec)
  if provider.all and provider.all(rest) then
    return comment(spec .. ": e.nr is the number of the system call; " ..
      "its arguments, e.arg0 … e.arg5, have no names here")
  end
  local entries = provider.list and provider.list(rest, true, wrong) or {}
  local found, lines = 0, {}
  for _, entry in ipairs(entries) do
    local arguments = entry.probe and arguments_of(entry)
    found = found + (entry.probe and 1 or 0)
    if arguments and #lines < MOST then lines[#lines + 1] = comment(("%s: %s"):format(entry.probe, arguments)) end
  end
  if found == 0 then wrong("%s: there is no such probe; uplua --list tells what there is", spec) end
  if found > #lines and #lines > 0 then
    lines[#lines + 1] = ("-- and %d more: uplua -v --list '%s:%s'\n"):format(found - #lines, provider.name, rest)
  end
  if #lines == 0 then
    lines[1] = provider.name:find "^u"
      and comment(spec .. ": its arguments have no names here; e.arg0, e.arg1 … are numbers") or ""
  end
  return table.concat(lines)
end

-- SPEC as it means the same in every folder: a binary that is named from here by its whole path.
local function everywhere(spec)
  local provider, rest, named = providers.of_spec(spec)
  if not provider.of_binary then return spec end
  local folder, name, place = rest:match "^([^:@]*/)([^:@/]+)(.*)$"
  if not folder or folder:find "^/" then return spec end
  local real = system.real_path(folder)
  if not real then return spec end
  return ("%s%s/%s%s"):format(named and provider.name .. ":" or "", real ~= "/" and real or "", name, place)
end

-- Whether SPEC stands for all system calls.
local function is_all(spec)
  local provider, rest = providers.of_spec(spec)
  return provider.all ~= nil and provider.all(rest) or false
end

-- What the handler of SPEC, which is a pattern or not, has for the name of what was hit.
local function name_of(spec)
  if is_all(spec) then return "e.nr" end
  if not spec:find "[*?[]" then return '""' end
  local provider = providers.of_spec(spec)
  return provider.name:find "tracepoint$" and "e.probe" or "e.func"
end

-- The reason why SPEC cannot be probed here, by anybody; nil if it can.
local function problem(spec)
  local provider = providers.of_spec(spec)
  for _, kind in ipairs(info.kinds()) do
    if kind.name == provider.name and not kind[1] and not kind[2]:find "could not be tried" then return kind[2] end
  end
end

-- The last line of the report: how the script NAME with SPECS is run, or why not here.
local function how_to_run(name, specs)
  for _, spec in ipairs(specs) do
    local why = problem(spec)
    if why then return ("It does not run on this machine: %s: %s (uplua --info)"):format(spec, why) end
  end
  local missing = system.capability_missing()
  return ("It runs as it is%s: uplua %s.lua"):format(missing and (", by root or with %s"):format(missing) or "", name)
end

-- What the handler of SPEC knows of who hit it: a timer is nobody's.
local function who(spec) return providers.of_spec(spec).of_nobody and '""' or "e.comm" end

-- The spec as a Lua text.
local function quoted(spec) return ("%q"):format(spec):sub(2, -2) end

-- Writes the script NAME ("slow_reads") for SPECS, its test and its page, into the current folder. Raises what is wrong
-- with the name or a spec, and which file is there already; then nothing is written.
function skeleton.write(name, specs)
  name = name:gsub("%.lua$", "")
  if not name:find "^%a[%w_%-]*$" then
    cli.wrong("--new: a name has letters, digits, - and _, as in slow_reads; got '%s'", name)
  end
  if #specs == 0 then specs = { NONE } end
  local whole, patterns, calls, nobody = {}, false, false, false
  for i, spec in ipairs(specs) do
    local _, _, named = providers.of_spec(spec)
    if not named and not spec:find "[:@]" then wrong("%s", any.no_probe(spec, NO_SPEC)) end
    whole[i] = everywhere(spec)
    patterns, calls = patterns or spec:find "[*?[]" ~= nil, calls or is_all(spec)
    nobody = nobody or providers.of_spec(spec).of_nobody
  end
  local probes, list = {}, {}
  for i, spec in ipairs(whole) do
    probes[i] = fill(PROBE, {
      ARGUMENTS = describe(spec), SPEC = quoted(spec), HITS = is_all(spec) and "calls" or "hits",
      NAME = patterns and name_of(spec) .. ", " or "", WHO = who(spec),
    })
    list[i] = ("- `%s`\n"):format(spec)
  end
  local words = {
    NAME = name, SPECS = table.concat(specs, ", "), PROBES = table.concat(probes, "\n"), LIST = table.concat(list),
    COLUMN = patterns and '{ "name", "Name" }, ' or "", NUMBERED = calls and NUMBERED or "",
    CALLS = calls and CALLS or "",
    ROW = patterns and "name = key[2], comm = key[3]" or "comm = key[2]",
    ERRORS = patterns and "" or ERRORS, COMM = nobody and 'row.comm ~= "" and "ls" or ""' or '"ls"',
  }
  local files = { { name .. ".lua", SCRIPT }, { name .. "_test.lua", TEST }, { name .. ".md", PAGE } }
  for _, one in ipairs(files) do
    if system.real_path(one[1]) then failure.mistake(("--new: %s is there already"):format(one[1])) end
  end
  for _, one in ipairs(files) do
    local written, why = file.write(one[1], fill(one[2], words))
    if not written then failure.mistake(("--new: %s"):format(why)) end
  end
  text.printf("%s.lua, its test %s_test.lua and its page %s.md are there.\n%s\n", name, name, name,
    how_to_run(name, whole))
end

return skeleton
