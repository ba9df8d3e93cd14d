-- From inside of a PID namespace no process can be told in handlers: uplua says so instead of counting nothing.
local tap = require "tap"
local target = require "target"

local PROBLEM = "uplua runs in a PID namespace, as containers have, " ..
                "where processes have other numbers than in the kernel's handlers; "
  .. "run it outside, or in a container that shares the host's PIDs (docker run --pid=host)\n"

-- Runs uplua in a PID namespace, with OPTIONS of unshare.
local function inside(options, arguments)
  return target.shell(([[
    unshare -pf %s ./uplua %s >"$D/out" 2>"$D/err" </dev/null
    status=$?
    [ ! -e "$D/begun" ] || status=99
    exit $status]]):format(options, arguments))
end

-- Whether there can be such a namespace. With a /proc of its own it is a mount namespace, too, and none can be made in
-- a chroot.
local function possible(options)
  local try = target.shell(("unshare -pf %s true"):format(options))
  if try.status ~= 0 then tap.skip(("unshare -pf %s: %s"):format(options, try.noise)) end
  return try.status == 0
end

local function check(options)
  local run = inside(options,
    [[-e 'n = count() uprobe("./build/targets/calls:add3", function(e) n:inc() end)' -- touch "$D/begun"]])
  tap.is(run.status .. " " .. run.err, "1 uplua: cannot trace: " .. PROBLEM,
    "a command is no target there, and does not begin")
  run = inside(options, [[-e 'interval("1s", function(e) end)']])
  tap.is(run.status .. " " .. run.err, "1 uplua: cannot trace: " .. PROBLEM, "nor is the machine")
  tap.like(inside(options, "--info").out, "\n" .. PROBLEM:gsub("%p", "%%%0"), "--info tells")
  tap.is(inside(options, "--list uprobe:./build/targets/calls:add3").status, 0, "what needs no handlers works")
end

for _, options in ipairs { "--mount-proc", "" } do
  if possible(options) then check(options) end
end
target.done()
tap.done_testing()
