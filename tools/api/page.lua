-- tools/api/page.lua    prints doc/api.md, as lua/uplua/api/ has it
package.path = "lua/?.lua;" .. package.path
local entries = require "uplua.api.entries"

local function row_of(cells)
  local escaped = {}
  for i, cell in ipairs(cells) do escaped[i] = cell:gsub("|", "\\|") end
  return "| " .. table.concat(escaped, " | ") .. " |"
end

local function table_of(head, rows)
  local lines, rule = { row_of(head):gsub("  ", " ") }, {}
  for i = 1, #head do rule[i] = "---" end
  lines[2] = "|" .. table.concat(rule, "|") .. "|"
  for _, row in ipairs(rows) do lines[#lines + 1] = row_of(row) end
  return table.concat(lines, "\n")
end

-- The first cell of a row: declarations without their types.
local function shown(cell)
  return (cell:gsub("`([^`]+)`", function(span)
    local declared = entries.parse(span)
    return declared and "`" .. entries.shown(declared) .. "`"
  end))
end

local function block_of(block)
  if type(block) == "string" then return (block:gsub("\n$", "")) end
  local rows = {}
  for i, row in ipairs(block) do
    local cells = {}
    for c, cell in ipairs(row) do cells[c] = entries.line(cell) end
    cells[1] = shown(cells[1])
    rows[i] = cells
  end
  return table_of(block.head, rows)
end

-- A type for people: unions stand in tables, whose borders look like theirs.
local function plain(type_of) return (type_of:gsub("|", " or ")) end

local function remark_of(one)
  local parts = {}
  if one.kinds then parts[1] = "of " .. one.kinds:gsub(" ", ", ") end
  if one.gives_nil then parts[#parts + 1] = "nil: " .. one.gives_nil end
  if one.raises then parts[#parts + 1] = "raises: " .. one.raises end
  if one.since ~= "1.0" then parts[#parts + 1] = "since " .. one.since end
  return table.concat(parts, "; ")
end

-- The last chapter: all names with their types, by chapter.
local function reference(chapters)
  local parts = { "## Types and errors", [[
`x?` may be left out; `T?` may be nil. All names are there since 1.0 unless it says otherwise. Errors are those besides
arguments of another type.]] }
  local kinds = {}
  for i, one in ipairs((entries.types())) do
    kinds[i] = { "`" .. one[1] .. "`", one[2] and "`" .. plain(one[2]) .. "`" or "",
                 one[3] .. (one.parent and ("; all of %s"):format(one.parent) or "") }
  end
  parts[#parts + 1] = table_of({ "type", "", "" }, kinds)
  for _, chapter in ipairs(chapters) do
    local rows = {}
    for i, one in ipairs(entries.all { chapter }) do
      rows[i] = { "`" .. plain(entries.typed(one)) .. "`", remark_of(one) }
    end
    if #rows > 0 then parts[#parts + 1] = "### " .. chapter.title .. "\n\n" .. table_of({ "", "" }, rows) end
  end
  return table.concat(parts, "\n\n")
end

local parts, chapters = {}, entries.chapters()
for _, chapter in ipairs(chapters) do
  if chapter.title then parts[#parts + 1] = "## " .. chapter.title end
  for _, block in ipairs(chapter) do parts[#parts + 1] = block_of(block) end
end
parts[#parts + 1] = reference(chapters)
print(table.concat(parts, "\n\n"))
