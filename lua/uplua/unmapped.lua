-- Libraries that a statically linked command never maps: probes there count nothing, which the user is told when the run ends. Until then it
-- could execute a program that is linked with them, or load one itself.
local core    = require "uplua.core"
local failure = require "uplua.failure"
local loop    = require "uplua.loop"
local options = require "uplua.options"
local waiting = require "uplua.waiting"
local who     = require "uplua.who"

local unmapped = {}

local program  -- the command's, if it is statically linked; false: it is not
local arrivals -- the records of what is mapped
local mapped, entries = {}, {}

local function update()
  for _, one in ipairs(arrivals:take()) do mapped[one.name] = mapped[one.name] or who.traces(one.pid) end
end

-- Without --follow the command is one process, and what that maps is on record when it has ended.
local function begin()
  program = not options.follow and not options.explain and not options.emit and core.probe.static_command() or false
  if not program then return end
  local ok, opened = pcall(core.arrival.open)
  if not ok then
    program = false
    return
  end
  arrivals = opened
  loop.watch(arrivals:fd(), update)
end

-- Notes that probes of KIND are set for SPECS in files that are there.
function unmapped.expect(kind, specs)
  if not core.target.waits() then return end -- what it has mapped so far is not known
  if program == nil then begin() end
  for _, spec in ipairs(program and specs or {}) do
    local library = waiting.library(spec)
    if library then
      arrivals:want(library)
      entries[#entries + 1] = { kind = kind, spec = spec, library = library }
    end
  end
end

-- Tells of those whose library has not been mapped.
function unmapped.finish()
  if not arrivals then return end
  update()
  for _, entry in ipairs(entries) do
    if not mapped[entry.library] then
      failure.report(("%s %s: the command never loaded %s: it is statically linked; its own functions are named by its file, as in %s:main"):format(
        entry.kind, entry.spec, entry.library, program))
    end
  end
end

return unmapped
