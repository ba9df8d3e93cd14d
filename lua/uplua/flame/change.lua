-- Differences between the two sources of a differential flame graph, in words, marks and colours.
--
--   local change = change.new(root, absolute)   of the tree that flame_tree.compare made
--   change:step_of(node) → { mark, color, words, … }, one of change.STEPS
--   change:text(node)    "before 16, 15.84%: +6.93 points, × 1.44"
--   change:summary(unit) what is compared with what, and what is gone, in one line
--
-- A frame's number is compared with its number before. Where the sums differ, shares of these are compared: the numbers
-- before are scaled by the sums' ratio first. ABSOLUTE: numbers are compared as they are.
local text = require "uplua.base.text"

local change = { WITHIN = 0.05 }

-- By the ratio to what was before; the last begins where it is twice as much. Blue and red can be told apart by all
-- kinds of sight, and the marks by everybody.
change.STEPS = {
  { mark = "▼▼", color = "#6aa2dc", words = "at most half, or gone" },
  { mark = "▼",  color = "#bcd7f0", words = "less" },
  { mark = "",   color = "#e4e0d6", words = "equal within 5 %" },
  { mark = "▲",  color = "#f6c3b6", words = "more" },
  { mark = "▲▲", color = "#ee7a66", words = "at least twice, or new" },
}

local methods = {}

function methods:step_of(node)
  local now, before = node.value, node.before * self.scale
  if now == before then return change.STEPS[3] end
  if 2 * now <= before then return change.STEPS[1] end
  if now >= 2 * before then return change.STEPS[5] end
  if math.abs(now - before) <= change.WITHIN * before then return change.STEPS[3] end
  return change.STEPS[now < before and 2 or 4]
end

local function share(value, all) return all > 0 and 100 * value / all or 0 end

function methods:text(node)
  local now, before, root = node.value, node.before, self.root
  local shown = ("before %s, %.2f%%: "):format(text.thousands(before), share(before, root.before))
  if before == 0 then return shown .. "new" end
  if now == 0 then return shown .. "gone" end
  local difference = self.absolute and (now < before and "" or "+") .. text.thousands(now - before)
    or ("%+.2f points"):format(share(now, root.value) - share(before, root.before))
  return ("%s%s, × %.2f"):format(shown, difference, now / (before * self.scale))
end

-- What was in frames of which nothing is left.
local function gone(node)
  if node.value == 0 then return node.before end
  local sum = 0
  for _, child in ipairs(node.children) do sum = sum + gone(child) end
  return sum
end

function methods:summary(unit)
  local now, before = self.root.value, self.root.before
  local how = "numbers are compared"
  if not self.absolute and now ~= before then
    how = ("shares are compared, by numbers before × %.4g"):format(self.scale)
  end
  local left = gone(self.root)
  local of_gone = left == 0 and "" or
    ("; of those before %s (%.2f%%) are in frames that are gone"):format(text.thousands(left), share(left, before))
  return ("%s %s, before %s; %s%s"):format(text.thousands(now), unit, text.thousands(before), how, of_gone)
end

local metatable = { __index = methods }

function change.new(root, absolute)
  local scale = not absolute and root.value > 0 and root.before > 0 and root.value / root.before or 1
  return setmetatable({ root = root, absolute = absolute or false, scale = scale }, metatable)
end

return change
