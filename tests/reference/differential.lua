-- Programs run three ways over the same events, and must leave the same: interpreted by the reference, as LuaJIT runs
-- them, and in the kernel. A program is { name, source, events }: SOURCE a chunk that is given `up` and returns its
-- handlers, a list, and its objects,
-- name → object; an event { handler, words }, the number of a handler and what e.arg0 … e.arg11 are.
--
--   differential.check(programs) → for each program { verdict, details }
--     "equal"       all the same
--     "undefined"   the rules say nothing about what the program does with these events
--     "refused"     the compiler or the kernel's verifier does not take it
--     "kernel"      the kernel has left something else than the reference
--     "luajit"      LuaJIT has, though the reference saw no difference in the rules
local core = require "uplua.core"
local interpreter = require "interpreter"
local kernel = require "kernel"
local plain = require "plain"
local world = require "world"

local differential = {}

jit.off() -- what LuaJIT does is what its interpreter does

local function chunk_of(program) return assert(load(program.source, "@" .. program.name)) end

-- The event's fields, as the kernel has them.
local function fields_of(program, words)
  local fields = {
    comm = "uplua", probe = program.name, func = program.name, uid = 0LL, gid = 0LL, cpu = 0LL, time = 1LL,
    pid = world.stored(core.system.pid()), tid = world.stored(core.system.pid()),
  }
  for i = 0, 11 do fields["arg" .. i] = world.stored(words[i + 1] or 0) end
  return fields
end

-- Loads all PROGRAMS that can be loaded; returns those, and program → why not for the others.
local function load_all(programs)
  local loaded, refused = {}, {}
  local function try(list)
    for _, program in ipairs(list) do
      program.runs = {}
      for i, handler in ipairs(program.handlers) do program.runs[i] = kernel.declare(program.name, handler) end
    end
    local ok, message = pcall(kernel.load)
    if ok then
      for _, program in ipairs(list) do loaded[#loaded + 1] = program end
      return
    end
    kernel.discard()
    if #list == 1 then
      refused[list[1]] = message
      return
    end
    local rest, guilty = {}, {}
    for _, program in ipairs(list) do
      local named = message:find(program.name .. ":", 1, true)
      table.insert(named and guilty or rest, program)
    end
    for _, program in ipairs(#guilty > 0 and guilty or rest) do try { program } end
    if #guilty > 0 and #rest > 0 then try(rest) end
  end
  try(programs)
  return loaded, refused
end

local SHOWN = 12 -- of the lines in which a program's snapshots differ

-- The lines that only one of two snapshots has, the first of each.
local function difference(wanted, got, who)
  local lines, sides = {}, { { wanted, got, "reference" }, { got, wanted, who } }
  for _, side in ipairs(sides) do
    local other, shown = {}, 0
    for line in side[2]:gmatch "[^\n]+" do other[line] = true end
    for line in side[1]:gmatch "[^\n]+" do
      if not other[line] and shown < SHOWN then
        shown = shown + 1
        lines[#lines + 1] = ("%-9s  %s"):format(side[3], line)
      end
    end
  end
  return table.concat(lines, "\n")
end

local function verdict_of(program, losses)
  local reference, native = interpreter.new(), plain.new("@" .. program.name)
  local handlers, objects = chunk_of(program)(reference.up)
  local native_handlers, native_objects = chunk_of(program)(native.up)
  for _, event in ipairs(program.events) do
    local fields = fields_of(program, event[2])
    reference:handler(handlers[event[1]], fields)
    if #reference.different == 0 then native:handler(native_handlers[event[1]], fields) end
  end
  if reference.undefined then return "undefined", reference.undefined end
  for loss in pairs(losses) do -- how many events fit depends on how they are read
    if loss:find "^the ring '[^']*' is full" then return "undefined", loss end
  end
  local wanted = reference:snapshot(objects)
  local got = kernel.snapshot(program.objects, losses)
  if got ~= wanted then return "kernel", difference(wanted, got, "kernel") end
  if #reference.different > 0 then return "equal", reference.different[1] end
  got = native:snapshot(native_objects)
  if got ~= wanted then return "luajit", difference(wanted, got, "LuaJIT") end
  return "equal"
end

-- What a handler may not need more of, and what it cannot do, which a random program may happen to ask for.
local LIMITS = {
  "bytes of stack at one time", "strings cannot change places from one round of a loop to the next",
  "a record made in a loop cannot be kept",
}

-- True if RESULT says that the program has met a limit, and was told so.
function differential.is_limit(result)
  for _, limit in ipairs(LIMITS) do
    if result[1] == "refused" and result[2]:find(limit, 1, true) then return true end
  end
  return false
end

local checks = 0

function differential.check(programs)
  checks = checks + 1
  for _, program in ipairs(programs) do
    program.name = program.name:gsub("%.%d+$", "") .. "." .. checks -- the ledger's lines of each run are its own
  end
  for _, program in ipairs(programs) do program.handlers, program.objects = chunk_of(program)(kernel.up) end
  local loaded, refused = load_all(programs)
  for _, program in ipairs(loaded) do
    for _, event in ipairs(program.events) do program.runs[event[1]](event[2]) end
  end
  local losses, results = kernel.losses(), {}
  for i, program in ipairs(programs) do
    if refused[program] then
      results[i] = { "refused", refused[program] }
    else
      results[i] = { verdict_of(program, losses[program.name]) }
    end
  end
  return results
end

return differential
