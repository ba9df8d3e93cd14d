-- `probes` at the prompt: the probes of the run by their numbers, and what they take. The kernel counts that only while
-- it is looked at.
local core     = require "uplua.core"
local price    = require "uplua.probe.price"
local terminal = require "uplua.term.terminal"
local text     = require "uplua.base.text"

local probes = {}

local MEASURED = 0.25 -- seconds that are looked at
local NARROWEST_SPEC = 12

local function all() return require "uplua.probe.handle".probes() end

-- Measures LIST: of each { hits, ns, seconds }; nil and the reason where the kernel does not count.
local function measure(list)
  local counting, why = price.count()
  if not counting then return nil, why end
  local meter, measured = price.meter(), {}
  local begin = core.loop.now()
  for _, handle in ipairs(list) do meter:read(handle) end
  core.loop.new():wait({}, MEASURED) -- or until Ctrl-C
  local seconds = core.loop.now() - begin
  for i, handle in ipairs(list) do
    local hits, ns = meter:read(handle)
    measured[i] = { hits, ns, seconds }
  end
  core.system.close(counting)
  return measured
end

local function percent(share)
  if share > 0 and share < 0.0005 then return "< 0.1 %" end
  return ("%.1f %%"):format(share * 100)
end

-- The columns behind the probe: state, hits, cost, trap, CPU.
local function cells(handle, measured)
  local row = { handle.status, text.thousands(handle.hits), "", "", "" }
  if handle.status ~= "attached" or not measured then return row end
  local hits, ns, seconds = unpack(measured)
  local trap, differ = price.trap(handle)
  row[3] = hits > 0 and text.time(ns / hits) or ""
  row[4] = trap and (differ and "≤ " or "") .. text.time(trap) or ""
  row[5] = (differ and hits > 0 and "≤ " or "") .. percent((ns + hits * (trap or 0)) / 1e9 / seconds)
  return row
end

local HEADS = { "state", "hits", "cost", "trap", "CPU" }

local function table_of(list, measured)
  local rows, widths, longest = { HEADS }, {}, 5
  for i, handle in ipairs(list) do
    rows[i + 1] = cells(handle, measured and measured[i])
    longest = math.max(longest, text.width(text.escape(handle.kind .. " " .. handle.spec)))
  end
  local number_width, used = #tostring(#list), 0
  for column = 1, #HEADS do
    widths[column] = 0
    for _, row in ipairs(rows) do widths[column] = math.max(widths[column], text.width(row[column])) end
    used = used + 2 + widths[column]
  end
  local room = (terminal.size() or 80) - number_width - 2 - used
  local width = math.max(math.min(longest, room), NARROWEST_SPEC)
  local lines = {}
  for i, row in ipairs(rows) do
    local handle = list[i - 1]
    local shown = handle and text.escape(handle.kind .. " " .. handle.spec) or "probe"
    local number = handle and tostring(i - 1) or ""
    local parts = { (" "):rep(number_width - #number) .. number, text.pad(text.cut(shown, width), width),
                    text.pad(row[1], widths[1]) }
    for column = 2, #HEADS do
      parts[#parts + 1] = (" "):rep(widths[column] - text.width(row[column])) .. row[column]
    end
    lines[i] = table.concat(parts, "  "):gsub("%s+$", "")
  end
  return table.concat(lines, "\n")
end

-- LIST as text, with what was measured now.
local function shown(list)
  if #list == 0 then return "no probes" end
  local attached = false
  for _, handle in ipairs(list) do attached = attached or handle.status == "attached" end
  local measured, why
  if attached then measured, why = measure(list) end
  return table_of(list, measured) .. (why and "\n" .. why or "")
end

-- What up.probes gives, with a text of its own.
local function list_of()
  return setmetatable(all(), { __tostring = shown })
end

-- The value of the global: probes[2], probes(), probes.
probes.table = setmetatable({}, {
  __index = function(_, number) return all()[number] end,
  __newindex = function() error("probes cannot be set: a probe is made by its constructor", 2) end,
  __call = list_of,
  __tostring = function() return shown(all()) end,
})

return probes
