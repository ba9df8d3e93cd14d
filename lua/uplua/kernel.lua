-- Probes on functions of the kernel: up.kprobe(spec, handler) and up.kretprobe(spec, handler).
local core    = require "uplua.core"
local loop    = require "uplua.loop"
local options = require "uplua.options"
local setup   = require "uplua.setup"

local kernel = {}

-- A site as --explain shows it.
local function place_of(site)
  local inside = site.inside > 0 and ("+%#x"):format(site.inside) or ""
  return ("%s%s%s"):format(site.module and site.module .. ":" or "the kernel's ", site["function"], inside)
end

local function attach_function(functions)
  return function(probe, program, link)
    local function at(kind, fd, cookie)
      local ok, result, left_out = pcall(core.probe.attach_kernel, kind, fd, cookie, functions)
      if not ok then error(("%s %s: %s"):format(probe.kind, probe.spec, result), 0) end
      link(result)
      return left_out
    end
    -- The entry half first: a return whose entry was not seen would be counted as lost.
    if program.entry_fd then at("entry of return", program.entry_fd, program.entry_cookie) end
    local left_out = at(probe.kind == "kretprobe" and "return" or "entry", program.fd, program.cookie)
    if left_out > 0 then
      loop.warn(("%s %s: the kernel permits no probe on %d of %d functions"):format(probe.kind, probe.spec, left_out, #functions:list()))
    end
  end
end

local function declare(kind, spec, given, handler)
  if type(given) == "function" and handler == nil then given, handler = {}, given end
  if type(spec) ~= "string" then error(kind .. ": the first argument names the kernel's function: \"vfs_read\"", 3) end
  setup.check(kind, spec, given, handler, 3)
  if not options.explain and not options.emit then
    local ok, message = pcall(core.probe.check_kernel, kind .. " " .. spec)
    if not ok then error(message, 3) end
  end
  local ok, functions = pcall(core.probe.resolve_kernel, spec)
  if not ok then error(kind .. " " .. functions, 3) end
  local list = functions:list()
  if kind == "kretprobe" and list[1].inside > 0 then error(("kretprobe %s: a return probe stands at a function, not inside of one"):format(spec), 3) end
  local sites = {}
  for i, site in ipairs(list) do sites[i] = { ["function"] = #list == 1 and site["function"] or spec, inside = site.inside, slid = 0, text = place_of(site) } end
  local trampoline = functions:trampoline()
  if kind == "kretprobe" and not options.explain and not options.emit and not trampoline then
    error(("kretprobe %s: the kernel hides its addresses (sysctl kernel.kptr_restrict), so that returns which it leaves out could not be counted"):format(spec), 3)
  end
  setup.declare { kind = kind, trampoline = trampoline, spec = spec, sites = sites, handler = handler, attach = attach_function(functions) }
end

-- kprobe(spec, [options], handler): HANDLER runs whenever the kernel's function SPEC is entered: "vfs_read", "ext4:ext4_sync_fs" of a
-- module, "tcp_*", "vfs_read+0x1c". Raises what is wrong with SPEC, and what this kernel lacks.
function kernel.kprobe(spec, given, handler) declare("kprobe", spec, given, handler) end

-- kretprobe(spec, [options], handler): HANDLER runs when the function returns.
function kernel.kretprobe(spec, given, handler) declare("kretprobe", spec, given, handler) end

return kernel
