-- What the providers of the kernel's functions share: sites and arguments.
local argument_types = require "uplua.probe.argument_types"
local core           = require "uplua.core"

local kernel_functions = {}

-- What a claim (uplua.probe.claims) says is hit where several kinds of probes stand at one function.
kernel_functions.ENTRY, kernel_functions.RETURN = "kernel entry", "kernel return"

-- A site as --explain shows it.
function kernel_functions.place(site)
  local inside = site.inside > 0 and ("+%#x"):format(site.inside) or ""
  return ("%s%s%s"):format(site.module and site.module .. ":" or "the kernel's ", site["function"], inside)
end

-- PARAMETERS (core.kernel) with the place of each. OFFSETS: bytes into the handler's context of the words that they are
-- passed in, from 0 on.
function kernel_functions.arguments(parameters, offsets)
  local word = 0
  for _, argument in ipairs(parameters) do
    argument.offset = offsets(word)
    -- Characters and void may lie in the program's memory as well as the kernel's: only who reads them knows, up.str or
    -- up.kstr.
    if argument.kind == "pointer" and (argument.type:find "char %*$" or argument.type:find "void %*$") then
      argument.kind, argument.btf, argument.kernel = "integer", nil, nil
    end
    if argument.place ~= "nowhere" and argument.offset then
      argument.place = "context"
    elseif argument.place ~= "nowhere" then
      argument.place, argument.type = "nowhere", "it is not passed in a register"
    end
    -- The calling conventions pass structures of up to two words as these, larger ones in memory.
    local words = math.max(1, math.ceil((argument.size or 8) / 8))
    word = word + (words > 2 and 0 or words)
  end
  return parameters
end

-- The name of the one function that SPEC names; nil where it is another number of functions, or a place inside of one.
local function single(spec)
  local ok, functions = pcall(core.probe.resolve_kernel, spec)
  local list = ok and functions:list() or {}
  return #list == 1 and list[1].inside == 0 and list[1]["function"] or nil
end

-- The hits of a trace (uplua.probe.providers): the arguments, at OFFSETS, and the result of the one function that REST
-- names, where the kernel's types have it.
function kernel_functions.hits(rest, spec, offsets)
  local name = single(rest)
  local parameters = name and core.kernel.parameters(name)
  if not parameters then return { { probe = spec } } end
  return { {
    probe = spec, parameters = kernel_functions.arguments(parameters, offsets),
    result = core.kernel.result(name) or { place = "nowhere", type = "void" },
  } }
end

-- The entry of --list for the function NAME as SPEC: with DETAILS its parameters, at OFFSETS, and what it returns,
-- where the kernel's types have them.
local function entry_of(spec, name, details, offsets)
  local parameters = details and core.kernel.parameters(name)
  local result = parameters and core.kernel.result(name)
  return {
    probe = spec, result = result and result.type or nil,
    arguments = parameters and argument_types.list(kernel_functions.arguments(parameters, offsets)) or nil,
  }
end

-- Makes list(rest, details) (uplua.probe.providers) of KIND: functions that match, each once, though it may be in
-- several places. OFFSETS(): as of arguments(), of a function. WITH_TYPES: only those that the kernel's types have.
function kernel_functions.lister(kind, offsets, with_types)
  return function(rest, details, wrong)
    if rest == "" then wrong("%s needs functions, as in '%s:vfs_*'", kind, kind) end
    local entries, seen, typed = {}, {}, with_types and core.kernel.functions ""
    local places = details and offsets()
    for _, site in ipairs(core.probe.resolve_kernel(rest):list()) do
      local name = site["function"]
      local spec = ("%s:%s%s"):format(kind, site.module and not with_types and site.module .. ":" or "", name)
      if not seen[spec] and (not typed or typed[name]) then
        entries[#entries + 1] = entry_of(spec, name, details, places)
      end
      seen[spec] = true
    end
    return entries
  end
end

return kernel_functions
