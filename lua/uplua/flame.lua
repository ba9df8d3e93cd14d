-- Flame graphs: a table of stacks with numbers → one SVG file that needs nothing else, to be opened in a browser.
--
--   flame.write(path, source, [options])   writes the picture
--   flame.svg(source, [options])           returns it as text
--
-- SOURCE: a count, a sum or any other object with pairs(), or a table: stack → number. Keys that are tuples become one
-- column: their strings and numbers lie below, then stacks of programs, above them the kernel's; what is of one kind
-- lies in the key's order, the first lowest. A text that is the whole key is a folded stack, "main;serve;zmalloc", as
-- folded.read gives it. OPTIONS: title, a text; unit, what the numbers count ("samples"; "bytes"); colors,
-- { ["lost"] = "#e2574c" }, of columns that begin with these texts; before, another source; absolute, true.
--
-- With before the picture tells how SOURCE differs from that: frames are as wide as in SOURCE and coloured by the
-- change, and marked: red ▲ grew, blue ▼ shrank. Where the sums differ, shares of them are compared; absolute = true:
-- numbers as they are. Both are compared as folded stacks, by the names of functions alone, so that one may be of
-- another day.
--
-- A frame is as wide as its number, its callers lie below. A click shows what lies above a frame in the full width, a
-- click on the lowest row everything again; arrows go to the widest callee, the caller and the neighbours, Escape to
-- everything; Ctrl+F or / searches; b turns a comparison to the widths before. All is in the file; drawn is what is
-- wide enough to be seen, so that 50,000 stacks stay usable. Without scripts a viewer shows the whole picture.
local change       = require "uplua.flame.change"
local file         = require "uplua.file"
local folded       = require "uplua.folded"
local frame        = require "uplua.stack.frame"
local option_table = require "uplua.base.option_table"
local text         = require "uplua.base.text"
local tree         = require "uplua.flame.tree"
local xml          = require "uplua.base.xml"

local flame = {}

local WIDTH, ROW, TOP, BOTTOM, MARGIN = 1200, 17, 46, 30, 10
local LEGEND = 36     -- pixels more above the frames of a comparison
local CHARACTER = 6.6 -- pixels of one, in the picture's font
local SMALLEST = 0.4  -- pixels: what is narrower is drawn when it is zoomed to

local is_source = option_table.check("a count, a sum, or a table of stacks with numbers", function(value)
  return type(value) == "table" and value or nil
end)
local is_colors = option_table.check("a table of texts with colours such as #e2574c", function(value)
  if type(value) ~= "table" then return nil end
  for label, color in pairs(value) do
    if type(label) ~= "string" or type(color) ~= "string" or not color:find "^#%x%x%x%x%x%x$" then return nil end
  end
  return value
end)
local OPTIONS = {
  unit = option_table.text, title = option_table.text, before = is_source, absolute = option_table.boolean,
  colors = is_colors,
}

-- S as a string of the script, in which nothing ends the script's element.
local QUOTED = { ["\\"] = "\\\\", ['"'] = '\\"', ["<"] = "\\x3c", ["]"] = "\\x5d", ["&"] = "\\x26" }
local function quoted(s) return '"' .. text.escape(s):gsub('[\\"<%]&]', QUOTED) .. '"' end

-- The kernel is blue, what has no module grey; the others have warm colours by their file, or in folded stacks, where
-- none is known, by name.
local function color_of(place)
  if place.color then return place.color end
  if place.module == "[kernel]" then return "#8fb4e3" end
  local name = place.folded and place.name or frame.basename(place.module)
  if name == "" then return "#c8c8c8" end
  local hash = 5381
  for byte in name:gmatch "." do hash = (hash * 33 + byte:byte()) % 1000003 end
  return ("hsl(%d,%d%%,%d%%)"):format(hash % 62, 70 + hash % 23, 62 + hash % 13)
end

local function share(value, all) return all > 0 and 100 * value / all or 0 end

local function shorten(name, width)
  local room = math.floor((width - 4) / CHARACTER)
  if room < 3 then return "" end
  if select(2, name:gsub("[^\128-\191]", "")) <= room then return name end
  local piece = {}
  for c in name:gmatch "[%z\1-\127\194-\255][\128-\191]*" do
    if #piece == room - 1 then break end
    piece[#piece + 1] = c
  end
  return table.concat(piece) .. "…"
end

-- NAME behind the MARK of its change.
local function marked(name, mark) return mark == "" and name or mark .. " " .. name end

local FRAME = '<g><title>%s: %s %s, %.2f%%%s</title>' ..
              '<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/><text x="%.1f" y="%d">%s</text></g>\n'

-- The frames that are wide enough, as elements. The script draws them anew. CHANGES: of a comparison.
local function draw(out, root, unit, height, changes)
  local scale = root.value > 0 and (WIDTH - 2 * MARGIN) / root.value or 0
  local function visit(node, depth)
    local x, width = MARGIN + node.start * scale, node.value * scale
    if width < SMALLEST then return end
    local y = height - BOTTOM - (depth + 1) * ROW
    local name, color, more = node.place.name, nil, ""
    if changes then
      local step = changes:step_of(node)
      name, color, more = marked(name, step.mark), step.color, "; " .. changes:text(node)
    end
    out[#out + 1] = FRAME:format(
      xml(node.place.name), text.thousands(node.value), unit, share(node.value, root.value), more, x, y, width, ROW - 1,
      color or color_of(node.place), x + 3, y + 12, xml(shorten(text.escape(name), width)))
    for _, child in ipairs(node.children) do visit(child, depth + 1) end
  end
  visit(root, 0)
end

local function as_number(value) return value < 1e14 and value or ("%.17g"):format(value) end

-- All frames for the script: names, modules, the modules' colors, and for each frame, a caller before its callees, the
-- number of its name and of its module, its value and how many callees it has; the values before, in a comparison.
local function data_of(root)
  local names, modules, colors, rows, row_count, before = {}, {}, {}, {}, 0, {}
  local function number(list, numbers, key, s)
    if not numbers[key] then
      numbers[key] = #list
      list[#list + 1] = quoted(s)
    end
    return numbers[key]
  end
  local of_name, of_module, heads = {}, {}, {}
  -- How a row begins, "name,module,", for each place.
  local function head_of(place)
    local file, color = frame.basename(place.module), color_of(place)
    local module = number(modules, of_module, file .. "\0" .. color, file)
    colors[module + 1] = colors[module + 1] or quoted(color)
    heads[place] = ("%d,%d"):format(number(names, of_name, place.name, place.name), module)
    return heads[place]
  end
  local function visit(node)
    local children = node.children
    rows[row_count + 1] = heads[node.place] or head_of(node.place)
    rows[row_count + 2] = as_number(node.value)
    rows[row_count + 3] = #children
    row_count = row_count + 3
    if node.before then before[#before + 1] = as_number(node.before) end
    for i = 1, #children do visit(children[i]) end
  end
  visit(root)
  return table.concat(names, ","), table.concat(modules, ","), table.concat(colors, ","), table.concat(rows, ","),
    root.before and "[" .. table.concat(before, ",") .. "]" or "null"
end

-- Draws the lines between the title and the frames of a comparison: the runs that are compared, and the meaning of
-- colours and marks.
local function put_legend(put, changes, unit)
  put('<text id="summary" x="%d" y="40">%s</text>\n', MARGIN, xml(changes:summary(unit)))
  put('<text id="side" class="button" x="%d" y="40" text-anchor="end"></text>\n<g id="legend">\n', WIDTH - MARGIN)
  local column = (WIDTH - 2 * MARGIN) / #change.STEPS
  for i, step in ipairs(change.STEPS) do
    local x = MARGIN + (i - 1) * column
    put('<rect x="%.1f" y="50" width="%.1f" height="%d" fill="%s"/><text x="%.1f" y="62">%s</text>\n',
        x, column - 4, ROW - 1, step.color, x + 3, xml(marked(step.words, step.mark)))
  end
  put "</g>\n"
end

-- The constants of the script that say how to compare.
local function put_steps(put, changes)
  local marks, colors = {}, {}
  for i, step in ipairs(change.STEPS) do marks[i], colors[i] = quoted(step.mark), quoted(step.color) end
  put("const scale=%.17g,absolute=%s,WITHIN=%g,marks=[%s],steps=[%s];\n", changes and changes.scale or 1,
      tostring(changes ~= nil and changes.absolute), change.WITHIN, table.concat(marks, ","), table.concat(colors, ","))
end

local function picture(source, given)
  local ok, why = is_source(source)
  if not ok then error("flame: the source " .. why:sub(#"it " + 1), 3) end
  local options = option_table.read("flame", given, OPTIONS, 3)
  local root, depth, changes
  if options.before then
    root, depth = tree.compare(folded.sums(source), folded.sums(options.before))
    changes = change.new(root, options.absolute)
  else
    root, depth = tree.build(source, options.colors)
  end
  local height = TOP + BOTTOM + ROW * depth + (changes and LEGEND or 0)
  local title, unit = options.title or "Flame graph", options.unit or "samples"
  local out = {}
  local function put(line, ...) out[#out + 1] = select("#", ...) > 0 and line:format(...) or line end
  put('<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n')
  put('<svg xmlns="http://www.w3.org/2000/svg" width="100%%" viewBox="0 0 %d %d" ' ..
      'font-family="monospace" font-size="11">\n', WIDTH, height)
  put("<style>rect{rx:1;ry:1}#frames g{cursor:pointer}#frames g:hover rect{stroke:#000;stroke-width:.6}" ..
      "text{pointer-events:none}.button{pointer-events:all;cursor:pointer;fill:#555}</style>\n")
  put('<rect width="100%" height="100%" fill="#fffdf7"/>\n')
  put('<text x="%d" y="22" font-size="16" text-anchor="middle">%s</text>\n', WIDTH / 2, xml(title))
  put('<text id="reset" class="button" x="%d" y="22" visibility="hidden">everything</text>\n', MARGIN)
  put('<text id="search" class="button" x="%d" y="22" text-anchor="end">search</text>\n', WIDTH - MARGIN)
  if changes then put_legend(put, changes, unit) end
  put('<text id="details" x="%d" y="%d">%s</text>\n', MARGIN, height - 10,
      root.value > 0 and "" or "nothing was counted")
  put('<text id="matched" x="%d" y="%d" text-anchor="end"></text>\n<g id="frames">\n', WIDTH - MARGIN, height - 10)
  draw(out, root, xml(unit), height, changes)
  put('</g>\n<script><![CDATA[\n"use strict";\nconst names=[%s];\nconst modules=[%s];\nconst colors=[%s];\n' ..
      'const rows=[%s];\nconst before=%s;\n', data_of(root))
  put("const unit=%s,W=%d,H=%d,ROW=%d,BOTTOM=%d,MARGIN=%d,CHARACTER=%.1f,SMALLEST=%.1f;\n",
      quoted(unit), WIDTH, height, ROW, BOTTOM, MARGIN, CHARACTER, SMALLEST)
  put_steps(put, changes)
  put(require "uplua.flame.browser")
  put "]]></script>\n</svg>\n"
  return table.concat(out)
end

-- The picture of SOURCE as text. Raises what is wrong with the arguments.
function flame.svg(source, options)
  return (picture(source, options))
end

-- Writes the picture of SOURCE to the file PATH. Raises why it cannot.
function flame.write(path, source, options)
  if type(path) ~= "string" then error("flame: the first argument is the file's path, a text", 2) end
  local written, why = file.write(path, picture(source, options))
  if not written then error("flame: cannot write " .. why, 2) end
end

return flame
