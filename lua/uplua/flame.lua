-- Flame graphs: a table of stacks with numbers → one SVG file that needs nothing else, to be opened in a browser.
--
--   flame.write(path, source, [options])   writes the picture
--   flame.svg(source, [options])           returns it as text
--
-- SOURCE: a count, a sum or any other object with pairs(), or a table: stack → number. Keys that are tuples become one column: their
-- strings and numbers lie below, then stacks of programs, above them the kernel's; what is of one kind lies in the key's order, the
-- first lowest. OPTIONS: title, a text; unit, what the numbers count ("samples"; "bytes").
--
-- A frame is as wide as its number, its callers lie below. A click shows what lies above a frame in the full width, a click on the
-- lowest row everything again; Ctrl+F or / searches. All is in the file; drawn is what is wide enough to be seen, so that 50,000
-- stacks stay usable. Without scripts a viewer shows the whole picture.
local frame = require "uplua.frame"
local text  = require "uplua.text"
local tree  = require "uplua.flame_tree"

local flame = {}

local WIDTH, ROW, TOP, BOTTOM, MARGIN = 1200, 17, 46, 30, 10
local CHARACTER = 6.6 -- pixels of one, in the picture's font
local SMALLEST = 0.4  -- pixels: what is narrower is drawn when it is zoomed to

local OPTIONS = { unit = true, title = true }

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

local function xml(s) return (text.escape(s):gsub('[&<>"]', ENTITIES)) end

-- S as a string of the script, in which nothing ends the script's element.
local QUOTED = { ["\\"] = "\\\\", ['"'] = '\\"', ["<"] = "\\x3c", ["]"] = "\\x5d", ["&"] = "\\x26" }
local function quoted(s) return '"' .. text.escape(s):gsub('[\\"<%]&]', QUOTED) .. '"' end

-- The kernel is blue, what has no module grey; the others have warm colours by their file.
local function color_of(module)
  if module == "" then return "#c8c8c8" end
  if module == "[kernel]" then return "#8fb4e3" end
  local hash = 5381
  for byte in frame.basename(module):gmatch "." do hash = (hash * 33 + byte:byte()) % 1000003 end
  return ("hsl(%d,%d%%,%d%%)"):format(hash % 62, 70 + hash % 23, 62 + hash % 13)
end

local function share(value, all) return all > 0 and 100 * value / all or 0 end

local function shorten(name, width)
  local room = math.floor((width - 4) / CHARACTER)
  if room < 3 then return "" end
  if text.width(name) <= room then return name end
  local piece = {}
  for c in name:gmatch "[%z\1-\127\194-\255][\128-\191]*" do
    if #piece == room - 1 then break end
    piece[#piece + 1] = c
  end
  return table.concat(piece) .. "…"
end

-- The frames that are wide enough, as elements. The script draws them anew.
local function draw(out, root, unit, height)
  local scale = root.value > 0 and (WIDTH - 2 * MARGIN) / root.value or 0
  local function visit(node, depth)
    local x, width = MARGIN + node.start * scale, node.value * scale
    if width < SMALLEST then return end
    local y = height - BOTTOM - (depth + 1) * ROW
    out[#out + 1] = ('<g><title>%s: %s %s, %.2f%%</title><rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/><text x="%.1f" y="%d">%s</text></g>\n'):format(
      xml(node.place.name), text.thousands(node.value), unit, share(node.value, root.value), x, y, width, ROW - 1,
      color_of(node.place.module), x + 3, y + 12, xml(shorten(node.place.name, width)))
    for _, child in ipairs(node.children) do visit(child, depth + 1) end
  end
  visit(root, 0)
end

-- All frames for the script: names, modules, the modules' colors, and for each frame, a caller before its callees, the number of its name
-- and of its module, its value and how many callees it has.
local function data_of(root)
  local names, modules, colors, rows, row_count = {}, {}, {}, {}, 0
  local function number(list, numbers, s)
    if not numbers[s] then
      numbers[s] = #list
      list[#list + 1] = quoted(s)
    end
    return numbers[s]
  end
  local of_name, of_module, heads = {}, {}, {}
  -- How a row begins, "name,module,", for each place.
  local function head_of(place)
    local module = number(modules, of_module, frame.basename(place.module))
    colors[module + 1] = colors[module + 1] or quoted(color_of(place.module))
    heads[place] = ("%d,%d"):format(number(names, of_name, place.name), module)
    return heads[place]
  end
  local function visit(node)
    local children = node.children
    rows[row_count + 1] = heads[node.place] or head_of(node.place)
    rows[row_count + 2] = node.value < 1e14 and node.value or ("%.17g"):format(node.value)
    rows[row_count + 3] = #children
    row_count = row_count + 3
    for i = 1, #children do visit(children[i]) end
  end
  visit(root)
  return table.concat(names, ","), table.concat(modules, ","), table.concat(colors, ","), table.concat(rows, ",")
end

local function check(options)
  for name, value in pairs(options) do
    if not OPTIONS[name] then
      error(("flame: unknown option '%s'%s"):format(tostring(name), text.did_you_mean(tostring(name), { "title", "unit" })), 3)
    end
    if type(value) ~= "string" then error(("flame: %s is a text, not a %s"):format(name, type(value)), 3) end
  end
end

local function picture(source, options)
  local root, depth = tree.build(source)
  local height = TOP + BOTTOM + ROW * depth
  local title, unit = options.title or "Flame graph", xml(options.unit or "samples")
  local out = {}
  local function put(line, ...) out[#out + 1] = select("#", ...) > 0 and line:format(...) or line end
  put('<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n')
  put('<svg xmlns="http://www.w3.org/2000/svg" width="100%%" viewBox="0 0 %d %d" font-family="monospace" font-size="11">\n', WIDTH, height)
  put("<style>rect{rx:1;ry:1}#frames g{cursor:pointer}#frames g:hover rect{stroke:#000;stroke-width:.6}text{pointer-events:none}.button{pointer-events:all;cursor:pointer;fill:#555}</style>\n")
  put('<rect width="100%" height="100%" fill="#fffdf7"/>\n')
  put('<text x="%d" y="22" font-size="16" text-anchor="middle">%s</text>\n', WIDTH / 2, xml(title))
  put('<text id="reset" class="button" x="%d" y="22" visibility="hidden">everything</text>\n', MARGIN)
  put('<text id="search" class="button" x="%d" y="22" text-anchor="end">search</text>\n', WIDTH - MARGIN)
  put('<text id="details" x="%d" y="%d">%s</text>\n', MARGIN, height - 10, root.value > 0 and "" or "nothing was counted")
  put('<text id="matched" x="%d" y="%d" text-anchor="end"></text>\n<g id="frames">\n', WIDTH - MARGIN, height - 10)
  draw(out, root, unit, height)
  put('</g>\n<script><![CDATA[\n"use strict";\nconst names=[%s];\nconst modules=[%s];\nconst colors=[%s];\nconst rows=[%s];\n', data_of(root))
  put("const unit=%s,W=%d,H=%d,ROW=%d,BOTTOM=%d,MARGIN=%d,CHARACTER=%.1f,SMALLEST=%.1f;\n", quoted(options.unit or "samples"), WIDTH, height,
      ROW, BOTTOM, MARGIN, CHARACTER, SMALLEST)
  put(require "uplua.flame_script")
  put "]]></script>\n</svg>\n"
  return table.concat(out)
end

-- The picture of SOURCE as text. Raises what is wrong with the options.
function flame.svg(source, options)
  check(options or {})
  return picture(source, options or {})
end

-- Writes the picture of SOURCE to the file PATH. Raises why it cannot.
function flame.write(path, source, options)
  check(options or {})
  if type(path) ~= "string" then error("flame: the first argument is the file's path, a text", 2) end
  local file, why = io.open(path, "w")
  if not file then error("flame: cannot write " .. why, 2) end
  local good, message = file:write(picture(source, options or {}))
  file:close()
  if not good then error(("flame: cannot write %s: %s"):format(path, message), 2) end
end

return flame
