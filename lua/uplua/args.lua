-- The options of a script, declared in one table:
--
--   local opts = up.args {
--     "leak.lua [interval [count]] [-- TARGET]",                       -- the usage line, then rows:
--     { "top",       "N",    "number",   10, "print the N largest stacks" },
--     { "older",     "TIME", "duration", 0,  "only blocks older than TIME, such as 500ms or 5s" },
--     { "combined-only",                     "one line for each stack" },       -- a flag
--     arguments = 2,          -- what may be given besides options: at most so much (nil: any)
--   }
--   opts.top, opts.older (ns), opts.combined_only (true or false), opts[1] … (what is not an option, as text)
--
-- A row is { name, metavariable, type, default, help } or, for a flag, { name, help }. Types: string, number, integer
-- (0 and up), duration (ns; the user writes 500ms, or 5 for seconds), size (bytes); `least = 1` and `most = 100` in the
-- row are the range of the numbers. Defaults and ranges may be written as the user does: "10ms". A default of false or
-- nil means that the option may be missing: write false, since a row has no holes. With `of_argument = true` in the row
-- the option belongs to the argument that it stands behind: opts.of[1].where of opts[1]; before all arguments it is
-- opts.where. With `several = true` the option may be given several times, and is a list of what was given, in this
-- order; any other option with a value that is given twice is refused. With a metavariable "[=N]" the value may be
-- missing: --top=5 is 5, --top is true. "top,n" also gives the option the letter -n. A list of rows in the place of one
-- stands for each of them (uplua.stack_report). The user may write --top 5, --top=5, -n 5 and -n5, and `--` ends the
-- options.
-- Every script has --output FILE, --format json|csv|text, --strict, --top N, and for stacks --lines, --modules,
-- --addresses, --kernel and --user, too (uplua --help), unless it declares its own; one that reports by up.report has
-- --interval.
-- --help prints the help, with the first line of the script's banner (--[=[ name: what is it for?), and ends with
-- status 0; a wrong option prints a message and ends with status 2.
local option_table = require "uplua.base.option_table"
local text         = require "uplua.base.text"

local args = {}

local function check_number(value)
  local n = tonumber(value)
  if n and n == n and math.abs(n) < math.huge then return n end
  return nil, ("'%s' is not a number"):format(value)
end

local function check_integer(value)
  local n = tonumber(value)
  if n and n >= 0 and n == math.floor(n) and n < 2 ^ 53 then return n end
  return nil, ("'%s' is not a whole number from 0 up"):format(value)
end

local TYPES = {
  string = function(value) return value end,
  number = check_number,
  integer = check_integer,
  duration = text.duration,
  size = text.size,
}

local OPTIONS = { arguments = option_table.integer(0, 2 ^ 53) }
local function any(value) return value end
local RANGE = { least = any, most = any, of_argument = option_table.boolean, several = option_table.boolean }

-- The rows of DECLARATION, those of lists of rows among them.
local function given_rows(declaration)
  local list = {}
  for i = 2, #declaration do
    local given = declaration[i]
    local several = type(given) == "table" and type(given[1]) == "table"
    for _, one in ipairs(several and given or { given }) do list[#list + 1] = one end
  end
  return list
end

-- The rows of DECLARATION as tables, by long name and by letter.
local function rows_of(declaration)
  if type(declaration) ~= "table" or type(declaration[1]) ~= "string" then
    error("args: declare the options as a table that begins with the usage line", 4)
  end
  option_table.read("args", option_table.named(declaration), OPTIONS, 4)
  local rows, by_name = {}, {}
  for i, given in ipairs(given_rows(declaration)) do
    local row
    if type(given) == "table" and #given == 2 then
      row = { flag = true, default = false, help = given[2] }
    elseif type(given) == "table" and #given == 5 and TYPES[given[3]] then
      row = { metavariable = given[2], convert = TYPES[given[3]], default = given[4] or nil, help = given[5] }
      local range = option_table.read("args: row " .. i, option_table.named(given), RANGE, 4)
      row.of_argument, row.several = range.of_argument, range.several
      row.shown_default, row.shown_least, row.shown_most = given[4], range.least, range.most
      local function value(v) return type(v) == "string" and row.convert(v) or v end
      row.default, row.least, row.most = value(row.default), value(range.least), value(range.most)
    else
      error(("args: row %d is { name, metavariable, type, default, help } or { name, help }; types are string, number, "
        .. "integer, duration, size"):format(i), 4)
    end
    row.name, row.letter = given[1]:match("^([%w%-]+),?(%a?)$")
    if not row.name then error(("args: '%s' is not an option's name"):format(tostring(given[1])), 4) end
    row.field = row.name:gsub("%-", "_")
    row.may_be_alone = (row.metavariable or ""):find "^%[=" ~= nil
    rows[#rows + 1] = row
    for _, name in ipairs { "--" .. row.name, row.letter ~= "" and "-" .. row.letter or nil } do
      if by_name[name] then error(("args: row %d: there is another option %s"):format(i, name), 4) end
      by_name[name] = row
    end
  end
  return rows, by_name
end

-- VALUE, as text, to ROW; nil and why not.
local function convert(row, value)
  local converted, message = row.convert(value)
  if converted == nil then return nil, message end
  if row.least and converted < row.least then
    return nil, ("%s is below the least, %s"):format(value, tostring(row.shown_least))
  end
  if row.most and converted > row.most then
    return nil, ("%s is above the most, %s"):format(value, tostring(row.shown_most))
  end
  return converted
end

-- Puts VALUE, as text, into PLACE for ROW, which the user calls NAME. SEEN: of each place the rows that were given
-- there. nil, or what is wrong.
local function put(place, row, name, value, seen)
  local converted, message = convert(row, value)
  if converted == nil then return ("option '%s': %s"):format(name, text.escape(message)) end
  local before = seen[place] or {}
  if before[row] and not row.several then return ("option '%s' is given twice: leave one out"):format(name) end
  seen[place], before[row] = before, true
  if not row.several then
    place[row.field] = converted
  else
    place[row.field] = place[row.field] or {}
    table.insert(place[row.field], converted)
  end
end

local function help_of(usage, rows)
  local lines, lefts, width = { "usage: uplua " .. usage }, {}, 6
  for i, row in ipairs(rows) do
    lefts[i] = (row.letter ~= "" and "-" .. row.letter .. ", " or "") .. "--" .. row.name
      .. (row.flag and "" or row.may_be_alone and row.metavariable or " " .. row.metavariable)
    width = math.max(width, #lefts[i])
  end
  if #rows > 0 then lines[2] = "" end
  for i, row in ipairs(rows) do
    local default = ""
    if row.shown_default and row.shown_default ~= 0 and row.shown_default ~= "" then
      default = (" (default %s)"):format(tostring(row.shown_default))
    end
    lines[#lines + 1] = ("  %s  %s%s"):format(text.pad(lefts[i], width), row.help, default)
  end
  lines[#lines + 1] = ("  %s  %s"):format(text.pad("--help", width), "print this and exit")
  return table.concat(lines, "\n")
end

-- What every script has, unless it declares its own: name, metavariable or nil, help. OF: what the text of a script has
-- in it for which that is of use.
local COMMON = {
  { "output", " FILE", "the report goes to FILE, apart from what a command prints", letter = "o" },
  { "format", " json|csv|text", "the report as JSON Lines, or its tables as CSV" },
  { "strict", "", "exit status 3 where not everything was seen" },
  { "interval", " TIME", "reports each TIME, too", of = "report" },
  { "top", " N", "of tables, counts and maps the N largest; 0: all" },
  { "lines", "", "frames of stacks with file and line of the source", of = "stack" },
  { "modules", "", "… with the program or library", of = "stack" },
  { "addresses", "", "… with the address", of = "stack" },
  { "kernel", "", "of stacks the kernel's part alone", of = "stack" },
  { "user", "", "of stacks the program's part alone", of = "stack" },
}

-- The lines of --help for what every script has besides ROWS, its own; CODE: the script's text.
local function common_help(rows, code)
  local own, lines, letters = {}, {}, {}
  for _, row in ipairs(rows) do own[row.name], letters[row.letter] = true, true end
  for _, one in ipairs(COMMON) do
    if not own[one[1]] and (not one.of or code:find(one.of, 1, true)) then
      local letter = one.letter and not letters[one.letter] and ("-%s, "):format(one.letter) or "    "
      lines[#lines + 1] = ("  %s  %s"):format(text.pad(letter .. "--" .. one[1] .. one[2], 27), one[3])
    end
  end
  return table.concat(lines, "\n")
end

local function script_name() return tostring(arg and arg[0] or "uplua"):match "[^/]*$" end

-- The option NAME, which the script does not have, of GIVEN before AT: one of the report goes to OF_RUN, as uplua's own
-- options. Returns where the next one is; or nil and the message.
local function parse_report(name, value, given, at, of_run, names)
  local cli = require "uplua.run.cli"
  local long = cli.long(name)
  if not long then return nil, ("unknown option '%s'%s"):format(text.escape(name), text.did_you_mean(name, names)) end
  if not cli.REPORT[long] then
    return nil, ("option '%s' is uplua's own, which stands before the script's name: uplua %s … %s")
      :format(name, name, script_name())
  end
  local ok, last = pcall(cli.set, of_run, long, value, given, at - 1)
  if not ok then return nil, tostring(last) end
  return last + 1
end

-- Parses GIVEN (a list of texts) by DECLARATION: the options' table, and those of the report; or nil, the message and
-- the exit status.
function args.parse(declaration, given)
  local rows, by_name = rows_of(declaration)
  local options, list, at, ended, of_run, seen = {}, { "--help" }, 1, false, {}, {}
  for _, row in ipairs(rows) do
    options[row.field] = row.default
    if row.several then options[row.field] = { row.default } end
    list[#list + 1] = "--" .. row.name
    if row.of_argument then options.of = {} end
  end
  while at <= #given do
    local word = given[at]
    at = at + 1
    if ended or not word:find("^%-.") or tonumber(word) then
      options[#options + 1] = word
      if options.of then options.of[#options] = {} end
    elseif word == "--" then
      ended = true
    else
      local name, value = word:match("^(%-%-[^=]+)=(.*)$")
      name = name or word
      if not name:find("^%-%-") and #name > 2 then name, value = word:sub(1, 2), word:sub(3) end
      if name == "--help" or (name == "-h" and not by_name[name]) then return nil, help_of(declaration[1], rows), 0 end
      local row = by_name[name]
      if not row then
        local message
        at, message = parse_report(name, value, given, at, of_run, list)
        if not at then return nil, message, 2 end
      elseif row.may_be_alone and not value then
        options[row.field] = true
      elseif row.flag then
        if value then return nil, ("option '%s' takes no value"):format(name), 2 end
        options[row.field] = true
      else
        if not value then
          value, at = given[at], at + 1
          if not value then return nil, ("option '%s' needs a value: %s %s"):format(name, name, row.metavariable), 2 end
        end
        local message = put(row.of_argument and options.of[#options] or options, row, name, value, seen)
        if message then return nil, message, 2 end
      end
    end
  end
  local extra = options[(declaration.arguments or math.huge) + 1]
  if extra then
    return nil, ("'%s' is one argument too many; the target comes after --"):format(text.escape(extra)), 2
  end
  return options, of_run
end

-- Ends the process with STATUS, and a command that waits to be released.
local function leave(status)
  local target = package.loaded["uplua.core"] and package.loaded["uplua.core"].target
  if target then target.close() end
  os.exit(status)
end

-- fail(format, …): for what is wrong with a script's arguments beyond their types: prints "leak.lua: MESSAGE; see
-- --help" and ends with status 2.
function args.fail(format, ...)
  io.stdout:flush()
  local message = text.escape(format:format(...))
  io.stderr:write(script_name(), ": ", message, message:find "%?$" and " See --help\n" or "; see --help\n")
  leave(2)
end

-- What stands behind the options in a script's help: what the words of USAGE mean that scripts share, and EXAMPLES.
local function further_help(usage, examples)
  local parts = {}
  if usage:find "SPEC" then
    parts[#parts + 1] = "a SPEC names probes: libc:malloc, 'libc:str*', uretprobe:libc:malloc, syscall:read, " ..
      "sysreturn:read,\nusdt:./app:shop:sold, tracepoint:sched:sched_switch, ./app@app.c:42; " ..
      "uplua --list SPEC shows which"
  end
  if usage:find "EXPR" then
    parts[#parts + 1] = "an EXPR is a Lua expression of the event e: e.arg0, e.args.size / 4096, e.comm, str(e.arg1)"
  end
  local shown = { examples[2] and "examples:" or "an example:" }
  for i, example in ipairs(examples) do shown[i + 1] = "  " .. text.escape(example) end
  if examples[1] then parts[#parts + 1] = table.concat(shown, "\n") end
  return parts[1] and "\n\n" .. table.concat(parts, "\n\n") or ""
end

-- The options of this run, from the global `arg`. Ends the process for --help and for wrong options.
local function options_of(_, declaration)
  local options, message, status = args.parse(declaration, arg or {})
  if options then
    local of_run, given = require "uplua.options", message
    for name, value in pairs(given) do of_run[name] = value end
    of_run.of_tool = true
    if given.output or given.format then require "uplua.objects.format".begin() end
    return options
  end
  if status ~= 0 then args.fail("%s", message) end
  local script = require "uplua.run.script"
  local summary, usage = script.summary(arg[0]), message
  if summary ~= "" then message = message:gsub("\n", "\n\n" .. text.escape(summary):gsub("%%", "%%%%") .. "\n", 1) end
  io.stdout:write(message, "\n\nas every script:\n", common_help((rows_of(declaration)), script.code(arg[0])),
    further_help(usage, script.examples(arg[0])),
    "\n\nuplua's own options (--duration 10s, --follow, --comm NAME) stand before the script's name: uplua --help\n")
  local core = package.loaded["uplua.core"]
  local written, why = io.stdout:flush()
  if not written and not (core and core.loop.signal()) then -- a reader who has gone has had enough
    io.stderr:write("uplua: cannot write the output: ", why, "\n")
    status = 1
  end
  leave(status)
end

args.args = args -- up.args is this module, which can be called
return setmetatable(args, { __call = options_of })
