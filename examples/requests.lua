-- How long do requests take that one thread queues and another answers, and what happened during the slow ones?
--   uplua requests.lua -- ./app
-- (an app with the USDT probes app:queued and app:answered, whose argument is the request)
local up   = require "uplua"
local span = require "uplua.span"
local text = require "uplua.text"

local took = up.hdr { unit = "ns" }

local requests = span.new {
  from = { "usdt:app:queued",   key = function(e) return e.arg0 end,
           keep = function(e) return { stack = e:ustack() } end },
  to   = { "usdt:app:answered", key = function(e) return e.arg0 end },
}

-- A handler: it runs in the kernel for each request that is answered.
requests:done(function(s) took[s.to.comm]:add(s.elapsed) end)

-- A callback: only the slow ones come here, with what their threads did meanwhile.
requests:slow("10ms", { window = { "tracepoint:sched:sched_switch", "syscall:*", "profile:999" } }, function(s)
  up.printf("request %d took %s, queued at\n%s\n", s.key, text.time(s.elapsed), s.from.stack)
  for _, event in ipairs(s.events) do
    up.printf("  %12s  %-15s %s\n", text.time(event.since), event.comm, event.call)
  end
end)

up.at_exit(function()
  for comm, h in took:pairs() do up.printf("%d requests answered by %s: %s\n", h.count, comm, h) end
end)
