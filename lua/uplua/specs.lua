-- What scripts ask of the specs that their users give: are functions' names enough, what does the kernel count?
--
--   local specs = require "uplua.specs"
--   if specs.ambiguous(list) then specs.name_apart(rows, list) end
local providers = require "uplua.probe.providers"

local specs = {}

-- Where the functions of SPEC are: its kind, and its binary if it has one.
local function origin_of(spec)
  local provider, rest = providers.of_spec(spec)
  return provider.of_binary and ("%s:%s"):format(provider.name, rest:match "^[^:@]*") or provider.name
end

-- ambiguous(list): true if functions of one name, e.func, may be several, since the specs of LIST are of several kinds
-- or binaries: e.probe tells them apart.
function specs.ambiguous(list)
  for _, spec in ipairs(list) do
    if origin_of(spec) ~= origin_of(list[1]) then return true end
  end
  return false
end

-- Which spec of LIST has declared the probe whose e.probe is TEXT: of a pattern of system calls or tracepoints each by
-- itself, "syscall:openat".
local function spec_of(text_of_probe, list)
  local names = {}
  for _, spec in ipairs(list) do
    local provider, rest = providers.of_spec(spec)
    if rest == text_of_probe then return spec end
    if rest:find "[*?[]" and not provider.of_binary then names[#names + 1] = provider.name end
  end
  return #names == 1 and ("%s:%s"):format(names[1], text_of_probe) or text_of_probe
end

-- name_apart(rows, list): where several of ROWS, { func = e.func, probe = e.probe, … }, have the same func and are of
-- different probes, func becomes "write (syscall:write)", by LIST, the specs that up.probe was given.
function specs.name_apart(rows, list)
  local probes = {} -- of each name; false: several
  for _, row in ipairs(rows) do
    local known = probes[row.func]
    probes[row.func] = (known == nil or known == row.probe) and row.probe
  end
  for _, row in ipairs(rows) do
    if probes[row.func] == false then row.func = ("%s (%s)"):format(row.func, spec_of(row.probe, list)) end
  end
end

-- counted(spec): the event's name where SPEC is one that up.counter counts, "page-faults" of "perf:page-faults"; nil
-- where it is another probe's, or says how often it samples, "perf:page-faults:100".
function specs.counted(spec) return require "uplua.probe.counter".event(spec) end

return specs
