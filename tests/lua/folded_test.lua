-- Folded stacks: written, read, and wrong files.
local tap    = require "tap"
local target = require "target"
local folded = require "uplua.folded"
local is, like, ok = tap.is, tap.like, tap.ok

is(folded.text { [{ "b", 2 }] = 3, a = 23, ["c;d"] = 1, ["e\27"] = 2 }, "a 23\nb;2 3\nc;d 1\ne\\x1b 2\n",
  "tuples and texts, sorted")
is(folded.text { [{ "c;d", "e" }] = 1 }, "c,d;e 1\n", "in a tuple a semicolon is no separator")

local path = os.tmpname()
local function file_of(content)
  local file = assert(io.open(path, "w"))
  file:write(content)
  file:close()
end
file_of "main;serve 101\nmain;a b 23\n\nmain;serve 2\n"
local read = folded.read(path)
is(read["main;serve"], 103, "equal lines are one")
is(read["main;a b"], 23, "names with spaces")
is(folded.text(read), "main;a b 23\nmain;serve 103\n", "what was read is written as it was")
file_of "main;serve 101\nmain;serve\n"
local good, message = pcall(folded.read, path)
like(message, "folded: " .. path .. ":2: no number ends the line", "a wrong line")
os.remove(path)
good, message = folded.read(path)
ok(good == nil, "no file: nothing")
like(message, "cannot read .*: No such file", "… and why")
good, message = pcall(folded.write, "/nope/x", {})
like(message, "folded: cannot write .*: No such file", "no folder")

local run = target.shell [[
  ./uplua -e 'n = count()
    uprobe("./build/examples/shop:deliver", function(e)
      if e.arg1 < 2 then n[{ e.comm, e.arg1, e:kstack(), e:ustack() }]:inc() end end)
    at_exit(function() require "uplua.folded".write(os.getenv "D" .. "/out", n)
      end)' -- ./build/examples/shop >"$D/target" 2>"$D/err"
]]
is(run.err, "", "a program's stacks")
local sum = 0
for line in run.out:gmatch "[^\n]+" do
  like(line, "^shop;[01];_start;[^ ]*;main;deliver[^ ]* %d+$", "texts first, the outermost function next")
  sum = sum + line:match "%d+$"
end
is(sum, 86 + 64, "all hits")
target.done()

tap.done_testing()
