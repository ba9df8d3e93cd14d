-- Probes on functions of the kernel: up.kprobe, up.kretprobe, up.fentry and up.fexit.
local claims  = require "uplua.probe.claims"
local core    = require "uplua.core"
local loop    = require "uplua.base.loop"
local options = require "uplua.options"
local declare   = require "uplua.probe.declare"
local handlers  = require "uplua.probe.handler"

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
      loop.warn(("%s %s: the kernel permits no probe on %d of %d functions")
        :format(probe.kind, probe.spec, left_out, #functions:list()))
    end
  end
end

-- PARAMETERS (core.kernel) with the place of each. OFFSETS: bytes into the handler's context of the words that they are
-- passed in, from 0 on.
local function arguments_of(parameters, offsets)
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

local function in_registers()
  local offsets = core.probe.argument_offsets()
  return function(word) return offsets[word] end
end

-- What is hit where several kinds of probes stand at one function.
local HITS = { kprobe = "kernel entry", fentry = "kernel entry", kretprobe = "kernel return", fexit = "kernel return" }

local function declare_function(kind, spec, given, handler)
  if type(given) == "function" and handler == nil then given, handler = {}, given end
  if type(spec) ~= "string" then error(kind .. ": the first argument names the kernel's function: \"vfs_read\"", 3) end
  declare.check(kind, spec, given, handler, 3, { typed = kind == "kretprobe" })
  if not options.explain and not options.emit then
    local ok, message = pcall(core.probe.check_kernel, kind .. " " .. spec)
    if not ok then error(message, 3) end
  end
  local ok, functions = pcall(core.probe.resolve_kernel, spec)
  if not ok then error(kind .. " " .. functions, 3) end
  if not claims.new(claims.taken()):sites(functions, HITS[kind]) then return end
  local list = functions:list()
  if kind == "kretprobe" and list[1].inside > 0 then
    error(("kretprobe %s: a return probe stands at a function, not inside of one"):format(spec), 3)
  end
  local sites = {}
  for i, site in ipairs(list) do
    local name = #list == 1 and site["function"] or spec
    sites[i] = { ["function"] = name, inside = site.inside, slid = 0, text = place_of(site) }
  end
  local trampoline = functions:trampoline()
  if kind == "kretprobe" and not options.explain and not options.emit and not trampoline then
    error(("kretprobe %s: the kernel hides its addresses (sysctl kernel.kptr_restrict), so that returns which it " ..
           "leaves out could not be counted"):format(spec), 3)
  end
  local parameters = #list == 1 and list[1].inside == 0 and core.kernel.parameters(list[1]["function"])
  local result = given.typed and #list == 1 and core.kernel.result(list[1]["function"])
  declare.probe {
    kind = kind, spec = spec, sites = sites, handler = handler, trampoline = trampoline, passed_over = true,
    arguments = arguments_of(parameters or {}, in_registers()), result_bits = handlers.result_bits(result),
    attach = attach_function(functions),
  }
end

-- kprobe(spec, [options], handler): HANDLER runs whenever the kernel's function SPEC is entered: "vfs_read",
-- "ext4:ext4_sync_fs" of a module, "tcp_*", "vfs_read+0x1c". Raises what is wrong with SPEC, and what this kernel
-- lacks.
function kernel.kprobe(spec, given, handler) declare_function("kprobe", spec, given, handler) end

-- kretprobe(spec, [options], handler): HANDLER runs when the function returns. Options: typed = true, e.ret is cut to
-- the integer that the kernel's types say the function returns.
function kernel.kretprobe(spec, given, handler) declare_function("kretprobe", spec, given, handler) end

-- The word of a handler's context that an argument is.
local function in_words(word) return 8 * word end

local function declare_called(kind, spec, given, handler)
  if type(given) == "function" and handler == nil then given, handler = {}, given end
  if type(spec) ~= "string" then error(kind .. ": the first argument names the kernel's function: \"vfs_read\"", 3) end
  declare.check(kind, spec, given, handler, 3, { typed = kind == "fexit" })
  if spec:find "[%*%?%[%+]" then
    error(("%s %s: a function calls the handler itself, and each needs one of its own: use kprobe for patterns and " ..
           "offsets"):format(kind, spec), 3)
  end
  if not options.explain and not options.emit then
    local ok, message = pcall(core.probe.check_kernel, kind .. " " .. spec, true)
    if not ok then error(message, 3) end
  end
  local ok, functions = pcall(core.probe.resolve_kernel, spec)
  if not ok then error(kind .. " " .. functions, 3) end
  local name = functions:list()[1]["function"]
  local parameters = core.kernel.parameters(name)
  if not parameters then
    error(("%s %s: the kernel's types do not have this function; use kprobe"):format(kind, spec), 3)
  end
  local text = place_of(functions:list()[1])
  if not claims.new(claims.taken()):sites(functions, HITS[kind]) then return end
  declare.probe {
    kind = kind, spec = spec, handler = handler, passed_over = true, arguments = arguments_of(parameters, in_words),
    result_bits = handlers.result_bits(given.typed and core.kernel.result(name)),
    sites = { { ["function"] = name, inside = 0, slid = 0, text = text } },
    attach = function(probe, program, link)
      local attached, result = pcall(core.probe.attach_trampoline, program.fd, name)
      if not attached then error(("%s %s: %s"):format(probe.kind, probe.spec, result), 0) end
      link(result)
    end,
  }
end

-- fentry(spec, [options], handler): HANDLER runs whenever the kernel's function SPEC is entered, with its arguments by
-- name.
function kernel.fentry(spec, given, handler) declare_called("fentry", spec, given, handler) end

-- fexit(spec, [options], handler): HANDLER runs when the function returns, with its arguments and its result. Options:
-- typed, as of kretprobe.
function kernel.fexit(spec, given, handler) declare_called("fexit", spec, given, handler) end

-- What the one function that SPEC names returns (core.kernel.result); nil where nobody knows.
function kernel.result(spec)
  local ok, functions = pcall(core.probe.resolve_kernel, spec)
  local list = ok and functions:list() or {}
  return #list == 1 and list[1].inside == 0 and core.kernel.result(list[1]["function"]) or nil
end

-- The arguments of the one function that SPEC, of a probe of KIND, names: a list (handler.lua); nil where it is another
-- number of functions, a place inside of one, or one that the kernel's types do not have.
function kernel.arguments(kind, spec)
  local ok, functions = pcall(core.probe.resolve_kernel, spec)
  local list = ok and functions:list() or {}
  local parameters = #list == 1 and list[1].inside == 0 and core.kernel.parameters(list[1]["function"])
  return parameters and arguments_of(parameters, kind:find "^f" and in_words or in_registers()) or nil
end

return kernel
