-- Requests to disks: from when they were asked for (queued) to when they were given to the device (issued) to when that
-- had done them.
--
--   local block = require "uplua.block"
--   local requests = block.requests(function(e, r)            a handler's part: at the end of each
--     served[{ r.disk, r.op }]:add(r.served)
--   end)
--   up.at_exit(function() io.write(requests:losses()) end)
--   block.operation(r.op)                                     in the script: "read"
--
-- R has disk and op, the operation's number; bytes and sector; pid and comm of who asked: of what was only written to
-- memory that is a thread of the kernel; waited, from queued to issued, served, from there to the end, and took, both,
-- in ns; failed, 0 or the device's status. What the target asks for counts, whoever runs when it is done.
local aggregate = require "uplua.objects.aggregate"
local capture   = require "uplua.compile.capture"
local text      = require "uplua.base.text"
local up        = require "uplua"

local block = {}
local Requests = {}
Requests.__index = Requests

local MOST = 131072 -- requests under way
-- include/linux/blk_types.h
local OPERATIONS = { [0] = "read", "write", "flush", "discard", [5] = "secure erase", [9] = "write zeroes" }
local OPERATION = 0xff

-- operation(op): the name of an operation's number.
function block.operation(op) return OPERATIONS[tonumber(op)] or ("operation %d"):format(op) end

-- requests(done): declares the probes; DONE(e, r) is a part of the handler at a request's end.
function block.requests(done)
  if type(done) ~= "function" then error("block.requests: a function is expected, not " .. text.shown(done), 2) end
  local queued = up.hash { max = MOST } -- address of a bio → who asked for it, and when
  local issued = up.hash { max = MOST } -- address of a request → the same, and when it was issued
  local merged, unseen = aggregate.keep_quiet(up.count()), aggregate.keep_quiet(up.count())
  rawset(queued, "read", true)
  rawset(issued, "read", true)

  -- The end of a bio may be unseen, and its memory be another one's, which the target has not asked for.
  up.raw_tracepoint("block_bio_queue", { all = true }, capture.inlined(function(e)
    local bio = up.u64(e.args.bio)
    if e.traced then
      queued[bio] = { at = e.time, pid = e.pid, comm = e.comm }
    elseif queued[bio] then
      queued[bio] = nil
    end
  end))

  -- A bio that is in another one's request is not issued by itself.
  for _, where in ipairs { "back", "front" } do
    up.raw_tracepoint(("block_bio_%smerge"):format(where), { all = true }, capture.inlined(function(e)
      if queued[up.u64(e.args.bio)] then merged:inc() end
    end))
  end
  up.raw_tracepoint("block_bio_complete", { all = true }, capture.inlined(function(e)
    queued[up.u64(e.args.bio)] = nil
  end))

  up.raw_tracepoint("block_rq_issue", { all = true }, capture.inlined(function(e)
    local rq = e.args.rq
    local bio = rq.bio -- nil of a flush
    local q = bio and queued[up.u64(bio)]
    if issued[up.u64(e.args.rq)] then -- its end was not seen
      unseen:inc()
      issued[up.u64(e.args.rq)] = nil
    end
    if q then
      issued[up.u64(e.args.rq)] = { at = e.time, asked = q.at, pid = q.pid, comm = q.comm, bytes = rq.__data_len }
    end
  end))
  up.raw_tracepoint("block_rq_requeue", { all = true }, capture.inlined(function(e)
    issued[up.u64(e.args.rq)] = nil
  end))

  -- A part of a request may be done before the rest.
  up.raw_tracepoint("block_rq_complete", { all = true }, capture.inlined(function(e)
    local rq = e.args.rq
    local r = issued[up.u64(e.args.rq)]
    if r and e.args.nr_bytes >= rq.__data_len then
      done(e, {
        disk = up.kstr(rq.q.disk.disk_name, 32) or "?", op = bit.band(rq.cmd_flags, OPERATION), bytes = r.bytes,
        sector = rq.__sector, pid = r.pid, comm = r.comm, waited = r.at - r.asked, served = e.time - r.at,
        took = e.time - r.asked, failed = e.args.error,
      })
      issued[up.u64(e.args.rq)] = nil
    end
  end))
  return setmetatable({ merged = merged, unseen = unseen, issued = issued }, Requests)
end

-- counts(): { merged, unseen }: further requests that the kernel has merged into others before they were issued; those
-- that were issued and not seen done.
function Requests:counts()
  return { merged = tonumber(self.merged:get()), unseen = tonumber(self.unseen:get()) + self.issued:size() }
end

-- losses(): the counts as lines for people, "" where there are none.
function Requests:losses()
  local counts, lines = self:counts(), {}
  if counts.merged > 0 then
    lines[1] = text.plural(counts.merged, "further request was", "further requests were") .. " merged into these\n"
  end
  if counts.unseen > 0 then
    lines[#lines + 1] = ("%s not seen done: still in the device, or done where the kernel runs no programs\n"):format(
      text.plural(counts.unseen, "request was", "requests were"))
  end
  return table.concat(lines)
end

return block
