-- equal(a, b): true if both are the same value, or tables with equal contents. A table that prints as a text of its
-- own, such as a stack, is a value: it equals itself alone. The tables have no cycles.
local function is_table(value) return type(value) == "table" and not (getmetatable(value) or {}).__tostring end

local function equal(a, b)
  if a == b then return true end
  if not (is_table(a) and is_table(b)) then return false end
  for key, value in pairs(a) do
    if not equal(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

return equal
