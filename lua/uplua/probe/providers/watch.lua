-- watch: a handler runs when a place in the target's memory, or in the kernel's, is read, written or executed.
local ffi          = require "ffi"
local core         = require "uplua.core"
local declare      = require "uplua.probe.declare"
local int64_bytes  = require "uplua.base.int64_bytes"
local option_table = require "uplua.base.option_table"
local options      = require "uplua.options"
local text         = require "uplua.base.text"
local watch_trial  = require "uplua.probe.watch_trial"

local watch = {}

local SIZES = { [1] = true, [2] = true, [4] = true, [8] = true }
local ACCESSES = { w = "writes", rw = "reads and writes", x = "executions" }
local OPTIONS = {
  "access",
  access = option_table.check('"w", "rw" (CPUs watch for reads only together with writes) or "x"',
                              function(value) return ACCESSES[value] and value end),
  size = option_table.check("1, 2, 4 or 8", function(value) return SIZES[value] and value end),
}
local MOST = 2 ^ 47 -- user space ends below, on both architectures as they are configured

-- The address of SYMBOL, "jiffies" or "jiffies+0x4", of the kernel: a u64; raises why there is none.
local function kernel_address(where, symbol)
  local name, offset = symbol:match "^([^+]+)%+(%w+)$"
  offset = offset and tonumber(offset)
  local raw, why = core.kernel.address(offset and name or symbol)
  if not raw then error(("watch %s: %s"):format(where, why), 0) end
  return ffi.cast("const uint64_t *", raw)[0] + (offset or 0)
end

-- The place WHERE → what core.probe.watch takes, or a u64 that core.probe.watch_everywhere does; the bytes it has from
-- there on (nil: unknown), and a text for --explain.
local function resolve(where, access)
  local symbol = type(where) == "string" and where:match "^kernel:(.+)$"
  if symbol then
    return declare.try("", 3, kernel_address, where, symbol), nil, ("%s of the kernel"):format(text.escape(symbol))
  end
  if type(where) == "number" then
    if where < 1 or where ~= math.floor(where) or where >= MOST then
      error(("watch: %s is no address of a process"):format(tostring(where)), 3)
    end
    local everywhere = #core.target.pids() == 0 and not (options.command or options.explain or options.emit)
    return everywhere and ffi.cast("uint64_t", where) or where, nil, ("%#x"):format(where)
  end
  if type(where) ~= "string" then
    error('watch: the first argument is an address or names a variable: watch("./app:counter", "w", handler)', 3)
  end
  if access == "x" then
    local ok, sites = pcall(core.probe.resolve, where)
    if not ok then error("watch " .. text.escape(sites, "\n"), 3) end
    return where, nil, where
  end
  local ok, variable = pcall(core.probe.variable, where)
  if not ok then error("watch " .. text.escape(variable, "\n"), 3) end
  return variable.spec, variable.bytes, ("%s in %s"):format(text.escape(where), text.escape(variable.module))
end

-- What answers without a watchpoint who accesses WHERE.
local function remedy(where, access, of_kernel)
  if of_kernel then return "a kprobe on the functions that write it answers without" end
  if type(where) ~= "string" then return "a uprobe on the lines that access it (./app:FILE:LINE) answers without" end
  if access == "x" then return ('a uprobe answers without: uprobe("%s", …)'):format(text.escape(where)) end
  return ("a uprobe on the lines that %s it (%s:FILE:LINE, with e.vars) answers without")
    :format(access == "w" and "write" or "access", text.escape(where:match "^(.-):" or where))
end

local FORM = "watch:BINARY:VARIABLE, watch:kernel:VARIABLE or watch:0xADDRESS, and behind it :w, :rw or :x, " ..
             "and :1, :2, :4 or :8 bytes"

-- "./app:counter:rw:4", "0x7ffe1000:w:8" of watch:…: what is accessed; w, where nothing says how; its own size.
local function parse(rest, given)
  local words = {}
  for word in (rest:gsub("::", "\1") .. ":"):gmatch "([^:]*):" do words[#words + 1] = word:gsub("\1", "::") end
  local address = rest:match "^0[xX]%x+%f[:%z]" or rest:match "^%d+%f[:%z]"
  local behind = address and 2 or 3
  local access, size = words[behind], words[behind + 1]
  local good = (address or words[2]) and not words[behind + 2] and (not access or ACCESSES[access])
               and (not size or SIZES[tonumber(size)])
  if not good then error(("watch:%s: write %s: watch:./app:counter:rw:8"):format(rest, FORM), 0) end
  return address and tonumber(address) or words[1] .. ":" .. words[2], {
    access = access or not given.access and "w" or nil, size = tonumber(size),
  }
end

-- BINARY:PATTERN, "./app:*": variables of which a debug register can watch all, or a part.
local function list(rest, details, wrong)
  if not rest:find ":" then wrong("watch needs variables, as in 'watch:./app:*'") end
  local entries = {}
  for i, variable in ipairs(core.probe.variables(rest, details)) do
    local size = details and variable.bytes > 0 and text.plural(variable.bytes, "byte") or nil
    local what = size and variable.type and ("%s, %s"):format(text.escape(variable.type), size) or size
    entries[i] = { probe = ("watch:%s:%s"):format(variable.module, variable.name), what = what }
  end
  return entries
end

local EVENT = { { name = "value", type = "i64" }, { name = "addr", type = "u64" }, { name = "ip", type = "u64" } }

-- The hits of a trace: where code is executed there is no value.
local function hits(rest, _, spec)
  local _, given = parse(rest, {})
  return { { probe = spec, of_event = given.access == "x" and { EVENT[3] } or EVENT } }
end

watch.providers = {
  watch = {
    name = "watch", options = OPTIONS, specified = true, of_binary = true, parse = parse, list = list, hits = hits,
    ways = { { needs = { "watchpoint" }, "a perf event for each thread or CPU" } }, ends = watch_trial.ends,
  },
}

-- watch(where, options, handler): HANDLER runs at each access to WHERE, an address, "BINARY:VARIABLE[+OFFSET]", or a
-- part of one, "BINARY:VARIABLE.FIELD[2]". Options: access, or a text in place of all: "w" (writes), "rw" (reads and
-- writes) or "x" (it is executed); size, how many bytes are watched, 1, 2, 4 or 8 (a variable's own if it is one of
-- these). "kernel:VARIABLE[+OFFSET]" is the kernel's, and its size has to be given. Raises what is wrong with that. The
-- target of all but the kernel's and of an address has to be a process or a command; without, an address is watched in
-- whatever process has something there. It is refused where a trial has found that this machine's debug registers do
-- harm or miss accesses, unless --trust-watchpoints is given. That goes for the kernel's variables and for all
-- processes, too: an exception that comes without its reason ends whichever program has made the access; in the kernel
-- it is a hit that goes missing.
function watch.watch(where, given, handler)
  if type(where) == "cdata" then where = tonumber(where) end
  local spec = type(where) == "number" and where % 1 == 0 and where >= 0 and ("%#x"):format(where) or
               type(where) == "string" and where or text.shown(where)
  local given, mine = declare.arguments(watch.providers.watch, spec, given, handler)
  local access = given.access
  if not access then error('watch: which accesses? Options are "w", "rw" or "x", or { "w", size = 8 }', 2) end
  local of_kernel = spec:find "^kernel:" ~= nil
  if options.follow and not of_kernel then
    error("watch: an address is one process's, and means nothing in those that --follow adds: leave it out", 2)
  end
  local nobody = #core.target.pids() == 0 and not options.explain and not options.emit
  if nobody and type(where) ~= "number" and not of_kernel then
    error("watch: a variable is somewhere else in each process: name one, -p PID, or -- COMMAND; only an address and "
          .. "variables of the kernel are watched in all", 2)
  end
  local place, left, name = resolve(where, access)
  local size = access == "x" and 1 or given.size or left
  if not SIZES[size] then
    error(("watch: how many bytes of %s are meant, { %q, size = 1 }, 2, 4 or 8, or behind a spec :%s:1, :2, :4 or " ..
           ":8? It has %s"):format(name, access, access, left or "no known size"), 2)
  end
  if left and size > left then error(("watch: %s has only %d bytes"):format(name, left), 2) end
  if type(place) ~= "string" and place % size ~= 0 then
    error(("watch: %s is not a multiple of %d: the CPU watches 1, 2, 4 or 8 bytes that are aligned")
      :format(name, size), 2)
  end
  local refusal
  if not options.explain and not options.emit then
    refusal = declare.try("", 2, watch_trial.refusal, text.escape(spec), access, remedy(where, access, of_kernel))
  end
  if refusal then error(refusal, 2) end
  local accesses = ("%s of %d byte%s at"):format(ACCESSES[access], size, size == 1 and "" or "s")
  local everywhere = type(place) == "cdata"
  declare.probe {
    provider = watch.providers.watch, of_kernel = of_kernel,
    spec = spec, symbol = spec:match "[^:]*:(.*)$" or spec, handle = mine,
    mapped = not everywhere,
    value_bits = access ~= "x" and size * 8 or 0,
    where = ("%s %s, by a debug register"):format(access == "x" and "executions of" or accesses, name),
    attach = function(_, program, link)
      local ok, result
      if everywhere then
        ok, result = pcall(core.probe.watch_everywhere, program.fd, int64_bytes.of(place), access, size)
      else
        ok, result = pcall(core.probe.watch, program.fd, place, access, size)
      end
      if not ok then
        error(("watch %s: %s"):format(spec, (tostring(result):gsub("^" .. spec:gsub("%p", "%%%0") .. ": ", ""))), 0)
      end
      link(result)
    end,
  }
  return mine
end

return watch
