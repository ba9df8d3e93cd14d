-- uplua --unwind-info: the unwind table of a file, in words.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local run = target.uplua "--unwind-info build/targets/calls"
is(run.status, 0, "a program's table is printed")
like(run.out, "\n%d[%d,]* functions, [%d,]+ rows, %d+ rules, [%d,]+ bytes; %d+ rows without a rule, " ..
  "%d+ guessed, 0 damaged\n$",
  "the counts come last")
local rows = 0
for line in run.out:gmatch "[^\n]+" do
  if line:find "^0x%x+  %S" then rows = rows + 1 end
end
is(tostring(rows), (run.out:match "functions, ([%d,]+) rows":gsub(",", "")), "with as many rows as it counts")

local address =
  target.shell [[nm build/targets/calls | sed -n 's/^\([0-9a-f]*\) T main$/0x\1/p' >"$D/out"]].out:match "%S+"
run = target.uplua("--unwind-info build/targets/calls " .. address)
like(run.out, "^0x%x+  CFA %w+%+%d+, return address %w+[ %w%-+]*, frame pointer kept\n$",
  "one address: the rule at a function's start")
if jit.arch == "x64" then
  like(run.out, "  CFA rsp%+8, return address at CFA%-8, frame pointer kept\n$",
    "where the call has pushed the return address")
end

run = target.uplua "--unwind-info build/targets/calls 1"
is(run.status, 1, "an address without code is refused")
is(run.err, "uplua: build/targets/calls has no code at 1\n", "with a reason")
run = target.uplua "--unwind-info build/targets/calls main"
is(run.err, "uplua: --unwind-info: 'main' is no address\n", "a name is no address")
run = target.uplua "--unwind-info /etc/passwd"
is(run.err, "uplua: /etc/passwd: no ELF file of this machine\n", "a text has no table")
local fifo = target.folder() .. "-fifo"
os.execute("mkfifo " .. fifo)
for _, path in ipairs { "/dev/null", "/dev/zero", "tests", fifo } do
  run = target.uplua("--unwind-info " .. path)
  is(run.status .. " " .. run.err, ("1 uplua: %s: it is not a regular file\n"):format(path),
    "what is no file is not opened: " .. path)
end
os.remove(fifo)
run = target.uplua "--unwind-info /nope"
is(run.err, "uplua: /nope: No such file or directory\n", "what is not there")
run = target.uplua "--unwind-info build/targets/calls 1 2"
is(run.status .. " " .. run.err, "1 uplua: --unwind-info: '2' is one argument too many; it takes one address\n",
  "one address")

tap.done_testing()
