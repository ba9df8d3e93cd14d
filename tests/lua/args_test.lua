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
refused("unknown option '%-%-tpo'; did you mean '%-%-top'%?", "--tpo", "3")
refused("unknown option '%-x'", "-x")
refused("unknown option '%-%-a\\x1b", "--a\27")
refused("'%-%-top' needs a value", "--top")
refused("'many' is not a whole number", "--top", "many")
refused("is not a duration", "--older=soon")
refused("takes no value", "--combined-only=1")
refused("^'4\\x1b' is one argument too many; the target comes after %-%-$", "5", "12", "4\27")

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
local run = require "target".uplua [[-e 'args.fail("no %s: %d", "hour\27", 25)']]
is(run.status .. run.err, "2-e: no hour\\x1b: 25; see --help\n", "args.fail ends the script with status 2")

local good, message = pcall(function() return (args.args { "x", { "top", "N" , "numbr", 1, "" } }) end)
like(message, "args_test.lua:%d+: args: row 1 is", "a wrong row is reported at the script's line")
tap.done_testing()
