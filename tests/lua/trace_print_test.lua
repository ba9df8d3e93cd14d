-- trace.lua --print: a format with expressions instead of the call, for all specs or for one, and --where for one; and
-- what is wrong with them.
local tap    = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local VALUES = "./build/targets/values"

-- The last columns, and lines below, that trace.lua prints with ARGUMENTS on the values, as a text; addresses as
-- ADDRESS.
local function trace(arguments)
  local run = target.uplua(("scripts/trace.lua %s -- %s"):format(arguments:gsub("@", VALUES .. ":"), VALUES))
  is(run.status, 0, "trace.lua " .. arguments)
  local lines = {}
  for line in run.out:gmatch "[^\n]+" do
    line = line:gsub("^%d%d:%d%d:%d%d%.%d+  %S+ +%d+  ?", ""):gsub("0x%x%x%x%x%x+", "ADDRESS")
    if not line:find "^Time " then lines[#lines + 1] = line end
  end
  return table.concat(lines, "\n")
end

is(trace [[@scalars --print '"%s %d %s %5.1f %x%%", e.args.mode, e.args.mode, e.comm, e.args.large, 255']],
  "WRITE 2 values 139637976731648.0 ff%\n9 9 values   5.0 ff%", "values as the format has them, an enum by its name")
is(trace [[@list -w 'e.args.node.id > 0' --print '"%s", e.args.node']],
  'ADDRESS {id=1, name="first", next=ADDRESS}\nADDRESS {id=10, name="ring", next=ADDRESS}',
  "a structure as text")
is(trace [[@list --print '"%d, %s", e.args.node.next.id, e.args.node.id < 0 and "below" or "above"']],
  "2, above\n11, above\nnil, below", "expressions with commas in quotes, and what cannot be read")
is(trace [[@scalars -w 'e.args.flag' --print '"flag"' @list -w 'e.args.node.id == 10' @give]],
  'flag\nlist(node=ADDRESS {id=10, name="ring", next=ADDRESS})\n'
  .. 'give(node=ADDRESS {id=1, name="first", next=ADDRESS})\ngive(node=NULL)', "each spec with its own")
is(trace [[-w 'e.tid == e.pid' --print '"all"' @scalars --print '"one"' @times @give]], "one\none\nall\nall\nall",
  "those before the first spec are for all")
like(trace [[@times --print '"a\nb\n%s", e:ustack()']], "^a\nb\n%s+times%+?%S*\n%s+main%+",
  "several lines, and a stack")
is(trace [[--depth 2 --print '"%s|%-3d|%3s", e.args.wait, 1, "ab"' @times]], "ADDRESS 1.000000005 s|1  | ab", "widths")
like(trace [[-r @fill --print '"%s %d", e.args.text, e.ret']], "^filled with 42 0 %(", "at returns")
like(target.uplua([[scripts/trace.lua -r --print '"%s: %s", e.comm, e.args.filename' syscall:openat -- cat /nope]]).out,
  "  cat: /nope %(", "of system calls, whose texts are read at their returns")

for _, row in ipairs {
  { [['"%s", e.comm, e.pid']], "the format wants 1 value, and there are 2 expressions" },
  { [['"%s %d"']], "the format wants 2 values, and there are 0 expressions" },
  { [['"%s %d", e.comm']], "the format wants 2 values, and there is 1 expression" },
  { [['%s, e.comm']], "a format in quotes stands first" },
  { [['']], "a format in quotes stands first" },
  { [['"%y", e.comm']], "there is no conversion '%y' in a format" },
  { [['"%s", e.comm e.pid']], "expected near" },
  { [['"%s", nobody']], "there is no 'nobody' here" },
  { [['"%d", e.ret']], "give --return" },
  { [['"%s" .. e.comm, e.comm']], "a format in quotes stands first" },
} do
  local run = target.uplua(("scripts/trace.lua %s:list --print %s -- %s"):format(VALUES, row[1], VALUES))
  like(run.err, "^uplua: %-%-print .*" .. row[2]:gsub("%p", "%%%0"), row[1] .. " is refused")
  is(run.status, 1, "… before anything runs")
end
like(target.uplua(("scripts/trace.lua %s:list %s:list -w e.arg0 -- %s"):format(VALUES, VALUES, VALUES)).err,
  "it is given twice", "a spec twice, with a condition")
like(target.uplua("scripts/trace.lua -r -K 'syscall:*' -- true").out, "  openat%(dfd=[^\n]*\n +[%w_.]+%+0x%x+\n",
  "the kernel's stacks of all system calls by one probe")
like(target.uplua("scripts/trace.lua -r -S -K 'syscall:*' -- ./build/targets/calls").out,
  "  write%(fd=[^\n]*\n +[%w_.]+%+0x%x+\n.- +exit%+0x%x+\n", "… with the program's")

-- --- as data ---

local has_json, json = pcall(require, "cjson")
if not has_json then tap.skip_rest "there is no cjson for LuaJIT here (package lua-cjson)" end
local function records(arguments)
  local run = target.uplua(("--format json scripts/trace.lua %s -- %s"):format(arguments:gsub("@", VALUES .. ":"),
    VALUES))
  is(run.status, 0, "as JSON: " .. arguments)
  local list = {}
  for line in run.out:gmatch "[^\n]+" do
    local one = json.decode(line)
    if one.type == "record" then list[#list + 1] = one end
  end
  return list
end
local short = target.uplua(("scripts/trace.lua --json %s:show -- %s"):format(VALUES, VALUES)).out
is(select(2, short:gsub('"type":"record"', "")), #records "@show", "--json is --format json")
-- The value of the argument NAME of RECORD.
local function value(record, name)
  for _, argument in ipairs(record.arguments) do
    if argument.name == name then return argument.value end
  end
end

local all = value(records("@show")[1], "all")
is(type(all.yes) .. type(all.narrow) .. type(all.text) .. type(all.numbers) .. type(all.point),
  "booleannumberstringtabletable", "values are of their types")
is(all.mode .. " " .. all.state .. " " .. all.below .. " " .. all.wide, "READ|EXECUTE WIDE -6 1094624909430", "each")
is(all.most .. " " .. all.least, "18446744073709551615 -9223372036854775808", "beyond 2^53 as digits")
is(all.point.y .. " " .. all.grid[2][3] .. " " .. all.either.bytes[1] .. " " .. all.nothing, "-2.5e+300 6 4 0",
  "in structures and lists")
is(all.text, 'a"\\\\x01', "a text, whose control characters are escaped") -- its own backslash, and the escape's
local node = value(records("--depth 2 @list")[1], "node")
is(node.name .. " " .. node.next.name .. " " .. type(node.next.next), "first second number", "to a depth")
local given = records("-r @give")
is(given[1].returned.name, "first", "what is returned")
is(given[1].ret == nil or given[1].ret > 2 ^ 32, true, "and the register")
local printed = records [[@scalars --print '"%s %d", e.args.mode, e.args.large']]
is(("%s %d %s"):format(printed[1].values[1], printed[1].values[2], printed[1].call),
  "WRITE 139637976731648 WRITE 139637976731648", "what is printed")
is(records("@bad")[1].arguments[1].text:match "%(.*", "(not readable)", "what is not there")

target.done()
tap.done_testing()
