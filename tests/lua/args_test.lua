-- The options of scripts.
local tap = require "tap"
local args = require "uplua.args"
local ok, is, like = tap.ok, tap.is, tap.like

local declaration = {
  "leak.lua [interval [count]] [-- TARGET]",
  { "top,T", "N", "integer", 10, "print the N largest stacks" },
  { "older", "TIME", "duration", 0, "only blocks older than TIME" },
  { "min-size", "BYTES", "size", 0, "only blocks of at least BYTES" },
  { "folded", "FILE", "string", false, "write folded stacks to FILE" },
  { "combined-only", "one line for each stack" },
  arguments = 2,
}

local function parse(...)
  return args.parse(declaration, { ... })
end

local o = parse()
is(o.top, 10, "a default")
is(o.folded, nil, "an option without a default")
is(o.combined_only, false, "a flag that is not given")
o = parse("5", "--top=3", "--older", "500ms", "--combined-only", "12", "--min-size", "4K")
is(o.top, 3, "--top=3")
is(o.older, 500000000, "--older 500ms is ns")
is(parse("--older=33us").older, 33000, "… and a whole number, as handlers want it")
is(parse("--older", "7").older, 7e9, "a user's number without a unit is seconds")
is(o.min_size, 4096, "--min-size 4K")
is(o.combined_only, true, "a flag; - becomes _")
is(o[1] .. " " .. o[2], "5 12", "what is not an option")
is(parse("-T", "7").top, 7, "-T 7")
is(parse("-T7").top, 7, "-T7")
is(parse("--", "--top")[1], "--top", "-- ends the options")
is(parse("-5")[1], "-5", "a negative number is no option")
is(parse("--folded", "").folded, "", "an empty value")

local function refused(pattern, ...)
  local options, message, status = parse(...)
  is(options, nil, table.concat({ ... }, " ") .. " is refused")
  is(status, 2, "with status 2")
  like(message, pattern, "and a message")
end
refused("^unknown option '%-%-nothing'$", "--nothing")
refused("unknown option '%-%-tpo'; did you mean '%-%-top'%?", "--tpo", "3")
refused("unknown option '%-x'", "-x")
refused("unknown option '%-%-a\\x1b", "--a\27")
refused("'%-%-top' needs a value", "--top")
refused("'many' is not a whole number", "--top", "many")
refused("is not a duration", "--older=soon")
refused("takes no value", "--combined-only=1")
refused("^'4\\x1b' is one argument too many; the target comes after %-%-$", "5", "12", "4\27")

refused("^option '%-T' is given twice: leave one out$", "--top", "1", "-T", "2")
local lists = { "x", { "key,k", "EXPR", "string", false, "", several = true },
  { "where", "EXPR", "string", false, "", of_argument = true },
  { "level", "N", "integer", 1, "", several = true, of_argument = true } }
is(#args.parse(lists, {}).key, 0, "a list of nothing")
is(table.concat(args.parse(lists, { "-k", "a", "--key=b", "-kc" }).key, " "), "a b c", "an option that may be repeated")
is(args.parse(lists, {}).level[1], 1, "… has its default as the first")
local of = args.parse(lists, { "--where", "a", "one", "--where", "b", "--level", "2", "--level", "3", "two" })
is(("%s %s %d %s"):format(of.where, of.of[1].where, of.of[1].level[2], tostring(of.of[2].where)), "a b 3 nil",
  "options of arguments")
is(select(2, args.parse(lists, { "one", "--where", "a", "--where", "b" })),
  "option '--where' is given twice: leave one out", "… each once")
local good, twice = pcall(function() return (args.args { "x", { "blocked,b", "" }, { "by,b", "" } }) end)
ok(not good, "two options of one letter")
like(twice, "args_test.lua:%d+: args: row 2: there is another option %-b$", "… are the script's mistake")

local ranged = { "x", { "rate", "HZ", "number", 99, "", least = 1, most = 10000 },
  { "every", "TIME", "duration", "1s", "", least = "10ms", most = 6e10 } }
is(args.parse(ranged, { "--rate", "10000" }).rate, 10000, "the end of a range is in it")
is(select(2, args.parse(ranged, { "--rate", "10001" })), "option '--rate': 10001 is above the most, 10000",
  "above a range")
is(select(2, args.parse(ranged, { "--every", "1ms" })), "option '--every': 1ms is below the least, 10ms", "below it")
is(select(2, args.parse(ranged, { "--every", "61" })), "option '--every': 61 is above the most, 60000000000",
  "above it")
is(args.parse(ranged, { "--every", "60" }).every, 6e10, "the end of that range")
is(args.parse(ranged, {}).every, 1e9, "a default is ns, too")
is(args.parse(ranged, {}).rate, 99, "the default")

local _, help, status = parse("--help")
is(status, 0, "--help")
is(help, [=[
usage: uplua leak.lua [interval [count]] [-- TARGET]

  -T, --top N       print the N largest stacks (default 10)
  --older TIME      only blocks older than TIME
  --min-size BYTES  only blocks of at least BYTES
  --folded FILE     write folded stacks to FILE
  --combined-only   one line for each stack
  --help            print this and exit]=], "the help")

is(require "uplua".args, args, "up.args is the module")
local target = require "target"
local run = target.uplua [[-e 'args.fail("no %s: %d", "hour\27", 25)']]
is(run.status .. run.err, "2-e: no hour\\x1b: 25; see --help\n", "args.fail ends the script with status 2")

local message
good, message = pcall(function() return (args.args { "x", { "top", "N" , "numbr", 1, "" } }) end)
ok(not good, "a wrong row")
like(message, "args_test.lua:%d+: args: row 1 is", "a wrong row is reported at the script's line")

-- --- scripts without options ---

-- "..." in a comment or a text, and in a function of its own, is none of the script's arguments.
local PLAIN = [[
#!/usr/bin/env uplua
-- plain: what is opened ...
--
--   by whom

local up = require "uplua"
local function pass(...) return ... end
print(pass "runs ...")
]]
for _, given in ipairs { "--top 5", "word" } do
  run = target.script(PLAIN, given)
  is(run.status .. run.out, "2", "a script that looks at none is not run with " .. given)
  like(run.err, "takes no options or arguments, but '" .. given:match "%S+":gsub("%-", "%%-") .. "' was given; ", "why")
end
is(target.script(PLAIN, "").out, "runs ...\n", "it is run without")
for _, given in ipairs { "--help", "-h" } do
  run = target.script(PLAIN, given)
  is(run.status .. run.err, "0", given .. " is answered")
  like(run.out, "^usage: uplua %[options%] %S+%.lua %[%-%- PID%.%.%. | %-%- command%.%.%.%]\n\nplain: what is opened "
    .. "%.%.%.\n\n  by whom\n\nThis script takes no options or arguments; uplua's options stand before its name: "
    .. "uplua %-%-help\n$",
    given .. ": with the script's first comment")
end
like(target.script("--[==[\nlong: what? ]] \n--]==]\nprint(1)", "--help").out, "\n\nlong: what%? %]%]\n\nThis script",
  "a long comment")
run = target.shell [[printf '%s\n' '-- plain: from a pipe' 'print(1)' | ./uplua - --help >"$D/out" 2>"$D/err"]]
is(run.status .. run.err, "0", "--help of a script on standard input")
like(run.out, "^usage: uplua %[options%] %- %[%-%- .-\n\nplain: from a pipe\n\nThis script takes no options",
  "… is its comment")
run = target.shell [[echo 'print(1)' | ./uplua - --top 5 >"$D/out" 2>"$D/err"]]
is(run.status .. run.out, "2", "… which is not run with options")
like(run.err, "^uplua: %- takes no options or arguments, but '%-%-top' was given; ", "… and why")
run = target.shell [[echo 'print(args and "args", arg[1])' | ./uplua - --help >"$D/out" 2>"$D/err"]]
is(run.out .. run.err, "args\t--help\n", "… it is where it looks at them")
is(target.shell [[echo 'print(7)' | ./uplua - >"$D/out" 2>"$D/err"]].out, "7\n", "… and where there are none")
like(target.script("print(1) -- behind", "--help").out, "%]\n\nThis script takes no", "no comment")
is(target.script("print(...)", "word").out, "word\n", "one that does is")
is(target.script("print(arg[1])", "--help").out, "--help\n", "so is one that looks into arg")
target.done()
tap.done_testing()
