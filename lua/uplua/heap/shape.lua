-- What is held in one of two shapes instead of one entry for each stack: as the tree from the functions that allocate
-- up, or as a table by who allocates. As text or as data, whichever the run writes.
local sites = require "uplua.heap.sites"
local text  = require "uplua.text"
local up    = require "uplua"
local view  = require "uplua.view"

local shape = {}

local HEADINGS = { ["function"] = "Function", module = "Module", line = "Function" }
local BYTES, BLOCKS = { "bytes", "Bytes", "count" }, { "blocks", "Blocks", "count" }
local SHARE = { "share", "Share", "percent" }

-- A line on the COUNT that are not shown, with what they hold. ONE, MANY: what they are called.
local function print_rest(count, bytes, blocks, one, many)
  up.printf("\n   and %s with %s in %s\n", text.plural(count, one, many), text.plural(bytes, "byte"),
    text.plural(blocks, "block"))
end

-- The functions that print, each as print(list, [heading], [rate_of]): LIST as trace:held gives it; HEADING, a line
-- above; rate_of(bytes), how many bytes a second that makes, for the table.

-- The tree of the TOP heaviest ways, WRAPPERS being passed, too.
local function new_tree(top, wrappers)
  local steps = view.new {
    { "depth", "Depth", "number" }, { "name", "Function" }, { "bytes", "Bytes", "bytes" }, BLOCKS, SHARE, top = 0,
  }
  local tree = view.new { BYTES, BLOCKS, SHARE, { "shown", "Allocating function, and who calls it" }, top = 0 }
  return function(list, heading)
    local rows, rest = sites.tree(list, { top = top, wrappers = wrappers })
    for _, one in ipairs(rows) do
      one.shown = ("  "):rep(one.branch and one.depth - 1 or one.depth) .. (one.branch and "- " or "") .. one.name
    end
    if steps:data(rows, heading) then return end
    if heading then up.printf("   %s:\n", heading) end
    if not rows[1] then return end
    tree:print(rows)
    if rest.ways > 0 then
      print_rest(rest.ways, rest.bytes, rest.blocks, "more way to allocations", "more ways to allocations")
    end
    up.printf("\n")
  end
end

-- The table BY "function", "module" or "line", of TOP rows; 0: all.
local function new_table(by, top, wrappers)
  local function columns(with_rate)
    return view.new {
      BYTES, BLOCKS, SHARE, with_rate and { "rate", "A second", "bytes" }, { "stacks", "Stacks", "count" },
      { "name", HEADINGS[by] }, by == "line" and { "at", "Line" }, by ~= "module" and { "module", "File" }, top = top,
    }
  end
  local with_rate, without = columns(true), columns(false)
  return function(list, heading, rate_of)
    local rows, shown = sites.table(list, by, { wrappers = wrappers }), rate_of and with_rate or without
    for _, row in ipairs(rows) do row.rate = rate_of and rate_of(row.bytes) end
    if shown:data(rows, heading) then return end
    if heading then up.printf("   %s:\n", heading) end
    if not rows[1] then return end
    shown:print(rows)
    if top > 0 and #rows > top then
      local bytes, blocks = 0, 0
      for i = top + 1, #rows do bytes, blocks = bytes + rows[i].bytes, blocks + rows[i].blocks end
      print_rest(#rows - top, bytes, blocks, "more row")
    end
    up.printf("\n")
  end
end

-- A function that prints lists so: OPTIONS has tree, or by; top (10; 0: all) and wrappers.
function shape.new(options)
  local top = options.top or 10
  local print_list = options.tree and new_tree(top, options.wrappers) or new_table(options.by, top, options.wrappers)
  return function(list, heading, rate_of)
    if heading ~= nil and type(heading) ~= "string" then
      error("heap.printer: a heading is a text, not a " .. type(heading), 2)
    end
    print_list(list, heading, rate_of)
  end
end

return shape
