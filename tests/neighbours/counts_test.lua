-- Counts on five programs of Debian's, each on one run: funccount.lua with keys and sums, funclatency.lua,
-- funcslower.lua, stackcount.lua, top.lua and usdt.lua beside bpftrace, opensnoop.lua and execsnoop.lua beside strace,
-- stat.lua beside perf stat.
package.path = "tests/lua/?.lua;tests/neighbours/?.lua;" .. package.path
local tap       = require "tap"
local neighbour = require "neighbour"
local lines, quote = neighbour.lines, neighbour.quote

local PROGRAMS = { -- as bpftrace takes them: words without quotes
  { "sort", "/usr/bin/sort doc/api.md" },
  { "tar",  "/usr/bin/tar -c -f /dev/null doc/scripts" },
  { "find", "/usr/bin/find lua -name *.lua" },
  { "sed",  "/usr/bin/sed -n 1,50p doc/api.md" },
  { "mawk", "/usr/bin/mawk {n+=NF}END{print(n)} doc/api.md" },
}

-- The C library that PROGRAM runs with.
local function libc_of(program)
  return io.popen("ldd " .. program:match "^%S+"):read "*a":match "libc%.so%.6 => (%S+)"
end

local function bpftrace(program, command) return "bpftrace -e " .. quote(program) .. " -c " .. quote(command) end

local function number(digits) return tonumber((digits or "0"):gsub(",", "") .. "") end

local SLOW, BIG = "funcslower.lua", 512 -- bytes from which on a block is a large one

for _, program in ipairs(PROGRAMS) do
  local comm, command = unpack(program)
  local libc = libc_of(command)
  local where = ("--where 'e.comm == \"%s\"'"):format(comm)
  local malloc, filter = libc .. ":malloc", ('/pid == cpid && comm == "%s"/'):format(comm)

  -- Sizes of blocks, of two keys, with their sums.
  local out = neighbour.run(
    ("funccount.lua %s --key 'large=e.arg0 >= %d' --sum size=e.arg0 %s"):format(where, BIG, malloc),
    bpftrace(("uprobe:%s %s { $large = arg0 >= %d; @n[$large] = count(); @s[$large] = sum(arg0); }"):format(malloc,
      filter, BIG), command))
  local ours, theirs = {}, {}
  for _, row in ipairs(lines(out, "^(%l+) +malloc +([%d,]+) +([%d,]+)$")) do
    ours[row[1]] = { number(row[2]), number(row[3]) }
  end
  for _, row in ipairs(lines(neighbour.read "said", "^@([ns])%[(%d)%]: (%d+)$")) do
    local key = row[2] == "1" and "true" or "false"
    theirs[key] = theirs[key] or {}
    theirs[key][row[1] == "n" and 1 or 2] = tonumber(row[3])
  end
  neighbour.same(ours, theirs, comm .. ": funccount.lua counts and sums what bpftrace does")

  -- Calls that return: all of them, those from a size on, and from where they come.
  local count = bpftrace(("uprobe:%s %s { @n = count(); if (arg0 >= %d) { @large = count(); } }"):format(malloc, filter,
    BIG), command)
  for script, case in pairs {
    [("funclatency.lua %s %s"):format(where, malloc)] = { "n", "\nmalloc +([%d,]+) " },
    [("stackcount.lua %s %s"):format(where, malloc)] = { "n", "\n([%d,]+) hits? in " },
    [("top.lua -i 600 -k e.func %s %s"):format(where, malloc)] = { "n", "\nmalloc +([%d,]+) " },
    [("%s -m 0 %s -w 'e.comm == \"%s\" and e.arg0 >= %d'"):format(SLOW, malloc, comm, BIG)] = { "large" },
  } do
    out = neighbour.run(script, count, nil, script:find "^stack" ~= nil)
    local counted = case[2] and number(out:match(case[2])) or select(2, out:gsub("  malloc%(", ""))
    local said = tonumber(neighbour.read "said":match("@" .. case[1] .. ": (%d+)")) or 0
    tap.is(counted, said, ("%s: %s counts the calls that bpftrace counts"):format(comm, script:match "^%S+"))
  end

  -- Files, by path and result.
  out = neighbour.run("opensnoop.lua --where 'e.comm == \"" .. comm .. "\"'",
    'strace -f -e trace=open,openat,openat2 -o "$D/strace" ' .. command:gsub("[*{(].*[)}*]%S*", quote))
  ours, theirs = {}, {}
  for _, row in ipairs(lines(out, "^%S+ +" .. comm .. " +%d+ +(%S+) +%S+ %l+  (.*)$")) do
    local key = row[2] .. " " .. row[1]
    ours[key] = (ours[key] or 0) + 1
  end
  for _, row in ipairs(lines(neighbour.read "strace", 'openat%(.-"([^"]*)".-%) = (.*)$')) do
    local key = row[1] .. " " .. (row[2]:match "^%-1 (%u+)" or row[2]:match "^%d+")
    theirs[key] = (theirs[key] or 0) + 1
  end
  neighbour.same(ours, theirs, comm .. ": opensnoop.lua sees the files that strace sees")

  -- Page faults, which a handler counts by the program's name, and the kernel for perf stat.
  out = neighbour.run("stat.lua --by e.comm perf:page-faults,major-faults",
    'perf stat -x, -e page-faults -o "$D/perf" ' .. command:gsub("[*{(].*[)}*]%S*", quote))
  local faults, other = number(out:match("\n" .. comm .. " +([%d,]+) ")),
    tonumber(neighbour.read "perf":match "\n(%d+),[^\n]*page%-faults")
  tap.ok(faults > 23 and other and math.abs(faults - other) <= 3,
    ("%s: stat.lua counts page faults: %d, perf stat %s"):format(comm, faults, tostring(other)))
end

-- A USDT probe.
local SHOP = "./build/examples/shop"
local out = neighbour.run(("usdt.lua count '%s:shop:sold' --key odd='e.arg0 %% 2' --sum of=e.arg1"):format(SHOP),
  bpftrace(("usdt:%s:shop:sold { @n[arg0 %% 2] = count(); @s[arg0 %% 2] = sum(arg1); }"):format(SHOP), SHOP))
local ours, theirs = {}, {}
for _, row in ipairs(lines(out, "^(%d) +shop:sold +([%d,]+) +([%d,]+)$")) do
  ours[row[1]] = { number(row[2]), number(row[3]) }
end
for _, row in ipairs(lines(neighbour.read "said", "^@([ns])%[(%d)%]: (%d+)$")) do
  theirs[row[2]] = theirs[row[2]] or {}
  theirs[row[2]][row[1] == "n" and 1 or 2] = tonumber(row[3])
end
neighbour.same(ours, theirs, "usdt.lua counts and sums what bpftrace does")

-- Programs that a build starts, by their words.
out = neighbour.run("execsnoop.lua",
  'strace -f -e trace=execve -s 4096 -v -e abbrev=none -o "$D/strace" make -C "$D/tree"', neighbour.tree)
ours, theirs = {}, {}
local function add(to, key) to[key] = (to[key] or 0) + 1 end
for _, row in ipairs(lines(out, "^%S+ +%S+ +%d+ +%d* +(.*)$")) do
  local name = row[1]:match "^(%S+)"
  if name ~= "strace" and name ~= "sh" and not row[1]:find ": E%u+$" then add(ours, name) end
end
for _, row in ipairs(lines(neighbour.read "strace", 'execve%("[^"]*", %["([^"]*)".-%) = 0$')) do
  if row[1] ~= "sh" then add(theirs, row[1]) end
end
neighbour.same(ours, theirs, "execsnoop.lua sees the programs of a build that strace sees")
neighbour.done()
