-- Compares probes where they have slid to with probes at the entries (slide = false):
--   uplua tests/slide/compare.lua 'libc:*' … -- COMMAND
-- Both must see the same calls, in one order in each thread, with the same arguments, caller, stack pointer, memory and
-- stack. Prints what differs, and at the end what was compared.
local up = require "uplua"

local MIX = 0x5851f42d4c957f2dLL
local MOST = { max = 200000 }

-- What handlers read of a function's entry. Each kind makes its own choice of a site.
local READS = {
  { "nothing", function() return 1LL end },
  { "arg0", function(e) return e.arg0 end },
  { "arg1", function(e) return e.arg1 end },
  { "arg2", function(e) return e.arg2 end },
  { "arg0 to arg2", function(e) return (e.arg0 * MIX + e.arg1) * MIX + e.arg2 end },
  { "arg3 to arg5", function(e) return (e.arg3 * MIX + e.arg4) * MIX + e.arg5 end },
  { "all arguments", function(e)
    return ((((e.arg0 * MIX + e.arg1) * MIX + e.arg2) * MIX + e.arg3) * MIX + e.arg4) * MIX + e.arg5
  end },
  { "caller and stack pointer", function(e) return e.caller * MIX + e.sp end },
  { "memory", function(e)
    return (up.read_i64(e.sp) or 3LL) * MIX + (up.read_i64(e.sp + 8) or 5LL) * MIX + (up.read_i64(e.arg0) or 7LL)
  end },
}

local kinds = {}

-- Functions that cannot have a probe at their entries, and so nothing to compare with: the kernel puts none on their
-- first instructions, and only the slid probes see the calls. By the sites, before the command begins.
local without_entry = up.hash { max = 8192 }

-- Sums by function tell where a difference is; a chain by thread, each link of which mixes all that is before it, tells
-- that the order is one.
local function attach(kind, read, specs, slide)
  local calls, sums, chains = up.count(MOST), up.sum(MOST), up.hash { max = 8192 }
  local probe = up.uprobe(specs, { slide = slide }, function(e)
    if without_entry[e.func] then return end
    local value = (read(e) * MIX + e.ip) * MIX + e.tid
    calls[e.func]:inc()
    sums[e.func]:add(bit.rshift(value, 20))
    chains[e.tid] = (chains[e.tid] or 0LL) * MIX + value
  end)
  kinds[kind][slide] = { calls = calls, sums = sums, chains = chains, probe = probe }
end

local function attach_stacks(kind, specs, slide)
  local calls = up.count { max = 500000 } -- three frames: the store holds so many stacks only
  local probe = up.uprobe(specs, { slide = slide }, function(e)
    if not without_entry[e.func] then calls[{ e.func, e:ustack(3) }]:inc() end
  end)
  kinds[kind][slide] = { stacks = calls, probe = probe }
end

local specs, wanted = {}, os.getenv "SLIDE_READS"

-- Whether what handlers READ is to be compared: all that is, or what SLIDE_READS lists.
local function is_wanted(read) return not wanted or (", " .. wanted .. ","):find(", " .. read .. ",", 1, true) end

for _, spec in ipairs(arg) do specs[#specs + 1] = spec end
for kind, read in ipairs(READS) do
  if is_wanted(read[1]) then
    kinds[kind] = { name = read[1] }
    attach(kind, read[2], specs, true)
    attach(kind, read[2], specs, false)
  end
end
if is_wanted "stack" then
  kinds[#READS + 1] = { name = "stack" }
  attach_stacks(#READS + 1, specs, true)
  attach_stacks(#READS + 1, specs, false)
end

up.at_start(function()
  for _, kind in pairs(kinds) do
    local entries = {}
    for _, site in ipairs(kind[false].probe:sites()) do entries[site.name] = true end
    for _, site in ipairs(kind[true].probe:sites()) do
      if not entries[site.name] then without_entry[site.name] = 1 end
    end
  end
end)

-- Prints what the two MAPS have that differs: how many keys.
local function compare(kind, what, a, b)
  local differ, seen = 0, {}
  local function key_of(key) return type(key) == "table" and key[1] .. " " .. tostring(key[2]) or tostring(key) end
  for key, value in a:pairs() do seen[key_of(key)] = value end
  local function tell(key, one, other)
    differ = differ + 1
    if differ <= 20 then print(("%s of %s: %s slid, %s at the entry (%s)"):format(what, key, one, other, kind.name)) end
  end
  for key, value in b:pairs() do
    local name = key_of(key)
    if seen[name] ~= value then tell(name, tostring(seen[name]), tostring(value)) end
    seen[name] = nil
  end
  for name, value in pairs(seen) do tell(name, tostring(value), "nil") end
  return differ
end

up.at_exit(function()
  local differ, called, slid, calls = 0, {}, {}, 0
  for _, kind in pairs(kinds) do
    local at, entry = kind[true], kind[false]
    local moved, names, most = {}, 0, 0
    for _, site in ipairs(at.probe:sites()) do if site.slid > 0 then moved[site.name] = true end end
    for _, what in ipairs { "calls", "sums", "chains", "stacks" } do
      if at[what] then differ = differ + compare(kind, what, at[what], entry[what]) end
    end
    for name, count in (entry.calls or up.count()):pairs() do
      called[name] = true
      calls = calls + tonumber(count)
      most = most + 1
      if moved[name] then slid[name] = true names = names + 1 end
    end
    if most > 0 then print(("%-26s %6d functions, %6d of them at a slid site"):format(kind.name, most, names)) end
  end
  -- For who adds several runs up: each function that was called, and whether it was compared at a slid site.
  local list = os.getenv "SLIDE_FUNCTIONS" and assert(io.open(os.getenv "SLIDE_FUNCTIONS", "a"))
  for name in pairs(list and called or {}) do
    list:write(("%s\t%s\t%d\n"):format(table.concat(specs, " "), name, slid[name] and 1 or 0))
  end
  if list then list:close() end
  local function count(set) local n = 0 for _ in pairs(set) do n = n + 1 end return n end
  local without = {}
  for name in without_entry:pairs() do without[#without + 1] = name end
  table.sort(without)
  if #without > 0 then print("not compared, without a probe at the entry: " .. table.concat(without, ", ")) end
  print(("all: %d functions were called, %d of them compared at a slid site, %d calls, %d differences")
    :format(count(called), count(slid), calls, differ))
end)
