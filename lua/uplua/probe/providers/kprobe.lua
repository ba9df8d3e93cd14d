-- kprobe and kretprobe: functions of the kernel, at their entries or inside of them, and at their returns.
local claims           = require "uplua.probe.claims"
local core             = require "uplua.core"
local declare          = require "uplua.probe.declare"
local handlers         = require "uplua.probe.handler"
local kernel_functions = require "uplua.probe.kernel_functions"
local loop             = require "uplua.base.loop"
local option_table     = require "uplua.base.option_table"
local options          = require "uplua.options"
local without_hits     = require "uplua.probe.without_hits"

local IN_OTHERS = without_hits.in_others(without_hits.OF_FUNCTIONS)

local kprobe = {}

local function attach_function(functions)
  return function(probe, program, link)
    local function at(kind, fd, cookie)
      local name = ("%s %s: "):format(probe.provider.name, probe.spec)
      local result, left_out = declare.try(name, 0, core.probe.attach_kernel, kind, fd, cookie, functions)
      link(result)
      return left_out
    end
    -- The entry half first: a return whose entry was not seen would be counted as lost.
    if program.entry_fd then at("entry by event", program.entry_fd, program.entry_cookie) end
    -- A link of many has only the registers that pass arguments; the others would be what lay there before.
    local entry = program.reads_registers and "entry by event" or "entry"
    local left_out = at(probe.provider.of_return and "return" or entry, program.fd, program.cookie)
    if left_out > 0 then
      loop.warn(("%s %s: the kernel permits no probe on %d of %d functions")
        :format(probe.provider.name, probe.spec, left_out, #functions:list()))
    end
  end
end

local function in_registers()
  local offsets = core.probe.argument_offsets()
  return function(word) return offsets[word] end
end

local function declare_function(provider, spec, given, handler)
  local name = provider.name
  if type(spec) ~= "string" then error(name .. ": the first argument names the kernel's function: \"vfs_read\"", 3) end
  local given, mine = declare.arguments(provider, spec, given, handler, 3)
  if not options.explain and not options.emit then
    declare.try("", 3, core.probe.check_kernel, name .. " " .. spec)
  end
  local functions = declare.try(name .. " ", 3, core.probe.resolve_kernel, spec)
  local hit = provider.of_return and kernel_functions.RETURN or kernel_functions.ENTRY
  if not claims.new(claims.taken()):sites(functions, hit) then return mine end
  local list = functions:list()
  if provider.of_return and list[1].inside > 0 then
    error(("%s %s: a return probe stands at a function, not inside of one"):format(name, spec), 3)
  end
  local places = {}
  for i, site in ipairs(list) do
    places[i] = { ["function"] = site["function"], inside = site.inside, slid = 0, text = kernel_functions.place(site) }
  end
  local trampoline = functions:trampoline()
  if provider.of_return and not options.explain and not options.emit and not trampoline then
    error(("%s %s: the kernel hides its addresses (sysctl kernel.kptr_restrict), so that returns which it " ..
           "leaves out could not be counted"):format(name, spec), 3)
  end
  local parameters = #list == 1 and list[1].inside == 0 and core.kernel.parameters(list[1]["function"])
  local result = given.typed and #list == 1 and core.kernel.result(list[1]["function"])
  declare.probe {
    provider = provider, spec = spec, places = places, handle = mine, trampoline = trampoline, passed_over = true,
    arguments = kernel_functions.arguments(parameters or {}, in_registers()),
    result_bits = handlers.result_bits(result), attach = attach_function(functions),
  }
  return mine
end

local function hits(rest, _, spec) return kernel_functions.hits(rest, spec, in_registers()) end

kprobe.providers = {
  kprobe = {
    name = "kprobe", specified = true, at_return = "kretprobe", hits = hits, without_hits = IN_OTHERS,
    list = kernel_functions.lister("kprobe", in_registers),
    ways = {
      { needs = { "kprobe_multi" }, "one link for all functions" },
      { needs = { "kprobe" }, "a perf event for each function" },
    },
  },
  kretprobe = {
    name = "kretprobe", options = { typed = option_table.boolean }, specified = true, at_return = "kretprobe",
    of_return = "function", typed = true, list = kernel_functions.lister("kretprobe", in_registers), hits = hits,
    without_hits = IN_OTHERS,
    ways = { { needs = { "kprobe" }, "a perf event for each entry and each return, which pair in each thread" } },
  },
}

-- kprobe(spec, [options], handler): HANDLER runs whenever the kernel's function SPEC is entered: "vfs_read",
-- "ext4:ext4_sync_fs" of a module, "tcp_*", "vfs_read+0x1c". Raises what is wrong with SPEC, and what this kernel
-- lacks.
function kprobe.kprobe(spec, given, handler)
  return (declare_function(kprobe.providers.kprobe, spec, given, handler))
end

-- kretprobe(spec, [options], handler): HANDLER runs when the function returns. Options: typed = true, e.ret is cut to
-- the integer that the kernel's types say the function returns.
function kprobe.kretprobe(spec, given, handler)
  return (declare_function(kprobe.providers.kretprobe, spec, given, handler))
end

return kprobe
