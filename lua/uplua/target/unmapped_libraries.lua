-- Libraries that a statically linked command never maps: probes there count nothing, which the user is told when the
-- run ends. Until then it could execute a program that is linked with them, or load one itself.
local core         = require "uplua.core"
local failure      = require "uplua.base.failure"
local options      = require "uplua.options"
local run          = require "uplua.base.run"
local late_modules = require "uplua.target.late_modules"

local unmapped_libraries = {}

local own = run.part(function()
  return {
    program = nil, -- the command's, if it is statically linked; false: it is not
    entries = {},
    settled = 0,   -- of them are of setups that have succeeded
  }
end)

-- Notes that probes of KIND are set for SPECS in files that are there. With --follow others may map them.
function unmapped_libraries.expect(kind, specs)
  -- Otherwise it is not known what a process has mapped so far.
  if options.follow or not late_modules.can() or not core.target.waits() then return end
  local mine = own()
  if mine.program == nil then mine.program = core.probe.static_command() or false end
  for _, spec in ipairs(mine.program and specs or {}) do
    local library = late_modules.library(spec)
    if library then mine.entries[#mine.entries + 1] = { kind = kind, spec = spec, library = library } end
  end
end

-- What was noted is part of a setup that has succeeded …
function unmapped_libraries.keep() own().settled = #own().entries end

-- … or of one that has not.
function unmapped_libraries.discard()
  local mine = own()
  for i = #mine.entries, mine.settled + 1, -1 do mine.entries[i] = nil end
end

-- Tells of those whose library has not been mapped.
function unmapped_libraries.finish()
  local mine = own()
  for _, entry in ipairs(mine.entries) do
    if not late_modules.may_have_mapped(entry.library) then
      failure.report(("%s %s: the command never loaded %s: it is statically linked; its own functions are named by " ..
                      "its file, as in %s:main"):format(entry.kind, entry.spec, entry.library, mine.program))
    end
  end
end

return unmapped_libraries
