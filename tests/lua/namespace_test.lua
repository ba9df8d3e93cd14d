-- From inside of a PID namespace no process can be told in handlers: uplua says so instead of counting nothing.
local tap = require "tap"
local target = require "target"

local PROBLEM = "uplua runs in a PID namespace, as containers have, where processes have other numbers than in the kernel's handlers; "
  .. "run it outside, or in a container that shares the host's PIDs (docker run --pid=host)\n"

-- Runs uplua in a PID namespace, with OPTIONS of unshare. Returns its run, or nil where there can be no such namespace.
local function inside(options, arguments)
  local run = target.shell(("command -v unshare >/dev/null && unshare -pf true || exit 77\nunshare -pf %s ./uplua %s >\"$D/out\" 2>\"$D/err\" </dev/null\n"
    .. "status=$?\n[ ! -e \"$D/begun\" ] || status=99\nexit $status")
    :format(options, arguments))
  return run.status ~= 77 and run or nil
end

for _, options in ipairs { "--mount-proc", "" } do
  local run = inside(options, [[-e 'n = count() uprobe("./build/targets/calls:add3", function(e) n:inc() end)' -- touch "$D/begun"]])
  if not run then break end
  tap.is(run.status .. " " .. run.err, "1 uplua: cannot trace: " .. PROBLEM, "a command is no target there, and does not begin")
  run = inside(options, [[-e 'interval("1s", function(e) end)']])
  tap.is(run.status .. " " .. run.err, "1 uplua: cannot trace: " .. PROBLEM, "nor is the machine")
  tap.like(inside(options, "--info").out, "\n" .. PROBLEM:gsub("%p", "%%%0"), "--info tells")
  tap.is(inside(options, "--list uprobe:./build/targets/calls:add3").status, 0, "what needs no handlers works")
end
target.done()
tap.done_testing()
