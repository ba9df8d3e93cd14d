-- A span in each thread, from one system call, getpid, to the next, getppid, and the sum of their times.
local counts   = require "uplua.span.counts"
local handlers = require "uplua.span.handlers"
local capture  = require "uplua.compile.capture"
local test_run = require "uplua.probe.providers.testrun"
local up       = require "uplua"

local GETPID = io.popen("uname -m"):read "*l" == "aarch64" and 172 or 39

local took = up.sum()
local function side(name) return { { "syscall:" .. name, name = name .. "1", options = {} } } end
local spec = { from = side "from", to = side "to", via = {}, wins = "newest" }
local kept = counts.declare(spec)
local globals = { up = up, names = kept.names, done = capture.inlined(function(s) took:add(s.elapsed) end) }
for name, object in pairs(kept) do globals[kept.names[name] or name] = object end
globals.from1_key = capture.inlined(function(e) return e.tid end)
globals.to1_key = globals.from1_key
local made = handlers.make(spec, globals)
local finish, begin = made[1].handler, made[2].handler

test_run.handler("sys_enter", function(e)
  if e.arg1 == GETPID then begin(e) else finish(e) end
end)
