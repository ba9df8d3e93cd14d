-- The report of --explain: for each handler where its probe sits, what it takes, and its Lua lines beside the BPF
-- instructions that they became.
local core = require "uplua.core"
local text = require "uplua.base.text"

local explain = {}

local WIDTH = 100
local SOURCE = 46     -- columns of Lua source; the instructions stand beside it
local MOST_SITES = 5

-- BPF_MAP_TYPE_*
local TYPES = {
  [1] = "hash", [2] = "array", [5] = "hash per CPU", [6] = "array per CPU", [9] = "LRU hash", [10] = "LRU hash per CPU",
  [27] = "ring", [29] = "storage of each thread",
}

local function plural(n, one) return ("%d %s%s"):format(n, one, n == 1 and "" or "s") end

-- S in pieces of at most WIDTH columns, broken at spaces where there are any.
local function wrap(s, width)
  local pieces = {}
  while text.width(s) > width do
    local piece, columns, cut = nil, 0, nil
    for i, c in s:gmatch "()([%z\1-\127\194-\255][\128-\191]*)" do
      columns = columns + 1
      if columns > width then break end
      piece = i + #c - 1
      if c == " " and i > width / 2 then cut = i end
    end
    pieces[#pieces + 1] = s:sub(1, (cut or piece + 1) - 1)
    s = s:sub(cut and cut + 1 or piece + 1)
  end
  pieces[#pieces + 1] = s
  return pieces
end

local function row(lines, name, value)
  for i, piece in ipairs(wrap(value, WIDTH - 11)) do
    lines[#lines + 1] = ("  %-8s %s"):format(i == 1 and name or "", piece)
  end
end

-- The distinct matches of PATTERN in the instructions of PROGRAM, in their order.
local function mentioned(program, pattern)
  local seen, list = {}, {}
  for _, instruction in ipairs(program.instructions) do
    local name = instruction.text:match(pattern)
    if name and not seen[name] then seen[name], list[#list + 1] = true, name end
  end
  return table.concat(list, ", ")
end

local function add_places(lines, probe)
  local places = probe.sites and probe.sites:list(MOST_SITES) or probe.places or {}
  local count = probe.summary and probe.summary.count or #places
  for i, site in ipairs(places) do
    if i > MOST_SITES then break end
    local place = site.text or site["function"]
    if site.module then
      local inside = site.inside + site.slid
      local behind = inside > 0 and ("+%#x"):format(inside) or ""
      place = ("%s:%s%s, offset %#x"):format(site.module, place, behind, site.offset)
    end
    row(lines, i == 1 and "at" or "", text.escape(place))
    for _, piece in ipairs(wrap(site.why or "", WIDTH - 13)) do
      if site.why then row(lines, "", "  " .. piece) end
    end
    for _, piece in ipairs(wrap("there: " .. (site.found or ""), WIDTH - 13)) do
      if site.found then row(lines, "", "  " .. piece) end
    end
  end
  if count > MOST_SITES then row(lines, "", ("and %s more"):format(plural(count - MOST_SITES, "place"))) end
  for i, one in ipairs(probe.skipped or {}) do
    row(lines, i == 1 and "not at" or "", text.escape(one["function"]) .. ": " .. one.why)
  end
end

-- The parts that a probe may have, where %s returns: a function or a call.
local PARTS = {
  entry = "at the %s's entry, for the handler at its return",
  rounds = "the rounds of its loops, which the handler's program calls",
  session = "at the %s's entry and return: one session",
  ["return"] = "at the %s's return",
}

local function part_of(program, probe)
  local returning = probe.provider.of_return
  local part = program.part or program.session and "session" or returning and "return"
  return part and PARTS[part]:format(returning)
end

-- The Lua lines, each beside its instructions; a line is repeated wherever control comes back to it.
local function add_code(lines, program)
  local at, file = 1, nil
  for i, line in ipairs(program.lines) do
    if line.file ~= file then
      file = line.file
      lines[#lines + 1] = ("  %s"):format(text.escape(file))
    end
    local ends = program.lines[i + 1] and program.lines[i + 1].at or program.count
    local source = wrap(text.escape((line.text:gsub("\t", "  "):gsub("%s+$", "")), ""), SOURCE)
    local first, n = true, 1
    while source[n] or program.instructions[at] and program.instructions[at].at < ends do
      local instruction = program.instructions[at]
      if instruction and instruction.at < ends then at = at + 1 else instruction = nil end
      local left = ("%5s %s"):format(first and line.line or "", text.pad(source[n] or "", SOURCE))
      local right = instruction and (" %4d  %s"):format(instruction.at, instruction.text) or ""
      lines[#lines + 1] = (left .. right):gsub("%s+$", "")
      first, n = false, n + 1
    end
  end
end

local function add_program(lines, program, probe, remarks)
  local where = part_of(program, probe)
  local title = ("%s %s"):format(probe.provider.name, text.escape(probe.spec))
  lines[#lines + 1] = where and ("%s (%s)"):format(title, where) or title
  if probe.where then row(lines, "at", probe.where) end
  add_places(lines, probe)
  for i, remark in ipairs(remarks) do row(lines, i == 1 and "returns" or "", remark) end
  local scratch = program.scratch > 0 and ", " .. plural(program.scratch, "byte") .. " of other memory" or ""
  local stack = plural(program.stack, "byte")
  row(lines, "takes", ("%s, %s of stack%s"):format(plural(program.count, "instruction"), stack, scratch))
  local calls, maps = mentioned(program, "^call (.+)$"), mentioned(program, "map%[(.+)%]")
  if calls ~= "" then row(lines, "calls", calls) end
  if maps ~= "" then row(lines, "maps", maps) end
  lines[#lines + 1] = ""
  add_code(lines, program)
  lines[#lines + 1] = ""
end

local function add_maps(lines, maps)
  if #maps > 0 then lines[#lines + 1] = "maps" end
  for _, map in ipairs(maps) do
    local type = TYPES[map.type] or "type " .. map.type
    local sizes = ("%s of %d → %d bytes"):format(plural(map.max, "entry"):gsub("ys$", "ies"), map.key, map.value)
    if map.max == 0 then sizes = plural(map.value, "byte") end
    if map.value == 0 then sizes = plural(map.max, "byte") end
    lines[#lines + 1] = ("  %-16s %s, %s"):format(map.name, type, sizes)
  end
end

-- The kernel that the code is made for: another kernel, or one that this process may not ask, gets other code.
local function add_kernel(lines)
  local has, lacks = {}, {}
  for _, feature in ipairs(core.setup.features()) do
    local list = feature[2] and has or lacks
    list[#list + 1] = feature[1]
  end
  local parts = {}
  if #has > 0 then parts[1] = "with " .. table.concat(has, ", ") end
  if #lacks > 0 then parts[#parts + 1] = "without " .. table.concat(lacks, ", ") end
  lines[#lines + 1] = "for a kernel " .. table.concat(parts, ", ")
  local missing = core.system.capability_missing()
  if missing then lines[#lines + 1] = ("what this one has could not be tried without %s"):format(missing) end
  lines[#lines + 1] = ""
end

-- The report, a string, of what compiler:compile() returned for PROBES (uplua.probe.handler). OWN(name) is what stands
-- for the probe of the program NAME, which no handler has. REMARKS(probe): a list of what there is to know of e.ret.
function explain.report(compiled, probes, own, remarks)
  local lines = {}
  add_kernel(lines)
  for _, program in ipairs(compiled.programs) do
    local probe = probes[program.handler] or own(program.name)
    add_program(lines, program, probe, remarks(probe))
  end
  add_maps(lines, compiled.maps)
  return table.concat(lines, "\n"):gsub("\n+$", "") .. "\n"
end

return explain
