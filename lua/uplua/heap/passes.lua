-- Passes over one process's memory, until what they have found lost is proven, or no more is to be gained.
local contract = require "uplua.contract"
local estimate = require "uplua.heap.estimate"
local ffi      = require "ffi"
local text     = require "uplua.base.text"

local C = contract.C
local passes = {}

local ENOUGH = 0.01 -- blocks that may be wrong of all that are called proven
local STEP = 20e6   -- ns, for which others wait: the loop
local MOST_AT_END = 60e9 -- ns, for which a process is held at its end

local Scan = {}
Scan.__index = Scan

-- What went wrong, raised as { code, text }.
local function check(scan, code)
  if code < 0 then error({ code = code, text = ffi.string(C.scan_error(scan.native)) }, 0) end
  return code
end

-- new(source, options) → a scan. SOURCE: pid, map and layout (uplua.allocators.blocks), wanted: the address space, and
-- since: when the process has executed its program, in ns.
local function new(source, options)
  local layout = ffi.new("struct uplua_scan_layout", source.layout)
  layout.wanted, layout.since = source.wanted or 0, source.since or 0
  local native = C.scan_new(source.pid, options.share, options.most)
  if native == nil then error("heap: out of memory", 0) end
  return setmetatable({ native = ffi.gc(native, C.scan_free), map = source.map, layout = layout }, Scan)
end

-- One pass. PAUSE(ns) lets others work; nil: the process is stopped, and nothing may come between.
function Scan:pass(pause)
  check(self, C.scan_begin(self.native, self.map, self.layout))
  while check(self, C.scan_step(self.native, STEP)) == 0 do
    if pause then pause(0) end
  end
  check(self, C.scan_finish(self.native))
  self.totals = C.scan_totals(self.native)
end

-- What a pass has not seen, which nothing can be proven without; nil where it has seen all.
function Scan:unseen()
  local totals = self.totals
  if totals.watched > 0 then
    return ("%s that a userfaultfd watches are not read"):format(text.bytes(tonumber(totals.watched)))
  elseif totals.unseen > 0 then
    return ("the registers of %s are not known"):format(text.plural(tonumber(totals.unseen), "thread"))
  elseif totals.exact and totals.unread > 0 then
    return ("%s could not be read"):format(text.bytes(tonumber(totals.unread)))
  end
end

-- The exact pass; nil and the reason where the process could not be stopped for long enough.
function Scan:stop(ns)
  local done, problem = pcall(function()
    check(self, C.scan_stop(self.native, ns))
    self:pass(nil)
  end)
  C.scan_go_on(self.native)
  if done then return true end
  if type(problem) ~= "table" then error(problem, 0) end
  if problem.code == -contract.ESRCH then error(problem, 0) end
  return nil, problem.text
end

-- The exact pass over a process that HOLD (uplua.heap.hold) holds at its end.
function Scan:at_end(hold)
  C.scan_at_end(self.native, hold.native, MOST_AT_END)
  self:pass(nil)
end

-- Passes over the running process: their numbers of suspects, and how many of the last are estimated to be wrong.
function Scan:converge(options, pause)
  local counts, wrong = {}, nil
  for pass = 1, options.passes do
    if pass > 1 then pause(options.pause) end
    self:pass(pause)
    check(self, C.scan_confirm(self.native, self.map, self.layout))
    counts[pass] = tonumber(self.totals.suspects)
    wrong = estimate.wrong(counts)
    if counts[pass] == 0 or wrong and wrong < ENOUGH then break end
  end
  return counts, wrong
end

-- run(source, options, pause) → { scan, exact, passes, counts, suspects, wrong, proven, why }. WHY: nothing is proven,
-- or the process was not stopped; nil. OPTIONS: passes, stop (ns or nil), pause (ns), share, most; or hold.
function passes.run(source, options, pause)
  local scan = new(source, options)
  local result = { scan = scan, source = source, counts = {}, wrong = 0 }
  if options.hold then
    scan:at_end(options.hold)
    result.exact, result.at_end = true, true
  elseif options.stop then
    result.exact, result.why = scan:stop(options.stop)
  end
  if not result.exact then result.counts, result.wrong = scan:converge(options, pause) end
  result.exact = result.exact or false
  result.passes = result.exact and 1 or #result.counts
  result.suspects = tonumber(scan.totals.suspects)
  local unseen = scan:unseen() or options.hold and options.hold:unseen()
  result.why = unseen or result.why
  result.proven = not unseen and (result.exact or result.suspects == 0 or result.wrong ~= nil and result.wrong < ENOUGH)
  return result
end

return passes
