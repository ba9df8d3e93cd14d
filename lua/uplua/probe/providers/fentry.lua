-- fentry and fexit: functions of the kernel that call the handler themselves, at their entry and at their return.
local claims           = require "uplua.probe.claims"
local core             = require "uplua.core"
local declare          = require "uplua.probe.declare"
local handlers         = require "uplua.probe.handler"
local kernel_functions = require "uplua.probe.kernel_functions"
local option_table     = require "uplua.base.option_table"
local options          = require "uplua.options"
local without_hits     = require "uplua.probe.without_hits"

local IN_OTHERS = without_hits.in_others(without_hits.OF_FUNCTIONS)

local fentry = {}

-- The word of a handler's context that an argument is.
local function in_words(word) return 8 * word end

local function declare_function(provider, spec, given, handler)
  local kind = provider.name
  if type(spec) ~= "string" then error(kind .. ": the first argument names the kernel's function: \"vfs_read\"", 3) end
  local given, mine = declare.arguments(provider, spec, given, handler, 3)
  if spec:find "[%*%?%[%+]" then
    error(("%s %s: a function calls the handler itself, and each needs one of its own: use kprobe for patterns and " ..
           "offsets"):format(kind, spec), 3)
  end
  if not options.explain and not options.emit then
    declare.try("", 3, core.probe.check_kernel, kind .. " " .. spec, true)
  end
  local functions = declare.try(kind .. " ", 3, core.probe.resolve_kernel, spec)
  local site = functions:list()[1]
  local name = site["function"]
  local parameters = core.kernel.parameters(name)
  if not parameters then
    error(("%s %s: the kernel's types do not have this function; use kprobe"):format(kind, spec), 3)
  end
  local hit = provider.typed and kernel_functions.RETURN or kernel_functions.ENTRY
  if not claims.new(claims.taken()):sites(functions, hit) then return mine end
  declare.probe {
    provider = provider, spec = spec, handle = mine, passed_over = true,
    arguments = kernel_functions.arguments(parameters, in_words),
    result_bits = handlers.result_bits(given.typed and core.kernel.result(name)),
    places = { { ["function"] = name, inside = 0, slid = 0, text = kernel_functions.place(site) } },
    attach = function(_, program, link)
      link(declare.try(("%s %s: "):format(kind, spec), 0, core.probe.attach_trampoline, program.fd, name))
    end,
  }
  return mine
end

local function words() return in_words end

local WAYS = { { needs = { "trampoline", "btf" }, "a call from the function itself" } }

local function hits(rest, _, spec) return kernel_functions.hits(rest, spec, in_words) end

fentry.providers = {
  fentry = {
    name = "fentry", specified = true, at_return = "fexit", ways = WAYS, hits = hits,
    without_hits = IN_OTHERS,
    list = kernel_functions.lister("fentry", words, true),
  },
  fexit = {
    name = "fexit", options = { typed = option_table.boolean }, specified = true, at_return = "fexit", typed = true,
    ways = WAYS, list = kernel_functions.lister("fexit", words, true), hits = hits, without_hits = IN_OTHERS,
  },
}

-- fentry(spec, [options], handler): HANDLER runs whenever the kernel's function SPEC is entered, with its arguments by
-- name.
function fentry.fentry(spec, given, handler)
  return (declare_function(fentry.providers.fentry, spec, given, handler))
end

-- fexit(spec, [options], handler): HANDLER runs when the function returns, with its arguments and its result. Options:
-- typed, as of kretprobe.
function fentry.fexit(spec, given, handler)
  return (declare_function(fentry.providers.fexit, spec, given, handler))
end

return fentry
