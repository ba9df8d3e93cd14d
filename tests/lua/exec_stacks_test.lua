-- Stacks of what a command executes: whole from the first call on, of programs that the command line names, or that an
-- earlier run has seen. Limit: 300 s
local tap = require "tap"
local target = require "target"
local command_programs = require "uplua.stack.command_programs"
local is, ok = tap.is, tap.ok

local PROGRAMS = 23

local path = target.folder() .. "-qsort.lua"
local file = assert(io.open(path, "w"))
file:write [[
local up = require "uplua"
local stacks = up.count()
up.uprobe("libc:qsort", function(e) stacks[e:ustack()]:inc() end)
up.at_exit(function()
  local lines = {}
  for s, count in stacks:pairs() do
    local line = s:text { offsets = false, one_line = " " }
    if line:find "^qsort sorted main .*_start$" then line = "whole" end
    lines[line] = (lines[line] or 0) + count
  end
  for line, count in pairs(lines) do print(count, line) end
end)
]]
file:close()

-- 23 copies of a program, which nobody has seen before, run by a script that no command line names; SCRIPT goes on.
local function run(script)
  return target.shell(([[
    trap 'rm -rf "$D/files"' EXIT
    mkdir "$D/files"
    export UPLUA_CACHE=$D/files/cache LC_ALL=C
    for i in $(seq %d); do cp build/targets/chain "$D/files/$i"; done
    trace() { ./uplua --follow %s -- "$@" >"$D/out" 2>"$D/err"; }
    ]]):format(PROGRAMS, path) .. script)
end

-- Each runs for a few milliseconds at most.
local each = run [[
  echo 'for i in "$1"/[0-9]*; do "$i" sorted; done' >"$D/files/script"
  trace sh "$D/files/script" "$D/files"
  trace sh "$D/files/script" "$D/files"]]
is(each.out, PROGRAMS .. "\twhole\n", "programs that an earlier run has seen")
is(each.err, "", "and nothing is missing")

-- Their tables are made for 20 ms at most, in which an emulated CPU makes none that is as large as libc's.
local NAMED = { [[env "$D/files/1" sorted]], [[sh -c "$D/files/1 sorted; true"]], [["$D/files/script"]] }
if os.getenv "UPLUA_FEWER" then
  NAMED = {}
  tap.skip "what a command line names has no tables in time on an emulated CPU"
end
for _, command in ipairs(NAMED) do
  local named = run([[
    printf '#!%s/files/1 sorted\n' "$D" >"$D/files/script"
    chmod +x "$D/files/script"
    UPLUA_CACHE=
    trace ]] .. command)
  is(named.out, "1\twhole\n", command .. ": a program that the command line leads to")
  is(named.err, "", "and nothing is missing")
end

-- What gcc executes no command line names, and it has no tables in time unless it is known.
local pipe = io.popen "cc -print-prog-name=cc1 2>&1"
local compiler = pipe:read "*l" or ""
pipe:close()
if compiler:find "^/" then
  local function leads_to_compiler(argv, children)
    for _, program in ipairs(command_programs.programs(argv, children)) do
      if program == compiler then return true end
    end
    return false
  end
  is(leads_to_compiler({ "sh", "-c", "cd . && make -s" }, true), true, "make leads to the compiler proper")
  is(leads_to_compiler({ "make", "-s" }, false), false, "but not where its children are not traced")
else
  tap.skip "what gcc executes: cc is none"
end

-- The same inode, another program: its stack is whole or says that it is not, by what the kernel knows of the file at
-- that moment.
local changed = run [[
  echo '"$1" sorted; sleep 0.2; cat build/targets/chain-bare-pointers >"$1"; "$1" sorted' >"$D/files/script"
  UPLUA_CACHE= trace sh "$D/files/script" "$D/files/1"]]
local total, wrong = 0, nil
for count, line in changed.out:gmatch "(%d+)\t([^\n]*)\n" do
  total = total + count
  -- The file has no names any more for what it was.
  -- libc may have no name between
  local whole = line == "whole" or line:find "^qsort 1%+%S+ 1%+%S+ %S+ __libc_start_main 1%+%S+$"
  if not whole and not line:find "%[mapping not known%]$" then wrong = line end
end
is(total, 2, "a file that is written to while it is known")
is(wrong, nil, "is not taken for what it was")

-- What is in the folder is believed only where nobody else can have written it.
local foreign = run [[
  trace "$D/files/1" sorted
  chmod 666 "$D/files/cache"/*
  before=$(stat -c %i "$D/files/cache"/* | sort)
  trace "$D/files/1" sorted
  ls "$D/files/cache" | grep -c . >"$D/target"]]
is(foreign.out, "1\twhole\n", "tables that others could have written are made anew")
ok(tonumber(foreign.target) > 0, "and kept")

-- A program takes the place of another one at the same addresses, and runs to its end while nobody can tell of it:
-- uplua is stopped.
local stacks = target.folder() .. "-getppid.lua"
file = assert(io.open(stacks, "w"))
file:write [[
local up = require "uplua"
local stacks = up.count()
up.tracepoint("syscalls:sys_enter_getppid", function(e) stacks[e:ustack()]:inc() end)
up.at_exit(function()
  for s, count in stacks:pairs() do
    print(count, (s:text { offsets = false, one_line = " " }:gsub("main .*_start$", "main … _start")))
  end
end)
]]
file:close()
local replaced = target.shell(([[
  export UPLUA_CACHE=$D/cache LC_ALL=C NEXT_PROGRAM=build/targets/same_addresses-large
  mkfifo "$D/fifo"
  run() {
    rm -f "$D/printed"
    ./uplua %s -- build/targets/same_addresses-small "$D/fifo" >"$D/printed" 2>"$D/err" & uplua=$!
    await 'target=$(head -n 1 "$D/printed" 2>/dev/null | grep .)' $uplua
    kill -STOP $uplua
    : >"$D/fifo"
    await_end $target
    kill -CONT $uplua
    wait $uplua
    tail -n +2 "$D/printed" | sort >>"$D/out"
    echo >>"$D/out"
  }
  run
  grep -c '23 × stack incomplete: a frame.s mapping was not known' "$D/err" >>"$D/out"
  run]]):format(stacks))
local SMALL, LARGE = "23\tsyscall three two one main … _start\n", "23\tsyscall drei zwei eins main … _start\n"
is(replaced.out, "23\tsyscall [mapping not known]\n" .. SMALL .. "\n1\n" .. LARGE .. SMALL .. "\n",
  "stacks of a program that takes another one's place are walked by its own tables, " ..
  "or not at all, and have its own names")
is(replaced.err, "", "and of the one that an earlier run has seen nothing is missing")

os.remove(path)
os.remove(stacks)
-- Before a command executes its program, its process is a copy of ours: that file is in no record of mappings.
local before = target.uplua [[-e 'uprobe("libc:execve", function(e) printf("%s\n", e:ustack()) end)' -- true]]
tap.like(before.out, "^%s*execve%+0x0\n%s*command_fork%+0x%x+\n", "what executes the command has a name")
ok(not before.out:find("[unknown]", 1, true), "… and so has all that is known of its stack")

target.done()
tap.done_testing()
