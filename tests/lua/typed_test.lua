-- The typist of the manual (tests/lua/typed.lua) lets a page pass that shows what is printed, and no other: what may
-- vary, and by how much, is what the page states.
local compare = require "typed_compare"
local tap = require "tap"
local target = require "target"
local typed = require "typed"

local path = os.tmpname()

local function read(text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  return typed.read(path)
end

-- Whether the page TEXT, one block of commands behind the comment MARKS, is what is printed. `tap` says nothing of it.
local function passes(marks, text)
  local chapters = read(("## A chapter\n<!-- typed: %s -->\n```console\n%s\n```\n"):format(marks, text))
  local write, ok, good = io.stderr, tap.ok, true
  tap.ok = function(this) good = good and this return this end
  io.stderr = io.tmpfile()
  typed.chapter(path, chapters[2])
  io.stderr, tap.ok = write, ok
  return good
end

local function shows(marks, text, name) tap.ok(passes(marks, text), name) end
local function differs(marks, text, name) tap.ok(not passes(marks, text), name) end

local SAME = "sample" -- nothing varies

shows(SAME, "$ echo 3 stacks\n3 stacks", "what is printed is what the page shows")
differs(SAME, "$ echo 3 stacks\n4 stacks", "another number is another output")
differs(SAME, "$ echo 3 stacks", "output that the page does not show is one, too")
differs(SAME, "$ true\n3 stacks", "so is output that is not printed")
shows(SAME, "$ printf 'a\\nb\\nc\\n'\na\n…\nc", "… stands for lines")
differs(SAME, "$ printf 'a\\nb\\nc\\n'\na\n…\nd", "not for those behind it")
shows(SAME, "$ echo took 13.2 ms at 12:00:01 in main+0x3f\ntook 4 us at 13:07:11.5 in main+0x1",
  "durations, times and offsets vary")
differs("times vary by 3", "$ echo took 13.2 ms\ntook 4.3 ms", "but for a page that says by how much")
shows("times vary by 3", "$ echo took 13.2 ms\ntook 4500 us", "and then within that")
shows("numbers vary", "$ echo 1,204 hits\n7 hits", "numbers vary")
differs("numbers vary", "$ echo 1,204 hits\n7 misses", "but not words")
differs("numbers vary by 3", "$ echo 1,204 hits\n7 hits", "by no more than the page says")
differs('numbers vary; exact "of 2 CPUs"', "$ echo 8 hits of 3 CPUs\n7 hits of 2 CPUs", "nor where it says exactly")
shows("numbers vary; shares vary by 1.5", "$ echo 8 samples, 91.2%\n211 samples, 80.5%",
  "shares have a rule of their own")
differs("numbers vary; shares vary by 1.5", "$ echo 8 samples, 31.2%\n211 samples, 80.5%", "within which they stay")
shows("buckets vary", "$ printf '[1, 2)  3 |@@@|\\n[2, 4)  4 |@@@@|\\n'\n[4, 8)  7 |@@@@@@@|", "buckets vary")
shows("buckets vary", "$ printf '1  3 |█▌|\\n  …\\n9  4 |██|\\n'\n[4, 8)  7 |@@@@@@@|",
  "be it the ends of a long histogram")
differs("buckets vary", "$ printf '[1, 2)  3 |@@@|\\n[2, 4)  4 |@@@@|\\n'\n[4, 8)  8 |@@@@@@@|", "but not their sum")
shows("order varies", "$ printf 'a\\nb\\n'\nb\na", "the order varies")
differs("order varies", "$ printf 'a\\nb\\n'\na\na", "but not the lines")
shows("more words", "$ sleep 60 &\n[1] 4242\n$ echo 1 $! 2\n4242\n$ kill %1", "a line has more words")
differs("more words", "$ sleep 60 &\n[1] 4242\n$ echo 1 2\n4242\n$ kill %1", "but those of the page, too")
shows('varies "v%d+%.%d+"', "$ echo is v6.1\nis v5.19", "a pattern of the page's varies")
shows("names 11 12", "$ echo 7 waits for 8, and 8 for 7\n11 waits for 12, and 12 for 11", "names of threads vary")
differs("names 11 12", "$ echo 7 waits for 8, and 8 for 8\n11 waits for 12, and 12 for 11", "one for one")
differs("names 11 12", "$ echo 7 and 7\n11 and 12", "each another one")
shows(SAME, "$ sleep 60 &\n[1] 4242\n$ kill -0 4242 && echo there\nthere\n$ echo $! is no 4243\n" ..
  "4242 is no 4243\n$ kill %1", "a job's PID is the page's, in commands and output")
differs(SAME, "$ sleep 60 &\n[1] 4242\n$ echo 4242 $$\n4242 4242\n$ kill %1", "and no other PID is")
shows(SAME, "$ trap 'echo caught; exit' INT; echo ready; while :; do sleep 0.1; done\nready\n^C\ncaught", "^C is typed")
shows(SAME, "$ echo one \\\n> two\none two\n# id -u\n0", "a command of several lines, and root's")
shows(SAME, "$ cd examples\n$ ls leaky.c\nleaky.c\n$ x=5\n$ echo $x >y; cat y\n5", "the session is one")
tap.ok(not io.open "examples/y", "and leaves nothing in the source")
if target.has_terminal() then
  shows("prompt", "# ./uplua\n…\n> x = 20\n> x + 1\n21\n^D", "at the prompt")
  differs("prompt", "# ./uplua\n…\n> x = 20\n> x + 1\n22\n^D", "what it answers is compared")
end

-- --- the page ---

local function refused(text, message, name)
  local ok, why = pcall(read, text)
  tap.ok(not ok and tostring(why):find(message, 1, true), name)
end
refused("```text\n$ ls\n```\n", "that nobody types", "a command in another block is an error")
refused("<!-- typed: numbers varry -->\n", "numbers varry", "so is a mark that means nothing")
refused("```console\nls\n```\n", "begins with one", "and a block without a command")
local chapters = read("## One\n<!-- file: x.lua -->\n```lua\nprint(1)\n```\n## Two\n" ..
  "<!-- typed: not typed, it is long -->\n```console\n$ make\n```\n")
tap.is(chapters[2].steps[1].file .. chapters[2].steps[1].text, "x.luaprint(1)", "a file of the reader's")
tap.is(#chapters[3].steps .. " " .. chapters.shown, "0 1", "a block that is only shown")

-- A name of a process that was learnt holds further on.
local marks = { exact = {}, patterns = {}, names = {} }
local names = compare.lines({ "process 4242 waits" }, { "process 7 waits" }, marks, compare.names())
tap.is(names["4242"], "7", "a process's number is learnt")
tap.ok(not compare.lines({ "process 4242 waits" }, { "process 8 waits" }, marks, names), "and holds")

os.remove(path)
target.done()
tap.done_testing()
