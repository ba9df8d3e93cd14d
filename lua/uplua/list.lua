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

local listers = { usdt = list_usdt }

-- Prints what WHAT, "usdt:4242", names; VERBOSE: with the arguments and their types. Raises what is wrong.
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
