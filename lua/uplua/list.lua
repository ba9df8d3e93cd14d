-- The report of --list: what can be probed. One lister for each kind of probe, in the table below.
local cli  = require "uplua.cli"
local core = require "uplua.core"
local text = require "uplua.text"

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
    if #core.target.pids() > 0 then cli.wrong("more than one target; give PIDs in the list's name, by -p or after --") end
    core.target.attach { tonumber(pid) }
    binary = nil
  elseif rest == "" then
    if #core.target.pids() == 0 then cli.wrong("--list usdt needs a PID or a file: usdt:4242, usdt:./app, usdt:libstdc++:libstdcxx:*") end
    binary, after = nil, ""
  else
    binary, after = rest:match "^([^:]*):?(.*)$"
  end
  local provider, name = after:match "^([^:]*):(.*)$"
  if not provider then provider, name = after, "*" end
  return binary, provider ~= "" and provider or "*", name ~= "" and name or "*"
end

-- One line for a probe, and if VERBOSE, where its arguments are, for each set of places at which that is the same.
local function print_usdt(probes, verbose)
  local lines, printed = {}, {}
  for _, probe in ipairs(probes) do
    local spec = ("usdt:%s:%s:%s"):format(text.escape(probe.module), probe.provider, probe.name)
    local group = printed[spec]
    if not group then
      group = { spec = spec }
      printed[spec], lines[#lines + 1] = group, group
    end
    group[#group + 1] = probe
  end
  for _, group in ipairs(lines) do
    print(group.spec)
    for _, probe in ipairs(verbose and group or {}) do
      local list = {}
      for i, argument in ipairs(probe.arguments) do
        list[i] = ("arg%d %s %s"):format(i - 1, type_of(argument), text.escape(argument.text))
      end
      print(("    %s%s%s"):format(plural(#probe.sites:list(), "place"), probe.semaphore and ", with a semaphore" or "",
        #list > 0 and ": " .. table.concat(list, ", ") or ", no arguments"))
      if probe.problem then print("    cannot be probed: " .. probe.problem) end
    end
  end
end

-- usdt:PID, usdt:FILE, with :PROVIDER:NAME behind it, patterns both; usdt: the target's
local function list_usdt(rest, verbose)
  local probes = core.usdt.list(parse_usdt(rest))
  print_usdt(probes, verbose)
  if #probes == 0 then error(("--list usdt%s: there are no such USDT probes"):format(rest == "" and "" or ":" .. rest), 0) end
end

-- uprobe:BINARY:FUNCTION, as in a probe's spec: what of it can be probed, with -v where each probe would stand and what is left out
local function list_uprobe(rest, verbose)
  if rest == "" then cli.wrong("--list uprobe needs functions, as in --list 'uprobe:libc:mal*'") end
  local sites, skipped = core.probe.resolve(rest, "exact"):list()
  for _, site in ipairs(sites) do
    print(("uprobe:%s:%s"):format(text.escape(site.module), text.escape(site.name)))
    local inside = site.inside + site.slid
    if verbose then
      print(("    file offset %#x%s%s"):format(site.offset, inside > 0 and (", at +%#x"):format(inside) or "", site.why and ": " .. site.why or ""))
    end
  end
  for _, one in ipairs(verbose and skipped or {}) do print(("left out: %s: %s"):format(text.escape(one["function"]), one.why)) end
end

-- "prev_pid i32", as a handler sees it; nil for what handlers cannot use.
local function field_of(argument)
  if argument.place == "nowhere" then return nil end
  local kinds = { string = "string", boolean = "boolean", array = ("%s[%d]"):format(argument.bits and type_of(argument) or "", argument.size or 0) }
  return ("%s %s"):format(argument.name, kinds[argument.kind] or type_of(argument))
end

local function print_fields(arguments)
  for _, argument in ipairs(arguments) do
    local field = field_of(argument)
    if field then print(("    %s  (%s)"):format(field, text.escape(argument.type))) end
  end
end

-- tracepoint:SYSTEM:NAME, both patterns; with -v the fields of e.args, with their types in handlers and in the kernel's source
local function list_tracepoint(rest, verbose)
  local system, name = rest:match "^([^:]*):?(.*)$"
  local pattern = ("%s:%s"):format(system ~= "" and system or "*", name ~= "" and name or "*")
  local tracepoint = require "uplua.tracepoint"
  for _, spec in ipairs(core.tracepoint.match(pattern)) do
    print("tracepoint:" .. spec)
    if verbose then print_fields(tracepoint.arguments(core.tracepoint.find(spec):fields(), nil, spec:find "^syscalls:" ~= nil)) end
  end
end

-- syscall:NAME, a pattern; with -v its arguments
local function list_syscall(rest, verbose)
  local syscall = require "uplua.syscall"
  for _, name in ipairs(syscall.names("--list syscall", rest ~= "" and rest or "*")) do
    print("syscall:" .. name)
    if verbose then print_fields(syscall.arguments(name)) end
  end
end

-- kprobe:FUNCTION, a pattern
local function list_kprobe(rest)
  if rest == "" then cli.wrong("--list kprobe needs functions, as in --list 'kprobe:vfs_*'") end
  local seen = {}
  for _, site in ipairs(core.probe.resolve_kernel(rest):list()) do
    local name = (site.module and site.module .. ":" or "") .. site["function"]
    if not seen[name] then print("kprobe:" .. text.escape(name)) end
    seen[name] = true
  end
end

local listers = { usdt = list_usdt, uprobe = list_uprobe, tracepoint = list_tracepoint, syscall = list_syscall, kprobe = list_kprobe }

-- Prints what WHAT, "usdt:4242", names, one spec a line; VERBOSE: with the arguments and their types. Raises what is wrong.
return function(what, verbose)
  local kind, rest = what:match "^([^:]*):?(.*)$"
  local lister = listers[kind]
  if not lister then
    local names = {}
    for name in pairs(listers) do names[#names + 1] = name end
    table.sort(names)
    local near = text.nearest(kind, names)
    cli.wrong("--list: no such kind of probe: %s%s; there is %s", kind, near and ("; did you mean %s?"):format(near) or "", table.concat(names, ", "))
  end
  lister(rest, verbose)
end
