-- Runs a script of uplua's and the tool that people use for the same on one run of a program, and reads what the tools
-- print.
--
-- uplua traces the tool, and with --follow the program that the tool starts; both see the program from its first
-- instruction on. What the tool does itself is left out by the name of its process.
local tap    = require "tap"
local target = require "target"

local neighbour = {}

neighbour.quote = target.quote

-- Runs `./uplua --follow SCRIPT -- TOOL` after the shell command BEFORE; all are shell words, in which $D is a folder
-- for files. Returns what uplua printed, and the PID of the tool, which a shell was before. With STACKS some may be
-- incomplete, and are counted: those of a process's first moments (doc/api.md). OPTIONS of uplua's stand before the
-- script.
function neighbour.run(script, tool, before, stacks, options)
  local run = target.shell(([[
    export D
    %s
    ./uplua --follow %s scripts/%s -- sh -c %s >"$D/out" 2>"$D/err" </dev/null
  ]]):format(before or "", options or "", script,
    target.quote('echo $$ >"$D/pid"; exec ' .. tool .. ' >"$D/said" 2>"$D/complained"')))
  os.execute("rm -rf " .. target.folder() .. "/*/")
  local name = script:match "^%S+"
  local err = run.err:gsub("uplua: the [%a ]+ [ia][sr]e? in [^\n]*\n", "") -- what -o says
  local lost = stacks
    and err:gsub("  %d+ × stack incomplete: [^\n]*\n", ""):gsub("^uplua: not everything was seen:\n$", "")
    or err
  tap.is(lost, "", name .. ": uplua has lost nothing")
  tap.is(run.status, 0, name .. " beside " .. tool:match "^%S+" .. " ends well")
  return run.out, neighbour.read "pid":match "%d+"
end

-- The text of the file NAME of the last run.
function neighbour.read(name)
  local file = assert(io.open(target.folder() .. "/" .. name))
  local text = file:read "*a"
  file:close()
  return text
end

-- TEXT's lines that PATTERN matches, as lists of its captures.
function neighbour.lines(text, pattern)
  local found = {}
  for line in text:gmatch "[^\n]+" do
    local captures = { line:match(pattern) }
    if captures[1] then found[#found + 1] = captures end
  end
  return found
end

local function printed(value)
  if type(value) == "table" then return table.concat(value, " ") end
  return tostring(value)
end

-- Tables of the same keys with the same values: one check, which shows what differs. LEFT and RIGHT name them.
function neighbour.same(a, b, what, left, right)
  local wrong, keys, count = {}, {}, 0
  for key in pairs(a) do keys[key] = true end
  for key in pairs(b) do keys[key] = true end
  for key in pairs(keys) do
    count = count + 1
    local x, y = printed(a[key]), printed(b[key])
    if x ~= y then
      wrong[#wrong + 1] = ("%s: %s %s, %s %s"):format(tostring(key), left or "uplua", x, right or "the neighbour", y)
    end
  end
  table.sort(wrong)
  if count == 0 then wrong[1] = "nothing to compare" end
  tap.is(table.concat(wrong, "\n"), "", ("%s (%d compared)"):format(what, count))
  return count
end

-- Nothing in THEIRS, key → { calls, errors }, is more than in OURS, and at least half of the calls are in both: on a
-- busy machine perf trace misses the first calls of threads, and the last ones. One check, which tells how many it
-- missed.
function neighbour.covered(ours, theirs, what)
  local wrong, all, seen = {}, 0, 0
  for _, own in pairs(ours) do all = all + own[1] end
  for key, other in pairs(theirs) do
    local own = ours[key] or { 0, 0 }
    seen = seen + other[1]
    if other[1] > own[1] or other[2] > own[2] then
      wrong[#wrong + 1] = ("%s: uplua %s, the neighbour %s"):format(key, printed(own), printed(other))
    end
  end
  if seen * 2 < all or all == 0 then wrong[#wrong + 1] = "less than half was seen" end
  tap.is(table.concat(wrong, "\n"), "", ("%s: %d, and it missed %d"):format(what, all, all - seen))
end

-- True if the machine has tracefs for tools that need it; mounts it if it has not, and neighbour.done() unmounts it.
local mounted
function neighbour.tracefs()
  local function there() return os.execute "test -e /sys/kernel/tracing/events" == 0 end
  if not there() then
    mounted = os.execute "mount -t tracefs none /sys/kernel/tracing 2>/dev/null" == 0
  end
  return there()
end

function neighbour.done()
  target.done()
  if mounted then os.execute "umount /sys/kernel/tracing" end
  tap.done_testing()
end

-- A command that runs SOURCE with INTERPRETER, in words without quotes: bpftrace knows none; and the shell command that
-- makes its file.
function neighbour.program(interpreter, source)
  local path = target.folder() .. "/program"
  return interpreter .. " " .. path, ("cat >%s <<'END'\n%s\nEND"):format(path, source)
end

-- A tree of files that `make -C "$D/tree"` builds: shell that makes it.
neighbour.tree = [[
  mkdir -p "$D/tree"; for i in 1 2 3 4 5 6 7; do echo "int f$i(void) { return $i; }" >"$D/tree/f$i.c"; done
  { printf 'all: lib.a\n\tcc --version >/dev/null\nlib.a: f1.o f2.o f3.o f4.o f5.o f6.o f7.o\n'
    printf '\trm -f $@ && ar rc $@ $^\n%%.o: %%.c\n\tcc -c -o $@ $<\n'; } >"$D/tree/Makefile"
]]

return neighbour
