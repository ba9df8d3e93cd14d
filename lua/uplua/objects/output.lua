-- printf and exit of handlers. The arguments of printf come through one ring for all handlers, so that the texts have
-- one order over all CPUs. The ring is a shared object that every compiler knows; it exists in the kernel once a
-- handler prints or ends the run.
local ffi      = require "ffi"
local contract = require "uplua.contract"
local object   = require "uplua.objects.object"
local pace     = require "uplua.objects.pace"
local record   = require "uplua.objects.record"
local run      = require "uplua.base.run"

local SIZE = 4 * 2 ^ 20 -- bytes

local output = {}

local own = run.part(function()
  return {
    ring = nil,  -- the object
    prints = {}, -- the view of a record in the ring → { format, count, constants, travels, unsigned, args }
    loaded = {}, -- setups whose handlers may end the run
  }
end)

-- Formats one record. What a handler calls unsigned has travelled as any other word.
local function print_record(view)
  local p = own().prints[view]
  local args = p.args
  for i = 1, p.count do
    if p.travels[i] then
      local value = view[i]
      if p.unsigned[i] and value and value < 0 then value = ffi.cast("uint64_t", ffi.cast("int64_t", value)) end
      args[i] = type(value) == "table" and record.show(value) or value -- an array
    end
  end
  io.write(require "uplua.base.text".format(p.format, unpack(args, 1, p.count)))
end

-- Ends the run if a handler has asked for it: the first did for all.
local function end_run()
  for _, setup in ipairs(own().loaded) do
    local word = setup:counters(contract.EXITED_COUNTERS)[0]
    if word ~= 0 then
      local loop = require "uplua.base.loop"
      loop.ask(word - 1)
      loop.stop "exit"
    end
  end
end

local methods = {}

function methods:bind(description)
  local base = require "uplua.objects.ring".methods
  methods.drain = base.drain
  base.bind(self, description)
  local prints, views = {}, object.state(self).views
  for tag, print in pairs(description.prints) do
    print.args = { unpack(print.constants, 1, print.count) }
    prints[views[tag]] = print
  end
  own().prints = prints
end

-- Declares the ring, before the first handlers are compiled.
function output.declare()
  local mine = own()
  if mine.ring then return end
  local state = pace.state(pace.DELAY, { fn = print_record, after = end_run, ordered = true })
  mine.ring = object.new("output", { size = SIZE }, { __index = methods }, state)
end

-- SETUP has been loaded (uplua.core's userdata).
function output.watch(setup)
  local loaded = own().loaded
  if setup:counters(contract.EXITED_COUNTERS) then loaded[#loaded + 1] = setup end
end

-- SETUP is about to go, with its handlers.
function output.forget(setup)
  local loaded = own().loaded
  for i = #loaded, 1, -1 do
    if loaded[i] == setup then table.remove(loaded, i) end
  end
end

-- Prints what is left. For the end of the run, once the probes are detached.
function output.drain()
  local ring = own().ring
  if ring and methods.drain then ring:drain() end
end

return output
