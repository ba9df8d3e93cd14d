-- testrun: handlers for tests, compiled, loaded and given their maps as those of every probe, but run when the test
-- says, on words of its own.
--
--   local run, fd = testrun.handler("name", function(e) n[e.arg0]:inc() end)
--   setup.commit()
--   run { 1, -2LL, … }     e.arg0 … e.arg11; missing words are 0
--   fd()                   the descriptor of the kernel's program
--
-- The program is a raw tracepoint's (BPF_PROG_TEST_RUN); pid, comm and the memory that it reads are uplua's own.
local ffi      = require "ffi"
local contract = require "uplua.contract"
local core     = require "uplua.core"
local declare  = require "uplua.probe.declare"
local options  = require "uplua.options"

local testrun = { providers = { testrun = { name = "testrun", hidden = true } } }

-- Declares HANDLER; returns the function that runs it once it is loaded, and one that returns the program's descriptor.
-- NAME is e.probe and e.func.
function testrun.handler(name, handler)
  options.self = true
  local fd
  declare.probe {
    provider = testrun.providers.testrun, spec = name, handler = handler,
    places = { { ["function"] = name, inside = 0 } },
    attach = function(_, program) fd = program.fd end,
  }
  local words = ffi.new("int64_t[?]", contract.TEST_WORDS)
  return function(given)
    for i = 0, contract.TEST_WORDS - 1 do words[i] = given[i + 1] or 0 end
    core.probe.test_run(fd, ffi.string(words, ffi.sizeof(words)))
  end, function() return fd end
end

return testrun
