-- The same handler as the kernel runs it: compiled, loaded and run by BPF_PROG_TEST_RUN, and what it leaves in the
-- kernel's maps in the words of world.lua. All legs' snapshots can be compared as text.
local ffi = require "ffi"
local object = require "uplua.objects.object"
local record = require "uplua.objects.record"
local setup = require "uplua.probe.setup"
local test_run = require "uplua.probe.providers.testrun"
local up = require "uplua"
local world = require "world"

local kernel = { up = up }

-- What is per CPU shall be on the one where the script's own writes go. Each map and program is a descriptor.
ffi.cdef [[
int sched_setaffinity(int pid, size_t size, const uint64_t *mask);
int setrlimit(int resource, const uint64_t *limits);
]]
local RLIMIT_NOFILE = 7
ffi.C.sched_setaffinity(0, 8, ffi.new("uint64_t[1]", 1))
ffi.C.setrlimit(RLIMIT_NOFILE, ffi.new("uint64_t[2]", 65536, 65536))

kernel.load = setup.commit       -- compiles and loads what is declared, or raises why not
kernel.discard = setup.discard
kernel.declare = test_run.handler -- (name, fn) → function(words)

local CAUSES = {
  { "handler ended by an error: [^,]*", "error" }, { "handler ended: its loops ran [%d,]+ rounds", "rounds" },
  { "division by zero gave 0", "zero" }, { "remainder by zero gave 0", "zero" },
  { "unreadable memory read as nil", "unreadable" }, { "a negative size read as nil", "negative" },
  { "'[^']*' is full %([^)]*%): not inserted; give it a larger max", "full" },
  { "a key of '[^']*' was cut: keys that begin with the same text are one", "cut" },
}

-- The losses so far: name of the chunk → "cause place" → count. What names no place is any chunk's.
function kernel.losses()
  local losses = setmetatable({}, { __index = function(t, name)
    t[name] = {}
    return t[name]
  end })
  for _, loss in ipairs(setup.ledger()) do
    local text, place = loss[1]:match "^(.*), ([^,]*:%d+)$"
    local cause = loss[1]
    for _, known in ipairs(CAUSES) do
      if text and text:find("^" .. known[1] .. "$") then cause = known[2] .. " " .. place end
    end
    local of = losses[place and place:match "^(.*):" or "?"]
    of[cause] = (of[cause] or 0) + loss[2]
  end
  return losses
end

local function total(kind, value)
  if kind == "count" or kind == "sum" then return { sum = value } end
  if kind == "min" or kind == "max" then return { [kind] = value } end
  local buckets = {}
  for _, bucket in ipairs(value.buckets and value:buckets() or {}) do
    buckets[world.show_bucket(bucket.low > -math.huge and bucket.low)] = bucket.count
  end
  return { count = value.count, sum = value.sum, min = value.min, max = value.max, buckets = buckets }
end

local MAPS = { hash = true, percpu_hash = true }

-- A record of the script side as a table.
local function plain(value)
  if not record.is(value) then return value end
  local fields = {}
  for _, name in ipairs(record.names(value)) do fields[name] = plain(value[name]) end
  return fields
end

-- What an object holds, as world:snapshot has it.
local function read(o)
  local kind = rawget(o, "kind")
  local found = { kind = kind, entries = {} }
  if kind == "var" then return { kind = kind, value = o:get() } end
  if kind == "ring" then
    found.emitted = {}
    repeat
      local seen = o:poll(0, function(event) table.insert(found.emitted, world.show(plain(event))) end)
    until seen == 0
  elseif MAPS[kind] then
    for key, value in o:pairs() do
      value = plain(type(value) == "table" and value[0] or value)
      found.entries[world.show(plain(key))] = { value = value, given = value }
    end
  elseif object.state(o).key then
    found.total = world.new_total()
    for key, value in o:pairs() do found.entries[world.show(plain(key))] = { value = total(kind, value) } end
  else
    found.total = total(kind, o:get())
  end
  return found
end

-- OBJECTS: name → object; LOSSES: those of the chunk.
function kernel.snapshot(objects, losses)
  local w, found = world.new(), {}
  for called, o in pairs(objects) do found[called] = read(o) end
  w.ledger = losses
  return w:snapshot(found)
end

return kernel
