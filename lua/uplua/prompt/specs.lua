-- What can stand in a string that is being typed: specs of probes, files, names of the manual. Each function gets what
-- is typed and gives whole strings that begin so, or more; and true, where there are no more and they are sorted.
-- BRIEF: where all of them go on alike, that beginning is enough.
local core = require "uplua.core"

local specs = {}

local MOST_SYSCALLS = 1024 -- numbers: more than any kernel has

-- WORDS that begin with TYPED.
function specs.beginning(typed, words)
  local list = {}
  for _, word in ipairs(words) do
    if word:sub(1, #typed) == typed then list[#list + 1] = word end
  end
  return list
end
local beginning = specs.beginning

local function with_prefix(prefix, words)
  local list = {}
  for i, word in ipairs(words) do list[i] = prefix .. word end
  return list
end

local function append(list, more)
  for _, word in ipairs(more) do list[#list + 1] = word end
  return list
end

-- What fn(...) gives, or nothing where it fails: there is nothing to offer then.
local function try(fn, ...)
  local ok, list = pcall(fn, ...)
  return ok and list or {}
end

-- Files and folders by their paths.
function specs.files(typed)
  local folder, start = typed:match "^(.*/)([^/]*)$"
  if not folder then folder, start = "", typed end
  local list = {}
  for _, name in ipairs(core.system.names(folder ~= "" and folder or ".") or {}) do
    local hidden = name:sub(1, 1) == "." and start:sub(1, 1) ~= "."
    if name:sub(1, #start) == start and not hidden then
      local path = folder .. name
      list[#list + 1] = path .. (core.system.is_file(path) and "" or "/")
    end
  end
  return list
end

-- Programs and libraries, with the colon behind them.
local function modules(typed)
  if typed:find "/" then return specs.files(typed) end
  local list = try(core.module.names, typed)
  for i, name in ipairs(list) do list[i] = name .. ":" end
  return append(list, specs.files(typed))
end

local function functions(typed, brief)
  local binary, start = typed:match "^([^:]+):(.*)$"
  if not binary then return modules(typed) end
  return try(core.module.functions, binary, start, brief), true
end

local function usdt(typed)
  local binary = typed:match "^([^:]+):"
  local list = {}
  for _, probe in ipairs(try(core.usdt.list, nil, "*", "*")) do
    list[#list + 1] = ("%s:%s"):format(probe.provider, probe.name)
  end
  for _, probe in ipairs(binary and try(core.usdt.list, binary, "*", "*") or {}) do
    list[#list + 1] = ("%s:%s:%s"):format(binary, probe.provider, probe.name)
  end
  list = beginning(typed, list)
  return binary and list or append(list, modules(typed))
end

local function kernel_functions(typed)
  local list = {}
  for name in pairs(try(core.kernel.functions, typed)) do list[#list + 1] = name end
  return list
end

local CALLER = "__traceiter_" -- the kernel's function for each tracepoint

local function raw_tracepoints(typed)
  local list = {}
  for name in pairs(try(core.kernel.functions, CALLER .. typed)) do list[#list + 1] = name:sub(#CALLER + 1) end
  return list
end

local function system_calls(typed)
  local up, list = require "uplua", {}
  for number = 0, MOST_SYSCALLS - 1 do
    local name = up.syscall_name(number)
    if not name:find " " then list[#list + 1] = name end
  end
  return beginning(typed, list)
end

local function tracepoints(typed) return beginning(typed, try(core.tracepoint.match, "*:*")) end

-- What --list has of KIND.
local function listed(kind, pattern_of)
  return function(typed)
    local list = {}
    for _, entry in ipairs(try(require "uplua".list, ("%s:%s"):format(kind, pattern_of(typed)))) do
      list[#list + 1] = entry.probe and entry.probe:sub(#kind + 2)
    end
    return list
  end
end

local perf_events = listed("perf", function() return "*" end)
local variables = listed("watch", function(typed) return typed .. "*" end)

local function watched(typed)
  if not typed:find ":" then return modules(typed) end
  return variables(typed)
end

-- The constructor that a spec is typed for → what it can be.
specs.of = {
  uprobe = functions, uretprobe = functions, kprobe = kernel_functions, kretprobe = kernel_functions,
  fentry = kernel_functions, fexit = kernel_functions, tracepoint = tracepoints, raw_tracepoint = raw_tracepoints,
  syscall = system_calls, sysreturn = system_calls, usdt = usdt, perf = perf_events, counter = perf_events,
  watch = watched, address = functions, site = functions,
}

-- A spec with its kind before it, or a function's.
local function any(typed)
  local kind, rest = typed:match "^([%l_]+):(.*)$"
  local list = {}
  if kind and specs.of[kind] then list = with_prefix(kind .. ":", specs.of[kind](rest)) end
  for name in pairs(specs.of) do list[#list + 1] = name .. ":" end
  return append(list, functions(typed))
end
specs.of.probe, specs.of.retprobe, specs.of.list = any, any, any

-- Names of the manual, for help.
function specs.of.help(typed) return beginning(typed, require "uplua.api.help".names()) end

-- The strings that begin with TYPED, of the argument of the function CALLED (nil: of no function), sorted; and word →
-- what is shown for it, where that is another text. BRIEF: as above.
function specs.words(called, typed, brief)
  local command, pid = typed:match "^(.*%s%-%-%s+)(%d*)$" -- a command line of uplua's, as os.execute takes
  if command then return require "uplua.prompt.processes".beginning(command, pid) end
  local list, done = (specs.of[called] or specs.files)(typed, brief)
  if done then return list end -- of 50,000 functions each look would take as long as finding them
  list = beginning(typed, list)
  table.sort(list)
  local once = {}
  for i, word in ipairs(list) do
    if word ~= list[i - 1] then once[#once + 1] = word end
  end
  return once
end

return specs
