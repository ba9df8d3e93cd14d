-- What is held, by stack, for people.
local frames = require "uplua.heap.frames"
local text   = require "uplua.base.text"

local held = {}

local plural, thousands = text.plural, text.thousands

local function sum_text(h) return ("%s in %s"):format(plural(h.bytes, "byte"), plural(h.blocks, "block")) end

local function add_frames(lines, h)
  frames.add(lines, h)
  lines[#lines + 1] = ""
end

-- ", 12.3 %, 4.5 KB/s": H's share of what OPTIONS' sum has, and for each second since the counting began.
local function rates_text(h, options)
  local words, now, since = "", options.now, options.since
  if options.sum and options.sum.bytes > 0 then words = (", %.1f %%"):format(100 * h.bytes / options.sum.bytes) end
  if now and since and now > since then
    words = ("%s, %s/s"):format(words, text.bytes(h.bytes * 1e9 / (now - since)))
  end
  return words
end

local function add_stack(lines, h, options)
  local now = options.now
  local ages = ""
  if now and h.oldest then
    ages = ", oldest " .. text.time(now - h.oldest)
    if h.blocks > 1 then ages = ages .. ", newest " .. text.time(now - h.newest) end
  end
  lines[#lines + 1] = ("   %s%s%s"):format(sum_text(h), rates_text(h, options), ages)
  local grows = options.growth and options.growth:line(h.name)
  if grows then lines[#lines + 1] = "     " .. grows end
  add_frames(lines, h)
end

-- "zmalloc < dictExpand < main", as many whole ones of NAMES as fit into WIDTH columns. SKIPPED: how many of those
-- behind the first are left out.
local function one_line(names, width, skipped)
  local line
  if skipped > 0 then line = names[1] .. (skipped > 1 and " < ..." or "") end
  for i = skipped + 1, #names do
    local longer = line and line .. " < " .. names[i] or names[i]
    if line and text.width(longer) > width - (i < #names and 6 or 0) then return line .. " < ..." end
    line = longer
  end
  return line
end

local function functions_of(h)
  local names = {}
  for name in h.stack:folded():gmatch "[^;]+" do table.insert(names, 1, name) end
  return names
end

-- The same with offsets, as they tell two stacks apart: "zmalloc+0x21".
local function places_of(h)
  local names = {}
  for name in h.name:gmatch "%s*([^\n]+)" do names[#names + 1] = name end
  return names
end

-- How many of the innermost names all of LISTS have.
local function common(lists)
  local n = 0
  while lists[1][n + 1] do
    for _, names in ipairs(lists) do
      if names[n + 1] ~= lists[1][n + 1] then return n end
    end
    n = n + 1
  end
  return n
end

-- Lines of WIDTH columns for the first N of LIST: those that look alike by the names of their functions are told apart
-- by the offsets, from the innermost function on in which they differ.
local function one_lines(list, n, width)
  local lines = {}
  -- Writes the lines of the stacks with NUMBERS, whose names NAMES(i) gives.
  local function write(numbers, names, skipped)
    local alike = {}
    for _, i in ipairs(numbers) do
      lines[i] = one_line(names(list[i]), width, skipped)
      alike[lines[i]] = alike[lines[i]] or {}
      table.insert(alike[lines[i]], i)
    end
    for _, group in pairs(alike) do
      if group[2] then
        local lists = {}
        for k, i in ipairs(group) do lists[k] = places_of(list[i]) end
        local equal = common(lists)
        if names == functions_of or equal > skipped then write(group, places_of, equal) end
      end
    end
  end
  local all = {}
  for i = 1, n do all[i] = i end
  write(all, functions_of, 0)
  return lines
end

-- SUM: of all, for the shares, or nil.
local function add_combined(lines, list, n, sum)
  if n == 0 then return end
  local all = sum and sum.bytes > 0 and sum.bytes
  lines[#lines + 1] = ("%15s %11s%s  %s"):format("bytes", "blocks", all and "    share" or "", "stack")
  local stacks = one_lines(list, n, all and 41 or 50)
  for i = 1, n do
    local h = list[i]
    lines[#lines + 1] = ("%15s %11s%s  %s"):format(thousands(h.bytes), thousands(h.blocks),
      all and ("  %5.1f %%"):format(100 * h.bytes / all) or "", stacks[i])
  end
  lines[#lines + 1] = ""
end

-- How much more there is than the first N of LIST, whose elements are called ONE and MANY.
local function add_rest(lines, list, n, indent, one, many)
  local rest = { bytes = 0, blocks = 0 }
  for i = n + 1, #list do rest.bytes, rest.blocks = rest.bytes + list[i].bytes, rest.blocks + list[i].blocks end
  if #list > n then
    lines[#lines + 1] = ("%sand %s with %s"):format(indent, plural(#list - n, one, many), sum_text(rest))
  end
end

local function shown_of(list, top) return top == 0 and #list or math.min(top, #list) end

-- stacks(list, options) → lines for the first of LIST and about how many more there are. OPTIONS: top (10; 0: all), now
-- (ns: with ages), sum ({ bytes }, of all: with shares of it), since (ns: with bytes a second until now), combined
-- (true: a line for each), growth (of heap.growth: with what grows).
function held.stacks(list, options)
  options = options or {}
  local lines, shown = {}, shown_of(list, options.top or 10)
  if options.combined then
    add_combined(lines, list, shown, options.sum)
  else
    for i = 1, shown do add_stack(lines, list[i], options) end
  end
  add_rest(lines, list, shown, "   ", "more stack")
  return lines
end

-- "12.3 % of ARTICLE 45.6 MB": of the memory that process H has to itself; nil where that cannot be told any more.
local function memory_text(h, article)
  return h.memory and h.memory > 0 and
    ("%.1f %% of %s %s"):format(100 * h.bytes / h.memory, article, text.bytes(h.memory)) or nil
end

-- Adds what each process holds, where there are several that hold something.
local function add_processes(lines, list, top)
  local shown = shown_of(list, top)
  for i = 1, #list > 1 and shown or 0 do
    local share = memory_text(list[i], "its")
    lines[#lines + 1] = ("      %s: %s%s"):format(sum_text(list[i]), text.escape(list[i].name),
      share and ", " .. share or "")
  end
  if #list > 1 then add_rest(lines, list, shown, "      ", "more process", "more processes") end
end

-- total(list, sum, options) → lines about what all of LIST hold, by process, and what that does not have. OPTIONS: top,
-- older (ns), as they were given.
function held.total(list, sum, options)
  options = options or {}
  local lines = { ("   total %s from %s"):format(sum_text(sum), plural(#list, "stack")) }
  local share = #sum.processes == 1 and memory_text(sum.processes[1], "the")
  if share then lines[#lines + 1] = ("   which is %s that the process has to itself"):format(share) end
  add_processes(lines, sum.processes, options.top or 10)
  if sum.young.blocks > 0 then
    lines[#lines + 1] = ("   left out: %s that are younger than %s"):format(sum_text(sum.young),
      text.time(options.older))
  end
  if sum.gone > 0 then
    lines[#lines + 1] = ("   %s gone with the program that executed this one"):format(plural(sum.gone, "block"))
  end
  return lines
end

-- "+1,024 bytes in +1 block": of a difference.
local function change_text(h)
  local function signed(n) return (n < 0 and "-" or "+") .. thousands(math.abs(n)) end
  return ("%s %s in %s %s"):format(signed(h.bytes), math.abs(h.bytes) == 1 and "byte" or "bytes", signed(h.blocks),
    math.abs(h.blocks) == 1 and "block" or "blocks")
end

-- changes(list, sum, options) → lines about what differs, of heap.difference. OPTIONS: top.
function held.changes(list, sum, options)
  options = options or {}
  local lines, shown = {}, shown_of(list, options.top or 10)
  for i = 1, shown do
    lines[#lines + 1] = "   " .. change_text(list[i])
    add_frames(lines, list[i])
  end
  if #list > shown then lines[#lines + 1] = ("   and %s"):format(plural(#list - shown, "more stack")) end
  lines[#lines + 1] = ("   in all %s from %s"):format(change_text(sum), plural(#list, "stack"))
  return lines
end

return held
