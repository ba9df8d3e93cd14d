-- Equal code is one stack, in whichever process it runs: frames are places in files. Only code that no file has is its
-- process's.
local tap = require "tap"
local target = require "target"
local up = require "uplua"
local is, like, ok = tap.is, tap.like, tap.ok

local RUNS = 23

local path = target.folder() .. "-identity.lua"
local file = assert(io.open(path, "w"))
file:write [[
local up = require "uplua"
local n, ends = up.count(), up.count()
up.uprobe(arg[1], function(e) n[e:ustack()]:inc() end)
up.uprobe("libc:exit", function(e) ends[{ e.pid, e:ustack() }]:inc() end) -- in each program
local folder, answered = os.getenv "P", nil
up.every("20ms", function() -- says of the process that the script asks for whether its last stack was whole
  local file = io.open(folder .. "/asked")
  local pid = file and file:read "*n"
  if file then file:close() end
  if not pid or pid == answered then return end
  for key in ends:pairs() do
    if key[1] == pid then
      local answer = assert(io.open(folder .. "/answer", "w"))
      answer:write(pid, " ", key[2]:incomplete() and "incomplete" or "whole", "\n")
      answer:close()
      answered = pid
    end
  end
end)
up.at_exit(function()
  for s, count in n:pairs() do
    print("stack", count, s:folded(), s:text { one_line = true, modules = true })
  end
end)
]]
file:close()

-- The whole stacks at the function WHAT of the programs in $P, copies of one, that a shell SCRIPT runs: a list of
-- { count, folded, text }. It runs twice, so that all tables are there.
local function stacks(what, script)
  local run = target.shell(([[
    trap 'rm -rf "$P"' EXIT
    export D P=$D/programs UPLUA_CACHE=$D/programs/cache
    mkdir -p "$P"
    cp build/targets/chain "$P/program"
    for i in 1 2; do ./uplua --follow %s %s -- sh -c %s >"$D/out" 2>"$D/err"; done]])
    :format(path, what, target.quote(". tests/await.sh\n" .. script)))
  local list = {}
  for count, folded, text in run.out:gmatch "stack\t(%d+)\t([^\t\n]*)\t([^\n]*)" do
    if (folded .. text):find "^_start.*%(program%)$" or folded:find "^program%+" then
      list[#list + 1] = { count = tonumber(count), folded = folded, text = text }
    end
  end
  table.sort(list, function(a, b) return a.text < b.text end)
  return list, run
end

local function times(count, command) return ("for i in $(seq %d); do %s; done\n"):format(count, command) end
-- What nobody has seen before, or has changed, is known some time after a stack was taken there.
local MET = [[
  met=0
  until [ "$answer" = whole ] || [ $((met += 1)) -gt 300 ]; do
    "$P/program" saved & pid=$!
    wait $pid
    echo $pid >"$P/asked"
    await '{ read -r whose answer <"$P/answer"; } 2>"$P/none" && [ "$whose" = $pid ]'
  done
  answer=
]]
local ONE = '"$P/program" sorted'
local function sorted(script) return stacks("libc:qsort", script) end

local NAMED = "^_start;.*main;sorted;qsort$"
local one = sorted(ONE .. "; true")
is(#one, 1, "a process has a stack")
like(one[1].folded, NAMED, "which is whole")

local many, run = sorted(times(RUNS, ONE))
is(#many, 1, "23 processes, each with addresses of its own, have one stack")
is(many[1].count, RUNS, "23 times")
is(many[1].text, one[1].text, "which is that of one process")
is(run.err, "", "and nothing is missing")

many = sorted(MET .. times(RUNS, ONE) .. 'ln -f "$P/program" "$P/other"\n' .. MET .. times(RUNS, '"$P/other" sorted'))
is(#many, 1, "a file is the same by each of its names")
is(many[1].count, 2 * RUNS, "46 times")

-- The name leads to another file, or the file has other contents, while its stacks are counted.
local function replaced(how)
  local list, whole = sorted('rm -f "$P/program"; cp build/targets/chain "$P/program"\n' ..
    '{ cat build/targets/chain; echo; } >"$P/next"\n' ..
    MET .. times(RUNS, ONE) .. how .. "\n" .. MET .. times(RUNS, ONE))
  if #list ~= 2 then io.stderr:write(whole.out, whole.err) end
  is(#list == 2 and list[1].count .. " " .. list[2].count, RUNS .. " " .. RUNS, how .. ": each file has its stack")
  return list[1], list[2]
end

local first, second = replaced 'chmod +x "$P/next"; mv "$P/next" "$P/program"'
like(first.folded, NAMED, "one has names")
like(second.folded, NAMED, "and so has the other, also that which is gone")
-- Whoever has just ended may still hold it.
first, second = replaced [[await '{ cat "$P/next" >"$P/program"; } 2>"$P/none"']]
if first.folded:find "^_start" then first, second = second, first end
like(first.folded, "^program%+.*program%+0x%x+;qsort$", "of what was overwritten nobody knows names any more")
like(second.folded, NAMED, "and it is not given those of what stands there now")

-- Code that no file has is at an address of its process, also where a file in memory has it. Perf maps name both.
for kind, module in pairs { generated = "%[anon%]", in_memory = "memfd:code" } do
  many, run = stacks('"$P/program:mark"', times(RUNS, '"$P/program" ' .. kind))
  local named = 0
  for _, s in ipairs(many) do
    if s.count == 1 and s.text:find("^mark%+0x0 %(program%) < " .. module .. "%+0x%x+ < generate%+") then
      named = named + 1
    end
  end
  is(#many, RUNS, kind .. ": code that 23 processes make is not the same")
  is(named, RUNS, "and is told by where it lies")
  is(run.err, "", "nothing is missing")
end

-- Of most of so many processes nothing is known any more at the end.
local MANY = tap.fewer(2003, 211)
run = target.uplua(([[--follow -e 'n = count() uprobe("libc:_exit", function(e) n[e:ustack()]:inc() end)
  at_exit(function()
    for s, count in n:pairs() do print(count, s:incomplete(), (s:folded():find("unknown", 1, true))) end
  end)' -- sh -c 'i=0; while [ $i -lt %d ]; do ( : ); i=$((i + 1)); done']]):format(MANY))
is(run.out, ("%d\tnil\tnil\n"):format(MANY + 1), "stacks of many processes that have exited have names")
is(run.err, "", "and nothing is missing")

-- What stacks have in place of addresses is no address.
local frame = up.symbol(io.open("/proc/self/stat"):read "*n", 0x2000010000001000ULL)
is(tostring(frame), "[unknown] 0x2000010000001000", "a number that is no address has no name")

os.remove(path)
target.done()
tap.done_testing()
