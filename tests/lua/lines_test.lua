-- Probes of source lines see each time that the line runs, however optimisers have placed its code
-- (tests/targets/lines.cc, whose comments say how often).
local tap    = require "tap"
local target = require "target"

for _, build in ipairs { "gcc-O0", "gcc-O1", "gcc-O2", "clang-O0", "clang-O2" } do
  local program = "./build/targets/lines-" .. build
  local number = 0
  for text in io.lines "tests/targets/lines.cc" do
    number = number + 1
    local compiler, runs = text:match "// RUNS (%a*) ?(%d+)$"
    if runs and (compiler == "" or build:find(compiler, 1, true)) then
      local r = target.uplua(("-e %s -- %s"):format(target.quote((
        "n = count() uprobe('%s@lines.cc:%d', function(e) n:inc() end) at_exit(function() print('=' .. n:get()) end)")
        :format(program, number)), program))
      tap.is(r.out:match "=(%d+)", runs, ("%s: line %d, %s"):format(build, number, text:match "^%s*(.-)%s*//"))
      tap.is(r.err, "", "… and nothing is said")
    end
  end
end
target.done()
tap.done_testing()
