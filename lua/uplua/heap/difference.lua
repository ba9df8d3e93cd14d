-- The difference of two reports, by stack.

-- difference(before, after) → a list of { stack, name, bytes, blocks }: how much more each stack holds in AFTER than in
-- BEFORE, lists as trace:held() has them, negative where it is less; the largest change first. Stacks that hold the
-- same are not in it. And the sum, { bytes, blocks }.
local function difference(before, after)
  local by_name, list, sum = {}, {}, { bytes = 0, blocks = 0 }
  local function add(from, sign)
    for _, h in ipairs(from) do
      local one = by_name[h.name]
      if not one then
        one = { stack = h.stack, name = h.name, bytes = 0, blocks = 0 }
        by_name[h.name] = one
      end
      one.bytes, one.blocks = one.bytes + sign * h.bytes, one.blocks + sign * h.blocks
      sum.bytes, sum.blocks = sum.bytes + sign * h.bytes, sum.blocks + sign * h.blocks
    end
  end
  add(before, -1)
  add(after, 1)
  for _, one in pairs(by_name) do
    if one.bytes ~= 0 or one.blocks ~= 0 then list[#list + 1] = one end
  end
  table.sort(list, function(a, b)
    local x, y = math.abs(a.bytes), math.abs(b.bytes)
    if x ~= y then return x > y end
    return a.name < b.name
  end)
  return list, sum
end

return difference
