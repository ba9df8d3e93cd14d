-- The events that the kernel's perf counts, by the names that people know: software events, the CPU's counters, and the
-- events of each PMU.
local bit      = require "bit"
local ffi      = require "ffi"
local contract = require "uplua.contract"
local core     = require "uplua.core"
local options  = require "uplua.options"
local pattern  = require "uplua.base.pattern"
local text     = require "uplua.base.text"

local perf_events = {}

local c = contract -- of linux/perf_event.h
local HARDWARE, SOFTWARE, CACHE, RAW = c.PERF_TYPE_HARDWARE, c.PERF_TYPE_SOFTWARE, c.PERF_TYPE_HW_CACHE, c.PERF_TYPE_RAW
local DEVICES = "/sys/bus/event_source/devices/"

local software = {
  ["cpu-clock"] = c.PERF_COUNT_SW_CPU_CLOCK, ["task-clock"] = c.PERF_COUNT_SW_TASK_CLOCK,
  ["page-faults"] = c.PERF_COUNT_SW_PAGE_FAULTS, ["context-switches"] = c.PERF_COUNT_SW_CONTEXT_SWITCHES,
  ["cpu-migrations"] = c.PERF_COUNT_SW_CPU_MIGRATIONS, ["minor-faults"] = c.PERF_COUNT_SW_PAGE_FAULTS_MIN,
  ["major-faults"] = c.PERF_COUNT_SW_PAGE_FAULTS_MAJ, ["alignment-faults"] = c.PERF_COUNT_SW_ALIGNMENT_FAULTS,
  ["emulation-faults"] = c.PERF_COUNT_SW_EMULATION_FAULTS, ["cgroup-switches"] = c.PERF_COUNT_SW_CGROUP_SWITCHES,
}
local hardware = {
  cycles = c.PERF_COUNT_HW_CPU_CYCLES, instructions = c.PERF_COUNT_HW_INSTRUCTIONS,
  ["cache-references"] = c.PERF_COUNT_HW_CACHE_REFERENCES, ["cache-misses"] = c.PERF_COUNT_HW_CACHE_MISSES,
  branches = c.PERF_COUNT_HW_BRANCH_INSTRUCTIONS, ["branch-misses"] = c.PERF_COUNT_HW_BRANCH_MISSES,
  ["bus-cycles"] = c.PERF_COUNT_HW_BUS_CYCLES,
  ["stalled-cycles-frontend"] = c.PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
  ["stalled-cycles-backend"] = c.PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
  ["ref-cycles"] = c.PERF_COUNT_HW_REF_CPU_CYCLES,
}
local aliases = {
  faults = "page-faults", cs = "context-switches", migrations = "cpu-migrations", ["cpu-cycles"] = "cycles",
  ["branch-instructions"] = "branches",
}

-- PERF_COUNT_HW_CACHE_*: which cache, and | operation << 8 | result << 16.
local caches = {
  ["L1-dcache"] = c.PERF_COUNT_HW_CACHE_L1D, ["L1-icache"] = c.PERF_COUNT_HW_CACHE_L1I,
  LLC = c.PERF_COUNT_HW_CACHE_LL, dTLB = c.PERF_COUNT_HW_CACHE_DTLB, iTLB = c.PERF_COUNT_HW_CACHE_ITLB,
  branch = c.PERF_COUNT_HW_CACHE_BPU, node = c.PERF_COUNT_HW_CACHE_NODE,
}
local LOAD, STORE = c.PERF_COUNT_HW_CACHE_OP_READ * 2 ^ 8, c.PERF_COUNT_HW_CACHE_OP_WRITE * 2 ^ 8
local PREFETCH, MISS = c.PERF_COUNT_HW_CACHE_OP_PREFETCH * 2 ^ 8, c.PERF_COUNT_HW_CACHE_RESULT_MISS * 2 ^ 16
local accesses = {
  loads = LOAD, ["load-misses"] = LOAD + MISS,
  stores = STORE, ["store-misses"] = STORE + MISS,
  prefetches = PREFETCH, ["prefetch-misses"] = PREFETCH + MISS,
}

local function cache_config(name)
  for cache, id in pairs(caches) do
    local access = name:sub(1, #cache + 1) == cache .. "-" and accesses[name:sub(#cache + 2)]
    if access then return id + access end
  end
end

local function read(path)
  local file = io.open(path)
  if not file then return nil end
  local content = file:read "*a" -- nil for a folder
  file:close()
  return content and content:match "^%s*(.-)%s*$"
end

local function list(path)
  local names = {}
  local pipe = path:find "^[%w_./-]+$" and io.popen("ls " .. path .. " 2>/dev/null")
  if pipe then
    for name in pipe:lines() do names[#names + 1] = name end
    pipe:close()
  end
  return names
end

-- Puts VALUE into CONFIGS where FORMAT, such as "config:0-7,32-35", says, its lowest bits first.
local function place(configs, format, value)
  local name, ranges = format:match "^(config[12]?):([%d,-]+)$"
  if not name then return false end
  for range in ranges:gmatch "[^,]+" do
    local low, high = range:match "^(%d+)%-?(%d*)$"
    low, high = tonumber(low), tonumber(high) or tonumber(low)
    for at = low, high do
      configs[name] = bit.bor(configs[name], bit.lshift(bit.band(value, 1ULL), at))
      value = bit.rshift(value, 1)
    end
  end
  return value == 0
end

-- TERMS ("event=0x3c,umask=1" or the name of an event) of the PMU in the folder DEVICE into CONFIGS; nil and the reason
-- if that fails.
local function add_terms(configs, device, terms, named)
  for term in terms:gmatch "[^,]+" do
    local name, value = term:match "^([%w_.-]+)=(%w+)$"
    name = name or term:match "^[%w_.-]+$"
    local format = name and read(device .. "format/" .. name)
    local alias = name and not value and not named and read(device .. "events/" .. name)
    if alias then
      local ok, message = add_terms(configs, device, alias, true)
      if not ok then return nil, message end
    elseif not name then
      return nil, ("'%s' is no event and no NAME=NUMBER"):format(term)
    elseif name:find "^config[12]?$" then
      format = name .. ":0-63"
    elseif not format then
      local known = list(device .. "events/")
      for _, field in ipairs(list(device .. "format/")) do known[#known + 1] = field end
      return nil, ("it has no '%s'%s"):format(name, text.did_you_mean(name, known))
    end
    if format and not alias then
      -- Up to 64 bits: tonumber would round them.
      local digits = value and value:match "^0[xX](%x+)$"
      local number = 1ULL
      if digits and #digits <= 16 then
        local high, low = digits:sub(1, -9), digits:sub(-8)
        number = bit.bor(bit.lshift(0ULL + tonumber(high ~= "" and high or "0", 16), 32), 0ULL + tonumber(low, 16))
      elseif value then
        number = tonumber(value) and tonumber(value) < 2 ^ 53 and ffi.cast("uint64_t", tonumber(value))
      end
      if not number or not place(configs, format, number) then
        return nil, ("'%s' does not fit into the field %s of it"):format(term, format)
      end
    end
  end
  return true
end

-- "pmu/event/" → event, or nil and the reason
local function of_pmu(name)
  local pmu, terms = name:match "^([%w_.-]+)/(.-)/?$"
  if not pmu then return nil, "no such event; those of a PMU are \"pmu/event/\"" end
  local device = DEVICES .. pmu .. "/"
  local type = tonumber(read(device .. "type"))
  if not type then
    local pmus = list(DEVICES)
    return nil, ("this machine has no PMU %s; it has %s"):format(pmu, table.concat(pmus, ", "))
  end
  if read(device .. "cpumask") then return nil, ("%s counts for a whole socket, which is not supported"):format(pmu) end
  local configs = { config = 0ULL, config1 = 0ULL, config2 = 0ULL }
  local ok, message = add_terms(configs, device, terms)
  if not ok then return nil, message end
  local found = { type = type }
  for key, value in pairs(configs) do found[key] = bit.tohex(value) end
  return found
end

local function known()
  local names = {}
  for _, set in ipairs { software, hardware, aliases } do
    for name in pairs(set) do names[#names + 1] = name end
  end
  for cache in pairs(caches) do
    for access in pairs(accesses) do names[#names + 1] = cache .. "-" .. access end
  end
  table.sort(names)
  return names
end

-- The event BASE, without modifiers: { type, config, … }, or nil and the reason.
local function of_name(base)
  base = aliases[base] or base
  if base:find "/" then return of_pmu(base) end
  if software[base] then return { type = SOFTWARE, config = software[base] } end
  if hardware[base] then return { type = HARDWARE, config = hardware[base] } end
  if cache_config(base) then return { type = CACHE, config = cache_config(base) } end
  if base:find "^r%x+$" and #base <= 17 then return { type = RAW, config = base:sub(2) } end
  return nil, ("no such event%s"):format(text.did_you_mean(base, known()))
end

local MODIFIERS = "^(.-):([ukpGH]+)$"
local MOST_PRECISE = 3 -- precise_ip has two bits

-- Whether NAME is that of an event, perhaps with modifiers, whether or not this machine counts it.
function perf_events.knows(name)
  local base = name:match(MODIFIERS) or name
  return base:find "^[%w_][%w_.-]*/[^/:]*/?$" ~= nil or not base:find "/" and of_name(base) ~= nil
end

-- Whether TEXT is modifiers of an event, "u".
function perf_events.are_modifiers(letters) return letters:find "^[ukpGH]+$" ~= nil end

-- Puts MODIFIERS, as those of perf's, into FOUND: u, k: user space or the kernel alone; p: how precise the place is, up
-- to three; G, H: guests or the host alone. True, or nil and what is wrong.
local function modify(found, modifiers)
  local function has(letter) return modifiers:find(letter, 1, true) ~= nil end
  local precise = select(2, modifiers:gsub("p", ""))
  if precise > MOST_PRECISE then return nil, ":ppp is the most precise" end
  if precise > 0 and found.type == SOFTWARE then
    return nil, "it is the kernel's own count, whose places are exact: leave out :p"
  end
  found.precise = precise
  if has "G" and not has "H" and found.type == SOFTWARE then
    return nil, "it is the kernel's own count, and guests have kernels of their own: leave out :G"
  end
  if has "u" ~= has "k" then found.no_user, found.no_kernel = has "k", has "u" end
  if has "G" ~= has "H" then found.no_host, found.no_guest = has "G", has "H" end
  return true
end

-- NAME, perhaps with modifiers behind it (":u") → { type, config, … } as core.event wants it, or nil and the reason: no
-- such event, or none that this machine counts.
function perf_events.find(name)
  local base, modifiers = name:match(MODIFIERS)
  local found, message = of_name(base or name)
  if found then
    local good
    good, message = modify(found, modifiers or "")
    found = good and found
  end
  if not found then return nil, message end
  found.clock = found.type == SOFTWARE and found.config <= 1
  found.no_idle = found.clock
  found.cpus = options.cpus
  local ok, why = pcall(core.event.check, found)
  if ok then return found end
  if found.precise > 0 then
    found.precise = 0
    if pcall(core.event.check, found) then return nil, "this CPU tells its places not so precisely: leave out :p" end
  end
  if found.type == HARDWARE or found.type == CACHE or found.type == RAW then
    local counters = read(DEVICES .. "cpu/type") or read(DEVICES .. "armv8_pmuv3/type") or
                     read(DEVICES .. "cpu_core/type")
    local names = table.concat(text.keys(software), ", ")
    why = counters and "this CPU does not count it"
      or "this machine has no hardware counters, as most virtual ones; there are " .. names
  end
  return nil, why
end

-- Whether it has to be said how often FOUND, of find, is sampled: of the software's events each one can be.
function perf_events.needs_rate(found) return found.clock or found.type ~= SOFTWARE end

-- The events that this machine counts, of names that PATTERN matches, sorted: the kernel's, the CPU's, and those that
-- its PMUs name, "cpu/cache-misses/".
function perf_events.names(wanted)
  local names, found = known(), {}
  for _, pmu in ipairs(list(DEVICES)) do
    for _, event in ipairs(list(DEVICES .. pmu .. "/events/")) do
      if not event:find "%.%l+$" then names[#names + 1] = ("%s/%s/"):format(pmu, event) end -- .scale and .unit of one
    end
  end
  for _, name in ipairs(names) do
    if not aliases[name] and pattern.matches(wanted, name) and perf_events.find(name) then found[#found + 1] = name end
  end
  table.sort(found)
  return found
end

return perf_events
