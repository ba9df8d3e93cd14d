-- --key and --sum of the scripts, several of each, with names and units; --where of single specs; columns never have
-- one name; percentiles and histograms of values.
-- Runs once: the ways to set probes make no difference to what is printed.
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local SHOP = "./build/examples/shop"
local DELIVER, SELL = SHOP .. ":deliver", SHOP .. ":sell"

local function on_shop(arguments)
  local run = target.uplua(("%s -- %s"):format(arguments, SHOP))
  is(run.err, "", arguments)
  return (run.out:gsub("101 orders, income 355.01, receipts %x+\n", ""))
end

-- --- columns ---

local KEYS = ("--key 'stops=e.arg1' -k 'many=e.arg1 > 1' --sum 'n:bytes=e.arg1' -s 'e.arg1 * 2' %s"):format(DELIVER)
is(on_shop("funccount.lua " .. KEYS), [[
stops  many   Function  Calls     n  e.arg1 * 2
0      false  deliver      86   0 B           0
1      false  deliver      64  64 B         128
2      true   deliver      42  84 B         168
3      true   deliver      21  63 B         126
]],
  "keys and sums, with names, a unit, and without")
is(on_shop("--format csv funccount.lua " .. KEYS),
  "stops,many,func,calls,n,e.arg1 * 2\n0,false,deliver,86,0,0\n1,false,deliver,64,64,128\n"
  .. "2,true,deliver,42,84,168\n3,true,deliver,21,63,126\n", "… as data")
like(on_shop(("funccount.lua --by process --key 'e.arg1 %% 2' %s %s"):format(DELIVER, SELL)),
  "^Process +PID  e.arg1 %% 2  Function  Calls\nshop +%d+  0 +deliver +128\nshop +%d+  1 +deliver +85\n"
  .. "shop +%d+  0 +sell +53\nshop +%d+  1 +sell +48\n$", "by process, and by key")
like(on_shop("funccount.lua -k e.comm -s one=1 libc:write syscall:write"),
  "\nshop +write %(libc:write%) +1 +1\nshop +write %(syscall:write%) +1 +1\n$", "of two functions of one name")
like(on_shop("top.lua -i 60 -k e.arg1 -b e.comm -s 'stops=e.arg1' -s 'e.arg1 * 2' " .. DELIVER),
  "\ne.comm  e.arg1  Hits  Per second  stops  e.arg1 %* 2\nshop    2 +42 +[%d,]+ +84 +168\nshop    1 +64 ",
  "top, sorted by the first sum")
like(on_shop("top.lua -i 60 -S " .. DELIVER), "\nProcess +PID  Hits  Per second\nshop +%d+ +213 ", "… by process")
-- What deliver's calls of itself cost is said above the table, unless something else took longer.
like(on_shop("funclatency.lua -k 'e.arg1 % 2' -s 'got=e.ret' " .. DELIVER),
  "%f[^\n%z]Function  e.arg1 %% 2  Calls .* Total[ ±]+got\n.*deliver +[01] +%d+ ", "funclatency")
like(on_shop "syscalls.lua -k 'e.ret < 0' -s 'bytes:bytes=e.ret' -w 'e.ret > -3'",
  "^e.ret < 0  System call +Calls  Errors +p50 +p90 +p99 +p99.9 +Longest +Total +bytes\n"
  .. ".*\ntrue +access +1 +1 .* %-2 B\n",
  "syscalls")
like(on_shop(("usdt.lua count '%s:shop:*' -k 'e.comm' --sum one=1"):format(SHOP)),
  "^e.comm  Probe +Hits  one\nshop +shop:sold +86 +86\n$", "usdt")
like(on_shop("stackcount.lua --key 'stops=e.arg1' --top 1 " .. DELIVER),
  "\n     stops 0\n +22\n\n213 hits in 10 stacks", "stackcount")
like(on_shop("stackcount.lua --sum n:bytes=e.arg1 --sum 'e.arg1 * 2' --key 'stops=e.arg1' --top 1 " .. DELIVER),
  "\n     stops 0\n +22  n 0 B, e.arg1 %* 2 0\n\n213 hits in 10 stacks", "… with sums")
like(on_shop("stackcount.lua --functions --sum n:bytes=e.arg1 --sum 'e.arg1 * 2' " .. DELIVER),
  "\n 213 +100.0 %% .* 211 B +422  deliver ", "… of functions")
like(target.uplua(("--format csv stackcount.lua --sum n=e.arg1 %s -- %s"):format(DELIVER, SHOP)).out,
  "number,label,stack,n\n%d+,,[^\n]*,%d+\n", "… as data")
like(on_shop("stackcount.lua -i 60 --sum n=e.arg1 " .. DELIVER), "\nHits +Share +n +Stack\n", "… of intervals")
like(target.uplua "offcputime.lua --functions --blocked --sum n=2 --sum 'nothing=e.cpu - e.cpu' -- sleep 0.05".out,
  "Times +n +nothing +Function +File\n[^\n]* +1 +2 +0 +hrtimer_nanosleep ", "offcputime")
local waits, n = target.uplua "--format csv runqlat.lua -k e.comm -s n=1 -s 'nothing=e.cpu - e.cpu' -- sleep 0.05".out
  :match "\nsleep,(%d+),[^\n]*,(%d+),0%f[,\n]"
ok(waits and waits == n, "runqlat: a sum for each wait")
like(on_shop("funccount.lua -i 60 -S " .. DELIVER), "\nFunction  Calls\ndeliver +213\n", "funccount with stacks")
like(on_shop "opensnoop.lua -k 'uid=e.uid' -b thread -w 'e.ret > 0'",
  "^Time +Process +PID +TID  uid +Descriptor +Took  Path\n%S+  shop +%d+ +%d+  0 +3 .*/etc/ld.so.cache\n", "opensnoop")
like(on_shop "opensnoop.lua --by process -w 'e.ret > 0'", "^Time +Process +PID +Descriptor +Took  Path\n",
  "… which has the process already")
like(on_shop "execsnoop.lua -x -k uid=e.uid -b cpu",
  "^Time +Process +PID +Parent CPU  uid +Command\n%S+  shop +%d+ +%d+ +%d+  0 +./build/examples/shop\n"
  .. "%S+  shop +%d+ +%d+  0 +ended with status 0 ", "execsnoop")
like(on_shop "runqlat.lua -b cpu -k e.comm", "^CPU  e.comm  Times +p50 ", "runqlat")
on_shop "offcputime.lua --blocked --key e.uid"

-- Sums of all intervals together: none is lost between two reports.
local CSV = "--format csv funccount.lua -i 10ms -k e.arg1 -s n=e.arg1 %s -- %s"
local out = target.uplua(CSV:format(DELIVER, SHOP)).out
local calls, sum = 0, 0
for n, s in out:gmatch "\n%d+,deliver,(%d+),(%d+)" do calls, sum = calls + n, sum + s end
is(calls .. " " .. sum, "213 211", "sums of intervals")

-- --- conditions ---

is(on_shop(("funccount.lua %s -w 'e.arg1 == 22' %s -w 'e.arg1 == 2'"):format(SELL, DELIVER)),
  "Function  Calls\ndeliver      42\nsell          4\n", "--where of each spec")
is(on_shop(("funccount.lua -w 'e.arg1 > 1' %s %s -w 'e.arg1 < 3'"):format(SELL, DELIVER)),
  "Function  Calls\nsell         91\ndeliver      42\n", "… and of all")
is(on_shop(("funccount.lua '%s:[ds]el*' -w 'e.arg1 == 2' %s"):format(SHOP, SELL)),
  "Function  Calls\ndeliver      42\nsell          5\n", "a place that several specs name is of the first one")
like(on_shop(("funclatency.lua %s -w 'e.ret == 1'"):format(DELIVER)), "\ndeliver +%d+ ", "funclatency")
like(on_shop(("top.lua -i 60 -k e.func -r %s -w 'e.arg1 == 3'"):format(DELIVER)), "\ndeliver +21 ", "top")
local slower = on_shop(("funcslower.lua -m 0 %s -w 'e.arg1 == 22' %s -w 'e.arg1 == 7'"):format(SELL, DELIVER))
is(select(2, slower:gsub("  sell%(", "")) .. select(2, slower:gsub("  deliver%(", "")), "40", "funcslower")
slower = on_shop(("funcslower.lua -m 0 -k odd=e.arg1%%2 -b process %s -w 'e.arg1 == 21'"):format(SELL))
like(slower, "^Time +Process +TID +PID  odd +Took  Call\n"
  .. "%S+  shop +%d+ +%d+  1 +<? ?%S+ %l*s  sell%(order=0x%x+, customer=21, ",
  "… with columns")
is(select(2, slower:gsub("  sell%(", "")), 4, "… of each call")
like(on_shop(("usdt.lua trace '%s:shop:*' -k odd=e.arg0%%2 -b cpu -w 'e.arg0 == 1101'"):format(SHOP)),
  "^Time +Process +TID +CPU  odd +Hit\n", "usdt trace")
like(on_shop(("stackcount.lua %s -w 'e.arg1 == 22' %s -w 'e.arg1 == 2'"):format(SELL, DELIVER)),
  "\n46 hits in 3 stacks",
  "stackcount")

-- --- values ---

out = on_shop(("argdist.lua -v 'size:bytes=e.arg1' -k odd=e.arg1%%2 %s"):format(DELIVER))
like(out, "^odd  Hits  p50  p95  p99  p99.9  Largest\n0     128  0 B  2 B  2 B    2 B      2 B\n"
  .. "1      85  1 B  3 B  3 B    3 B      3 B\n", "percentiles of values, in bytes")
like(out, "\nodd 0\n +0  86  |@+|\n +1 B   0 .*\n  %[2 B, 4 B%)  42 .*\n  count 128, avg 1 B, min 0 B, max 2 B\n",
  "… and histograms")
like(on_shop(("argdist.lua -r -v e.elapsed %s"):format(SELL)), "^Hits +p50 .*\n +101 +%d.* %l?s\n\n", "times")
like(on_shop(("argdist.lua -v n:number=e.arg1 %s"):format(DELIVER)),
  "^Hits  p50 .*\n +213    1    3    3      3        3\n",
  "numbers")

-- --- what is refused ---

for arguments, message in pairs {
  ["argdist.lua -k e.comm --by e.comm " .. SELL] =
    "^uplua: %-%-key: there is another column of the name 'e.comm'; name this one: %-%-key NAME=EXPR\n$",
  ["funccount.lua -k Function=e.comm " .. SELL] = "^uplua: %-%-key: there is another column of the name 'Function'",
  ["funccount.lua -s calls=e.arg1 " .. SELL] = "^uplua: %-%-sum: there is another column of the name 'calls'",
  ["funccount.lua -s e.arg1 -s e.arg1 " .. SELL] = "^uplua: %-%-sum: there is another column of the name 'e.arg1'",
  ["funccount.lua -s 'a:seconds=e.arg1' " .. SELL] =
    "^funccount.lua: %-%-sum a:seconds=e.arg1: there is no unit 'seconds'; units are bytes, count, ns, number; see ",
  ["funccount.lua -s e.comm " .. SELL] = "^uplua: %-%-sum 'e.comm': ",
  ["stackcount.lua --sum self=e.arg1 " .. SELL] =
    "^stackcount.lua: %-%-sum: the report has a field 'self' itself; name this one: %-%-sum NAME=EXPR; see ",
  ["funccount.lua -S " .. SELL] = "^funccount.lua: %-%-stacks: the stacks are behind the rows of a table that lives; ",
  ["funccount.lua -k nope " .. SELL] = "^uplua: %-%-key 'nope': there is no 'nope' here",
  ["funccount.lua -n 2 --top 3 " .. SELL] = "^funccount.lua: option '%-%-top' is given twice: leave one out; see ",
  [("funccount.lua %s -w 'e.arg1 == 1' %s"):format(SELL, SELL)] =
    "^uplua: %S+:sell: it is given twice, of which one has",
  [("funccount.lua %s -w 'e.arg1 == 1' -w 'e.arg1 == 2'"):format(SELL)] =
    "^funccount.lua: option '%-w' is given twice",
  ["funcslower.lua -k e.pid 'syscall:*'"] =
    "^uplua: syscall:%*: the returns of all system calls by one probe have no keys; name the calls\n$",
  ["top.lua -k e.ret " .. SELL] = "^uplua: %-%-key 'e.ret': .*%-%-return",
  ["funccount.lua -k a=1 -k b=1 -k c=1 -k d=1 -k e=1 -k f=1 -k g=1 -k h=1 -k i=1 " .. SELL] =
    "^funccount.lua: %-%-key: it is given too often; 8 columns are the most",
} do
  local run = target.uplua(("%s -- %s"):format(arguments, SHOP))
  like(run.err, message, arguments)
  ok(run.status ~= 0, "… with a status that says so")
end
-- --where of the scripts that look at the scheduler: of the event at the switch away.
local SLEEP = " -- sleep 0.05"
for where, waits in pairs { ["e.comm == 'sleep'"] = "1 stack", ["e.comm ~= 'sleep'"] = "0 stacks",
  ["e.args.prev.prio < 100"] = "0 stacks" } do
  like(target.uplua(('offcputime.lua --min 40ms --where "%s"'):format(where) .. SLEEP).out,
    " off the CPU in " .. waits .. "\n", "offcputime --where " .. where)
  local times = target.uplua(('--format csv runqlat.lua -p --where "%s"'):format(where) .. SLEEP).out
  tap.is(times:find("\nsleep,%d+,") ~= nil, waits == "1 stack", "runqlat --where " .. where)
end
like(target.uplua([[--follow execsnoop.lua -x -w 'e.comm == "true"' -- sh -c '/bin/true; /bin/echo >&2; /nope']]).out,
  "\n%S+  true +%d+ +%d+  /bin/true\n%S+  true +%d+ +ended with status 0 after [^\n]*\n$",
  "execsnoop --where: the program and its end, and no other's")
like(target.uplua("runqlat.lua --where 'e.args.none > 1' -- true").err, "^uplua: %-%-where 'e.args.none > 1': ",
  "a condition that cannot be asked is refused")

target.done()
tap.done_testing()
