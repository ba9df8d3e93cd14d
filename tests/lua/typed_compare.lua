-- What a page shows beside what a run has printed: what may differ is stated, all else is the same (tests/lua/typed.lua
-- says how a page states it).
local compare = {}

local function escaped(text) return (text:gsub("%p", "%%%0"):gsub("…", ".-")) end

-- LINE without what never counts: the width of columns, times of day, addresses and offsets, whatever matches one of
-- the step's own PATTERNS, and the length of bars where numbers vary.
local function normal(line, marks)
  line = line:gsub("\27%[[%d;?]*%a", ""):gsub("\r", "")
  for _, pattern in ipairs(marks.patterns) do line = line:gsub(pattern, "~") end
  line = line:gsub("%+0x%x+", "+0x~"):gsub("0x%x%x%x%x%x+", "0x~"):gsub("%f[%d]%d%d:%d%d:%d%d%.?%d*", "~:~:~")
  if marks.numbers then line = line:gsub("|[^|%w]*|$", "|@|") end
  return (line:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

-- The count in a line of a histogram, whose bar is of "@" or of blocks; 0 for the line in place of empty buckets.
local in_bucket
function in_bucket(lines, i)
  local count = (lines[i] or ""):match "(%d[%d,]*)%s+|[^|%w]*|%s*$"
  if not count and (lines[i] or ""):find "^%s+…$" and in_bucket(lines, i + 1) then return "0" end
  return count
end

-- Lines of a histogram that follow each other as one with the sum of their counts.
local function without_buckets(lines)
  local out, sum = {}, nil
  for i, line in ipairs(lines) do
    local count = in_bucket(lines, i)
    if count then
      if not sum then out[#out + 1] = "" end
      sum = (sum or 0) + tonumber((count:gsub(",", "")))
      out[#out] = ("%d in buckets"):format(sum)
    else
      out[#out + 1], sum = line, nil
    end
  end
  return out
end

local UNITS = { ns = 1, us = 1e3, ms = 1e6, s = 1e9, min = 60e9, h = 3600e9 }

-- Whether the number that a line shows is one of the two after these words, which name a process or thread.
local function names_process(before) return before:find "%f[%w][Pp][Ii][Dd] $" or before:find "%f[%w]process $" end

-- Parts of LINE, in order: { text } or { number = "1,204", unit = nil or "ms", exact =, name = }.
local function parts_of(line, marks)
  local parts, done, at, exact = {}, 1, 1, {}
  for _, phrase in ipairs(marks.exact) do
    local from, to = line:find(phrase, 1, true)
    if from then exact[#exact + 1] = { from, to } end
  end
  while true do
    local from, to = line:find("%f[%w_]%d[%d,.]*", at)
    if not from then break end
    while line:find("^[,.]", to) do to = to - 1 end
    at = to + 1
    if not line:find("^[%a_]", at) and not (from > 1 and line:find("^%.", from - 1)) then
      local part = { number = line:sub(from, to), unit = line:match("^ (%a+)%f[^%w]", at) }
      part.unit = UNITS[part.unit or ""] and part.unit or nil
      part.share = line:find("^ ?%%", at)
      for _, range in ipairs(exact) do
        if from >= range[1] and to <= range[2] then part.exact = true end
      end
      parts[#parts + 1] = { text = line:sub(done, from - 1) }
      part.name = names_process(parts[#parts].text)
      parts[#parts + 1] = part
      at = part.unit and at + 1 + #part.unit or at
      done = at
    end
  end
  parts[#parts + 1] = { text = line:sub(done) }
  return parts
end

local function value(number) return tonumber((number:gsub(",", ""))) end

local function near(a, b, factor)
  if factor == true or a == b then return true end
  return a > 0 and b > 0 and a <= b * factor and b <= a * factor
end

-- Whether GOT stands where the page has the number PART. NAMES: { of page → of run, and back in `taken` }, to which
-- FRESH adds.
local function fits(part, got, unit, marks, names, fresh)
  if part.exact then return got == part.number and unit == part.unit end
  if part.unit then
    if not UNITS[unit] then return false end
    return near(value(part.number) * UNITS[part.unit], value(got) * UNITS[unit], marks.times or true)
  end
  local known = names[part.number] or fresh[part.number]
  if known then return known == got end
  if part.name or marks.names[part.number] then
    if names.taken[got] then return false end
    for _, other in pairs(fresh) do
      if other == got then return false end
    end
    fresh[part.number] = got
    return true
  end
  local factor = part.share and marks.shares or marks.numbers
  if factor then return near(value(part.number), value(got), factor) end
  return part.number == got
end

-- The pattern that a line like WANT matches, with captures for its numbers.
local function pattern_of(parts)
  local pieces = { "^" }
  for _, part in ipairs(parts) do
    pieces[#pieces + 1] = part.text and escaped(part.text) or part.unit and "([%d,.]*%d) (%a+)" or "([%d,.]*%d)"
  end
  pieces[#pieces + 1] = "$"
  return table.concat(pieces)
end

-- Whether each word of WANT is one of GOT.
local function has_words(want, got, names)
  for word in want:gmatch "%S+" do
    if not (" " .. got .. " "):find(" " .. (names[word] or word) .. " ", 1, true) then return false end
  end
  return true
end

-- NAMES with those that the line GOT adds, if it is like WANT; nil if not.
local function line_fits(want, got, marks, names)
  if marks.more_words then return has_words(want, got, names) and names or nil end
  local parts = parts_of(want, marks)
  local found = { got:match(pattern_of(parts)) }
  if #found == 0 then return nil end
  local at, fresh = 1, {}
  for _, part in ipairs(parts) do
    if part.number then
      local unit = part.unit and found[at + 1]
      if not fits(part, found[at], unit, marks, names, fresh) then return nil end
      at = at + (part.unit and 2 or 1)
    end
  end
  if not next(fresh) then return names end
  local all = { taken = {} }
  for page, run in pairs(names) do all[page] = run end
  for page, run in pairs(fresh) do all[page] = run end
  for page, run in pairs(all) do
    if page ~= "taken" then all.taken[run] = page end
  end
  return all
end

-- In any order: each line of WANT is one of GOT; those of GOT that are left are those that "…" stands for.
local function fits_unordered(want, got, marks, names)
  local used, elided = {}, false
  for _, line in ipairs(want) do
    if line == "…" then
      elided = true
    else
      local found
      for i, other in ipairs(got) do
        found = not used[i] and line_fits(line, other, marks, names)
        if found then
          used[i], names = true, found
          break
        end
      end
      if not found then return nil end
    end
  end
  for i = 1, elided and 0 or #got do
    if not used[i] then return nil end
  end
  return names
end

-- WANT from line I on, beside GOT from line J on; "…" stands for any number of lines.
local function fits_from(want, i, got, j, marks, names)
  while i <= #want and want[i] ~= "…" do
    names = got[j] and line_fits(want[i], got[j], marks, names)
    if not names then return nil end
    i, j = i + 1, j + 1
  end
  if i > #want then return j > #got and names or nil end
  for k = j, #got + 1 do
    local found = fits_from(want, i + 1, got, k, marks, names)
    if found then return found end
  end
  return nil
end

local function normal_lines(lines, marks)
  if marks.buckets then lines = without_buckets(lines) end
  local list = {}
  for i, line in ipairs(lines) do list[i] = normal(line, marks) end
  while list[#list] == "" do list[#list] = nil end
  return list
end

-- compare.lines(want, got, marks, names) → the names that hold from now on, where the lines GOT are those that the page
-- shows, WANT, but for what MARKS let vary: { patterns =, exact =, names =, numbers =, times =, shares =,
-- buckets =, unordered =, more_words = }; otherwise nil. NAMES: the page's numbers of processes → those of the run;
-- compare.names() makes them.
function compare.lines(want, got, marks, names)
  local w, g = normal_lines(want, marks), normal_lines(got, marks)
  if marks.unordered then return fits_unordered(w, g, marks, names) end
  return fits_from(w, 1, g, 1, marks, names)
end

-- No names yet.
function compare.names() return { taken = {} } end

return compare
