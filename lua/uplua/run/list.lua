-- The report of --list: what can be probed. One lister for each kind of probe, in the table below: it makes entries,
-- which are printed as text or as JSON. An entry has `probe`, the spec as a script would give it, and what is known of
-- it:
--   arguments   { { name, type, source }, … }: of e.args, its type in handlers, its type in the kernel's source or
--               where it is
--   places      of a USDT probe: { { count, semaphore, arguments, problem }, … }, one for each set of places at which
--               that is the same
--   offset, at, why   of a function: the file offset of its probe, how far behind the entry that is, and why there
-- or it has `left_out`, a function that a pattern names and that is not probed, and `why`.
local cli     = require "uplua.run.cli"
local core    = require "uplua.core"
local failure = require "uplua.base.failure"
local text    = require "uplua.text"

local function plural(n, one) return ("%d %s%s"):format(n, one, n == 1 and "" or "s") end

-- "i32": the type that a handler sees.
local function type_of(argument)
  if argument.place == "nowhere" then return "?" end
  return (argument.bits < 0 and "i" or "u") .. math.abs(argument.bits)
end

-- The binary, or nil for the target's modules, and the patterns of provider and name that REST of "usdt:REST" names.
local function parse_usdt(rest)
  local pid, after = rest:match "^(%d+):?(.*)$"
  if pid and not rest:find "^%d+:" and after ~= "" then pid = nil end -- a file whose name begins so
  local file = not pid and io.open(rest)
  local binary = rest
  if file then
    file:close()
    after = ""
  elseif pid then
    if #core.target.pids() > 0 then
      cli.wrong("more than one target; give PIDs in the list's name, by -p or after --")
    end
    core.target.attach { tonumber(pid) }
    binary = nil
  elseif rest == "" then
    if #core.target.pids() == 0 then
      cli.wrong("--list usdt needs a PID or a file: usdt:4242, usdt:./app, usdt:libstdc++:libstdcxx:*")
    end
    binary, after = nil, ""
  else
    binary, after = rest:match "^([^:]*):?(.*)$"
  end
  local provider, name = after:match "^([^:]*):(.*)$"
  if not provider then provider, name = after, "*" end
  return binary, provider ~= "" and provider or "*", name ~= "" and name or "*"
end

-- Entries of PROBES with their places, those together that are of one name.
local function usdt_entries(probes)
  local entries, known = {}, {}
  for _, probe in ipairs(probes) do
    local spec = ("usdt:%s:%s:%s"):format(probe.module, probe.provider, probe.name)
    local entry = known[spec]
    if not entry then
      entry = { probe = spec, places = {} }
      known[spec], entries[#entries + 1] = entry, entry
    end
    local arguments = {}
    for i, argument in ipairs(probe.arguments) do
      arguments[i] = { name = "arg" .. i - 1, type = type_of(argument), source = argument.text }
    end
    table.insert(entry.places, {
      count = #probe.sites:list(), semaphore = probe.semaphore, arguments = arguments, problem = probe.problem,
    })
  end
  return entries
end

local function list_usdt(rest)
  local ok, probes = pcall(function() return core.usdt.list(parse_usdt(rest)) end)
  if ok and #probes > 0 then return usdt_entries(probes) end
  local taken, found = pcall(core.usdt.find, rest) -- what a probe takes, BINARY:NAME and PROVIDER:NAME of the target's
  if taken and found then return usdt_entries(found) end
  if not ok then error(probes, 0) end
  error(("usdt%s: there are no such USDT probes"):format(rest == "" and "" or ":" .. rest), 0)
end

-- uprobe:BINARY:FUNCTION, as in a probe's spec: what of it can be probed, where each probe would stand, and what is
-- left out
local function list_uprobe(rest)
  if rest == "" then cli.wrong("--list uprobe needs functions, as in --list 'uprobe:libc:mal*'") end
  local sites, skipped = core.probe.resolve(rest, "exact"):list()
  local entries = {}
  for _, site in ipairs(sites) do
    entries[#entries + 1] = {
      probe = ("uprobe:%s:%s"):format(site.module, site.name), offset = site.offset, at = site.inside + site.slid,
      why = site.why,
    }
  end
  for _, one in ipairs(skipped) do entries[#entries + 1] = { left_out = one["function"], why = one.why } end
  return entries
end

-- Of ARGUMENTS, those that handlers can use, with the types that they see.
local function describe(arguments)
  local list = {}
  for _, argument in ipairs(arguments) do
    if argument.place ~= "nowhere" then
      local array = ("%s[%d]"):format(argument.bits and type_of(argument) or "", argument.size or 0)
      local kinds = { string = "string", boolean = "boolean", array = array }
      local type = kinds[argument.kind] or type_of(argument)
      list[#list + 1] = { name = argument.name, type = type, source = argument.type }
    end
  end
  return list
end

-- tracepoint:SYSTEM:NAME, both patterns. Formats are read for DETAILS only: there are thousands.
local function list_tracepoint(rest, details)
  local system, name = rest:match "^([^:]*):?(.*)$"
  local pattern = ("%s:%s"):format(system ~= "" and system or "*", name ~= "" and name or "*")
  local tracepoint = require "uplua.probe.tracepoint"
  local entries = {}
  for i, spec in ipairs(core.tracepoint.match(pattern)) do
    local of_call = spec:find "^syscalls:" ~= nil
    local fields = details and tracepoint.arguments(core.tracepoint.find(spec):fields(), nil, of_call)
    entries[i] = { probe = "tracepoint:" .. spec, arguments = fields and describe(fields) }
  end
  return entries
end

-- syscall:NAME, a pattern
local function list_syscall(rest, details)
  local syscall = require "uplua.probe.syscall"
  local entries = {}
  for i, name in ipairs(syscall.names("syscall", rest ~= "" and rest or "*")) do
    entries[i] = { probe = "syscall:" .. name, arguments = details and describe(syscall.arguments(name)) or nil }
  end
  return entries
end

-- kprobe:FUNCTION, a pattern
local function list_kprobe(rest)
  if rest == "" then cli.wrong("--list kprobe needs functions, as in --list 'kprobe:vfs_*'") end
  local entries, seen = {}, {}
  for _, site in ipairs(core.probe.resolve_kernel(rest):list()) do
    local spec = ("kprobe:%s%s"):format(site.module and site.module .. ":" or "", site["function"])
    if not seen[spec] then entries[#entries + 1] = { probe = spec } end
    seen[spec] = true
  end
  return entries
end

local listers = {
  usdt = list_usdt, uprobe = list_uprobe, tracepoint = list_tracepoint, syscall = list_syscall, kprobe = list_kprobe,
}

local function place_line(place)
  local list = {}
  for i, argument in ipairs(place.arguments) do
    list[i] = ("%s %s %s"):format(argument.name, argument.type, text.escape(argument.source))
  end
  return ("%s%s%s"):format(plural(place.count, "place"), place.semaphore and ", with a semaphore" or "",
    #list > 0 and ": " .. table.concat(list, ", ") or ", no arguments")
end

local function print_details(entry)
  for _, place in ipairs(entry.places or {}) do
    print("    " .. place_line(place))
    if place.problem then print("    cannot be probed: " .. place.problem) end
  end
  for _, argument in ipairs(entry.arguments or {}) do
    print(("    %s %s  (%s)"):format(argument.name, argument.type, text.escape(argument.source)))
  end
  if entry.offset then
    local at, why = entry.at > 0 and (", at +%#x"):format(entry.at) or "", entry.why and ": " .. entry.why or ""
    print(("    file offset %#x%s%s"):format(entry.offset, at, why))
  end
end

local function print_text(entry, verbose)
  if entry.probe then
    print(text.escape(entry.probe))
    if verbose then print_details(entry) end
  elseif verbose then
    print(("left out: %s: %s"):format(text.escape(entry.left_out), entry.why))
  end
end

local list = {}

-- The entries for WHAT, "usdt:4242"; DETAILS: with the arguments of tracepoints and system calls. Raises what is wrong.
function list.list(what, details)
  if type(what) ~= "string" then
    error("list: the first argument is a kind of probe and a pattern, as in \"syscall:open*\"", 2)
  end
  local kind, rest = what:match "^([^:]*):?(.*)$"
  local lister = listers[kind]
  if not lister then
    local names = {}
    for name in pairs(listers) do names[#names + 1] = name end
    table.sort(names)
    local near = text.nearest(kind, names)
    local hint = near and ("; did you mean %s?"):format(near) or ""
    cli.wrong("--list: no such kind of probe: %s%s; there is %s", kind, hint, table.concat(names, ", "))
  end
  local ok, result = pcall(lister, rest, details)
  if ok then return result end
  if cli.is_usage(result) then error(result, 0) end
  failure.mistake(tostring(result))
end

-- The entries of the USDT probes that SPEC names as up.usdt understands it, which knows PROVIDER:NAME of the target's
-- modules; nil where the target has not loaded the library. Raises what is wrong.
function list.usdt(spec)
  local probes = core.usdt.find(spec)
  return probes and usdt_entries(probes)
end

-- Prints them, one spec a line; VERBOSE: with what is known of each; JSON: an array of all entries.
function list.print(what, verbose, json)
  local entries = list.list(what, verbose)
  if json then return print(require "uplua.base.json".encode(entries)) end
  for _, entry in ipairs(entries) do print_text(entry, verbose) end
end

return list
