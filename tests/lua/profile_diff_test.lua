-- profile.lua --diff, and stacks.changes: what differs by function between two runs.
local folded = require "uplua.folded"
local stacks = require "uplua.stacks"
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

-- By hand: recursion counts once, processes and CPUs are no functions, sums differ.
local function changes(before, now)
  local list = {}
  for i, one in ipairs(stacks.changes(before, now)) do
    list[i] = ("%s %g>%g %g/%g>%g %g"):format(one.name, one.before, one.now, one.change, one.total_before,
      one.total_now, one.total_change)
  end
  return table.concat(list, "\n")
end
is(changes({ ["shop (pid 7);main;f;f"] = 2, ["shop (pid 7);main"] = 2 }, { ["shop (pid 8);main;f"] = 40 }),
  "f 50>100 50/50>100 50\nmain 50>0 -50/100>100 0", "shares of different sums, a function that calls itself")
is(changes({ ["CPU 1;main"] = 1 }, { ["CPU 0;main"] = 3 }), "main 100>100 0/100>100 0", "CPUs")
is(changes({}, { main = 3 }), "main 0>100 100/0>100 100", "nothing before")
is(changes({ main = 3 }, {}), "main 100>0 -100/100>0 -100", "nothing now")
is(changes({}, {}), "", "nothing at all")
is(pcall(stacks.changes, {}), false, "one table alone")

-- Functions are the same of rows that are merged and of those that are not.
local run = target.uplua(([[-e 'local n, stacks = count(), require "uplua.stacks"
  profile(%d, function(e) n[{ e.comm, e:stack() }]:inc() end)
  at_exit(function()
    local function shown(apart)
      local rows, sum = stacks.rows(n, nil, apart)
      local list = { tostring(sum) }
      for _, f in ipairs(stacks.functions(rows)) do
        list[#list + 1] = ("%%s %%s %%d %%d"):format(f.label, f.name, f.self, f.total)
      end
      return table.concat(list, "\n")
    end
    print(shown(true) == shown(false), #shown(true) > 23)
  end)' -- ./build/targets/busy kernel 0.5]]):format(target.hertz(997)))
is(run.out:match "%a+\t%a+", "true\ttrue", "functions, of rows that stay apart, too")

local path = target.folder() .. "-before.folded"
local svg = target.folder() .. "-changes.svg"
local hertz = target.hertz(499)
run = target.uplua(("profile.lua -F %d -n 1 -o %s -- ./build/targets/busy user 0.5"):format(hertz, path))
local _, sum = 0, 0
for _, n in pairs(folded.read(path)) do sum = sum + n end
is(run.out:match "\n([%d,]+) samples? in":gsub(",", "") + 0, sum, "the folded stacks have all samples of the report")
run = target.uplua(("profile.lua -F %d -n 3 --diff %s -o %s -- ./build/targets/busy kernel 0.5")
  :format(hertz, path, svg))
like(run.out, "\nSelf before  Self now +Change  Total before  Total now  Function\n", "a table")
-- All samples of the first run may be of one function: 100.0 %.
local before, now, change = run.out:match "\n +([%d.]+) %% +([%d.]+) %% +(%-[%d.]+) %% +[%d.]+ %% +[%d.]+ %%  compute\n"
ok(before and before + 0 >= 40 and now + 0 < 40 and change + 0 <= -40, "what the second run does no more")
like(run.out, "\n%d+ samples in %d+ functions of both runs; before is %S+; about [^\n]+ of CPU time in [^\n]+\n",
  "of how many")
like(target.read(svg), "before %d+", "and the flame graph of both")
is(select(2, run.out:gsub("\n[^\n]+%% +%-?[%d.]+ %% +%-?[%d.]+ %% +[%d.]+ %% +[%d.]+ %%  ", "")), 3, "--top")
run = target.uplua(("--format json profile.lua -F %d --diff %s -- ./build/targets/busy user 0.2"):format(hertz, path))
like(run.out, '"field":"change"', "as data")
os.remove(path)
os.remove(svg)

for arguments, want in pairs {
  ["--diff /nope"] = "^profile.lua: %-%-diff: cannot read /nope: No such file or directory; see",
  ["--diff /etc/passwd"] = "^profile.lua: %-%-diff: /etc/passwd:1: no number ends the line; see",
  ["--diff /dev/null --lines"] = "^profile.lua: %-%-diff is a table of functions; leave out ",
  ["--diff /dev/null --before /dev/null --flame /dev/null"] = "^profile.lua: %-%-diff and %-%-before: choose one; see",
} do
  run = target.uplua(("profile.lua %s -- true"):format(arguments))
  like(run.err, want, arguments)
  is(run.status, 2, "… is refused")
end
target.done()
tap.done_testing()
