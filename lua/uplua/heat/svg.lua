-- A heat map as an SVG file: a rectangle for each cell, with its numbers under the pointer.
local text = require "uplua.base.text"
local xml  = require "uplua.base.xml"

local svg = {}

local WIDTH, ROW, TOP, BOTTOM, LEFT, RIGHT = 1200, 16, 46, 44, 120, 10
local AXIS  = 110 -- pixels from one time to the next
local STEPS = { "#fee8c8", "#fdd49e", "#fdbb84", "#fc8d59", "#ef6548", "#d7301f", "#b30000", "#7f0000" }

local CELL = '<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"><title>%s</title></rect>\n'

local function color_of(value, most) return STEPS[math.max(1, math.ceil(#STEPS * value / most))] end

-- COLUMNS and LABELS as of plot.heat. MAP has title, times (a text for each column), ranges (one for each row), most,
-- the largest number, and below, a line.
function svg.of(columns, labels, map)
  local out, height = {}, TOP + BOTTOM + ROW * #labels
  local width = (WIDTH - LEFT - RIGHT) / math.max(1, #columns)
  local function put(line, ...) out[#out + 1] = line:format(...) end
  put('<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n')
  put('<svg xmlns="http://www.w3.org/2000/svg" width="100%%" viewBox="0 0 %d %d" font-family="monospace" ' ..
      'font-size="11">\n', WIDTH, height)
  put('<rect width="100%%" height="100%%" fill="#fffdf7"/>\n')
  put('<text x="%d" y="22" font-size="16" text-anchor="middle">%s</text>\n', WIDTH / 2, xml(map.title))
  for row, label in ipairs(labels) do
    local y = height - BOTTOM - (row - 1) * ROW
    put('<text x="%d" y="%d" text-anchor="end">%s</text>\n', LEFT - 6, y - 4, xml(label))
  end
  local free = 0
  for c, column in ipairs(columns) do
    local x, sum = LEFT + (c - 1) * width, 0
    for row = 1, #labels do sum = sum + (column[row] or 0) end
    for row = 1, #labels do
      local n = column[row] or 0
      if n > 0 then
        local what = ("%s, %s: %s, %.1f %% of %s"):format(map.times[c], map.ranges[row], text.thousands(n),
          100 * n / sum, text.thousands(sum))
        put(CELL, x, height - BOTTOM - row * ROW, math.max(width, 0.5), ROW, color_of(n, map.most), xml(what))
      end
    end
    if x >= free then
      put('<text x="%.2f" y="%d">%s</text>\n', x, height - BOTTOM + 14, xml(map.times[c]))
      free = x + AXIS
    end
  end
  put('<text x="%d" y="%d">%s</text>\n</svg>\n', LEFT, height - 10, xml(map.below))
  return table.concat(out)
end

return svg
