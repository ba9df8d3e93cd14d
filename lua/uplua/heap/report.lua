-- A proof for people.
local frames  = require "uplua.heap.frames"
local holders = require "uplua.heap.holders"
local text    = require "uplua.base.text"

local report = {}

local plural = text.plural

local function sum_text(sum) return ("%s in %s"):format(plural(sum.bytes, "byte"), plural(sum.blocks, "block")) end

local function with(a, b) return { bytes = a.bytes + b.bytes, blocks = a.blocks + b.blocks } end

-- --- what is known of each process ---

local function how(process)
  local totals = process.scan.totals
  if process.at_end then return "it had come to its end, and no pointer to what is lost was left" end
  if process.exact then
    return ("it was stopped for %s, and no pointer to what is lost was left"):format(
      text.time(tonumber(totals.stopped_for)))
  end
  local passes = ("unreachable in %d of %d passes"):format(process.passes, process.passes)
  if process.suspects == 0 then return ("nothing is lost after %s"):format(plural(process.passes, "pass", "passes")) end
  if process.wrong == nil then return passes .. ": too few to tell how many of them wrongly" end
  if process.wrong < 0.01 then return passes .. ", fewer than 0.01 blocks of them wrongly" end
  return ("%s, about %s of them wrongly"):format(passes,
    process.wrong < 10 and ("%.2g"):format(process.wrong) or text.thousands(math.ceil(process.wrong)))
end

local function add_process(lines, process, several)
  local name = several and ("process %d: "):format(process.pid) or ""
  if process.failed then
    lines[#lines + 1] = ("   %snothing is proven: %s"):format(name, text.escape(process.why))
    return
  end
  local proven = process.proven and "" or "not proven: "
  lines[#lines + 1] = ("   %s%s%s"):format(name, proven, how(process))
  if process.why then lines[#lines + 1] = ("   %s%s"):format(name, text.escape(process.why)) end
  local device = tonumber(process.scan.totals.device)
  if device > 0 then
    lines[#lines + 1] = ("   %s%s of devices' memory were not looked at"):format(name, text.bytes(device))
  end
end

-- --- stacks ---

-- What a stack has lost: "1,656 bytes in 23 blocks are lost: 72 bytes in 1 block, and 1,584 … below".
local function add_lost(lines, row, now)
  for _, kind in ipairs { "proven", "suspected" } do
    local direct, below = row[kind], row[kind .. "_below"]
    if direct.blocks > 0 then
      local ages = "oldest " .. text.time(now - row.oldest)
      if direct.blocks > 1 then ages = ages .. ", newest " .. text.time(now - row.newest) end
      lines[#lines + 1] = ("   %s %s, %s"):format(sum_text(with(direct, below)),
        kind == "proven" and "lost" or "unreachable", ages)
      if below.blocks > 0 then
        lines[#lines + 1] = ("     %s directly, %s that only these lead to"):format(sum_text(direct), sum_text(below))
      end
    end
  end
  frames.add(lines, row)
  lines[#lines + 1] = ""
end

local MOST_HOLDERS = 3

local function add_held(lines, row)
  lines[#lines + 1] = ("   %s held"):format(sum_text(row.held))
  local list, rest = holders.of(row), { bytes = row.held.bytes, blocks = row.held.blocks }
  for i = 1, math.min(#list, MOST_HOLDERS) do
    local one = list[i]
    lines[#lines + 1] = ("     kept by %s%s: %s"):format(text.escape(one.name), text.escape(one.path), sum_text(one))
    rest.bytes, rest.blocks = rest.bytes - one.bytes, rest.blocks - one.blocks
  end
  if rest.blocks > 0 then lines[#lines + 1] = ("     kept by others: %s"):format(sum_text(rest)) end
  frames.add(lines, row)
  lines[#lines + 1] = ""
end

-- The rows of STACKS that HAS says yes to, and how many there are.
local function chosen(stacks, has, order)
  local list = {}
  for _, row in ipairs(stacks) do
    if has(row) then list[#list + 1] = row end
  end
  if order then table.sort(list, order) end
  return list
end

local function has_lost(row) return row.proven.blocks + row.suspected.blocks > 0 end
local function holds(row) return row.held.blocks > 0 end
local function by_held(a, b)
  if a.held.bytes ~= b.held.bytes then return a.held.bytes > b.held.bytes end
  return a.name < b.name
end

local function add_part(lines, list, top, add, what, now)
  local shown = top == 0 and #list or math.min(top, #list)
  for i = 1, shown do add(lines, list[i], now) end
  if #list > shown then
    lines[#lines + 1] = ("   and %s %s"):format(plural(#list - shown, "more stack"), what)
    lines[#lines + 1] = ""
  end
end

local function add_total(lines, sum)
  local parts = {}
  local function add(one, name)
    if one.blocks > 0 then parts[#parts + 1] = ("   %s: %s"):format(name, sum_text(one)) end
  end
  add(with(sum.proven, sum.proven_below), "proven lost")
  add(with(sum.suspected, sum.suspected_below), "unreachable, not proven")
  add(sum.held, "held")
  add(sum.young, "too young to tell")
  add(sum.unknown, "unknown: unreachable in some passes only")
  if #parts == 0 then parts[1] = "   nothing is held" end
  for _, line in ipairs(parts) do lines[#lines + 1] = line end
end

-- known(proof) → what is known of each process, as lines.
function report.known(proof)
  local lines = {}
  for _, process in ipairs(proof.processes) do add_process(lines, process, #proof.processes > 1) end
  if #proof.processes == 0 then lines[1] = "   nothing is proven: no process holds a block" end
  lines[#lines + 1] = ""
  return lines
end

-- total(proof) → the sums of all, as lines.
function report.total(proof)
  local lines = {}
  add_total(lines, proof.sum)
  return lines
end

local PARTS = {
  { "proven", "lost" }, { "suspected", "unreachable, not proven to be lost" }, { "held", "held" },
}

-- parts(proof) → what is lost, unreachable and held, for heap.tree and heap.sites: a list of { title, list }, of what
-- there is; LIST of { stack, bytes, blocks }, what is lost with what only that leads to.
function report.parts(proof)
  local parts = {}
  for _, part in ipairs(PARTS) do
    local list = {}
    for _, row in ipairs(proof.stacks) do
      local one = row[part[1] .. "_below"] and with(row[part[1]], row[part[1] .. "_below"]) or row[part[1]]
      if row[part[1]].blocks > 0 then
        list[#list + 1] = { stack = row.stack, bytes = one.bytes, blocks = one.blocks }
      end
    end
    if list[1] then parts[#parts + 1] = { title = part[2], list = list } end
  end
  return parts
end

function report.lines(proof, top)
  local lines = report.known(proof)
  add_part(lines, chosen(proof.stacks, has_lost), top or 10, add_lost, "with what is lost", proof.ended)
  add_part(lines, chosen(proof.stacks, holds, by_held), top or 10, add_held, "with what is held")
  add_total(lines, proof.sum)
  return lines
end

return report
