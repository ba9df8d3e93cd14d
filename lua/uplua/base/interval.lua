-- The interval that a report is of (up.report): its line above tables, which the first one takes.
local run  = require "uplua.base.run"
local text = require "uplua.base.text"

local interval = {}

local own = run.part(function()
  return {
    heading = nil, -- of the report that is being printed; nil: of none, or it has been taken
    first = true,  -- whether none stood before
    lives = false, -- whether what is printed are tables, which may live on a terminal
  }
end)

-- Whether what is printed now are tables of an interval, and what the first of them shows above it.
function interval.now() return own().lives, own().heading end

-- The heading has been shown.
function interval.take()
  own().heading, own().first = nil, false
end

-- Prints the heading, unless it has been shown.
function interval.print()
  local mine = own()
  if not mine.heading then return end
  text.printf(mine.first and "%s\n" or "\n%s\n", mine.heading)
  interval.take()
end

-- Has the tables that fn() prints know HEADING; LIVES: they may live, and nothing else is printed.
function interval.of(heading, lives, fn)
  local mine = own()
  mine.heading, mine.lives = heading, lives
  if not lives then interval.print() end
  fn()
  interval.print()
  mine.lives = false
end

return interval
