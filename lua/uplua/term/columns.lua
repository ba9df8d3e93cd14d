-- How many columns characters take on a terminal: two those of East Asian scripts and most pictograms, none what joins
-- the character before it. Ranges by Unicode 15's EastAsianWidth.txt (W and F) and general categories (Mn and Cf), the
-- blocks in which most of them are.
local columns = {}

local NONE = { 0x0300, 0x036f, 0x200b, 0x200f, 0x20d0, 0x20ff, 0xfe00, 0xfe0f, 0xfeff, 0xfeff }
local TWO = {
  0x1100, 0x115f, 0x231a, 0x231b, 0x23e9, 0x23ec, 0x2614, 0x2615, 0x26a1, 0x26a1, 0x2705, 0x2705, 0x274c, 0x274c,
  0x2b1b, 0x2b1c, 0x2e80, 0x303e, 0x3041, 0xa4cf, 0xa960, 0xa97f, 0xac00, 0xd7a3, 0xf900, 0xfaff, 0xfe30, 0xfe6f,
  0xff00, 0xff60, 0xffe0, 0xffe6, 0x16fe0, 0x18cff, 0x1b000, 0x1b2ff, 0x1f18e, 0x1f19a, 0x1f200, 0x1f265,
  0x1f300, 0x1f64f, 0x1f680, 0x1f6ff, 0x1f7e0, 0x1f7eb, 0x1f90c, 0x1f9ff, 0x1fa70, 0x1faff, 0x20000, 0x3fffd,
}

local function is_in(ranges, code)
  for i = 1, #ranges, 2 do
    if code >= ranges[i] and code <= ranges[i + 1] then return true end
  end
  return false
end

-- The code of CHARACTER, some bytes of UTF-8.
local function code_of(character)
  local first, length = character:byte(), #character
  local code = length == 1 and first or first % 2 ^ (7 - length)
  for i = 2, length do code = code * 64 + character:byte(i) % 64 end
  return code
end

local known = {} -- character → columns

-- The columns of CHARACTER, the bytes of one in UTF-8: 0, 1 or 2.
function columns.of(character)
  if #character == 1 then return 1 end
  local n = known[character]
  if not n then
    local code = code_of(character)
    n = is_in(TWO, code) and 2 or is_in(NONE, code) and 0 or 1
    known[character] = n
  end
  return n
end

return columns
