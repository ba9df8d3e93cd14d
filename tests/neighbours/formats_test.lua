-- Reports as data beside another reader of JSON Schema: Python's jsonschema finds each line by doc/formats.schema.json.
package.path = "tests/lua/?.lua;tests/neighbours/?.lua;" .. package.path
local tap    = require "tap"
local target = require "target"

local SHOP = "./build/examples/shop"
local VALIDATE = [[
import json, sys, jsonschema
schema = json.load(open("doc/formats.schema.json"))
jsonschema.Draft202012Validator.check_schema(schema)
reader = jsonschema.Draft202012Validator(schema)
lines = 0
for line in open(sys.argv[1], encoding="utf-8"):
    for wrong in reader.iter_errors(json.loads(line)):
        print(wrong.message[:200])
    lines += 1
print(lines, "lines")
]]

for _, arguments in ipairs {
  "argdist.lua %s:deliver -k odd=e.arg1%%2 -v size:bytes=e.arg1", "funclatency.lua -H %s:sell",
  "trace.lua -r -S %s:sell",
  "stackcount.lua %s:deliver", "stat.lua --ratio deliver/sell %s:deliver %s:sell perf:page-faults",
  "syscalls.lua --errors",
  "systrace.lua", "opensnoop.lua", "execsnoop.lua -x", "funccount.lua -i 20ms %s:deliver",
  "usdt.lua count %s:shop:sold",
} do
  local run = target.shell(("./uplua --format json %s -- sh -c %s >$D/out 2>$D/err; /usr/bin/python3 - $D/out <<'END' "
    .. ">$D/target 2>&1\n%s\nEND"):format(arguments:gsub("%%s", SHOP):gsub("%%%%", "%%"),
    target.quote("exec " .. SHOP .. " >/dev/null"), VALIDATE))
  local lines = tonumber(run.target:match "^(%d+) lines\n$")
  tap.ok(lines and lines > 1, ("%s: %s"):format(arguments, run.target:sub(1, 300)))
end
target.done()
tap.done_testing()
