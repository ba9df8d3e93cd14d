-- Symbols, what up.sym(address) is to the script: the function at an address, equal for all of its addresses, in
-- whichever process, so that it can be a key of a Lua table. In the kernel's memory a symbol is the address with the
-- process and the program that it is of: looking for the function there would need each file's symbol table. So what
-- handlers have counted by address is added up by function when the script reads it (uplua.objects.aggregate).
--
--   tostring(s)            "malloc"; "libfoo.so+0x1234" or "[unknown] 0x1234" where no function is known
--   s.symbol               the function's name; nil where none is known
--   s.module               its file, "[vdso]", "[kernel]"; nil where nothing was mapped
--   s.kernel               true: it is the kernel's
local ffi   = require "ffi"
local frame = require "uplua.stack.frame"
local run   = require "uplua.base.run"

local symbol, meta = {}, {}

local view    = ffi.typeof "const struct { uint64_t address, pid, program; } *"
local SIZE    = 24
local PROGRAM = 16 -- from there on
local KERNEL  = 2ULL ^ 63

local own = run.part(function()
  return {
    known = {},   -- bytes in the kernel's memory → symbol, of those that have a name
    symbols = {}, -- module and name → symbol
  }
end)

function meta:__tostring() return self.text end
function meta.__concat(a, b) return tostring(a) .. tostring(b) end

-- The one symbol of the FRAME found.
local function intern(found)
  local named = found.symbol or found.start
  local shown = named and frame.function_name(found) or frame.text(found, { offsets = false })
  local name = ("%s\0%s\0%s"):format(found.module or "", found.symbol and "" or found.kernel and "k" or "u", shown)
  local symbols = own().symbols
  local s = symbols[name]
  if not s then
    s = setmetatable({ symbol = found.symbol, module = found.module, kernel = found.kernel, text = shown }, meta)
    symbols[name] = s
  end
  return s
end

-- How symbols lie in maps and rings, as uplua.objects.layout has it.
symbol.codec = { size = SIZE, kind = "symbol", merges = true }

function symbol.codec.decode(p)
  local raw, known = ffi.string(p, SIZE), own().known
  if known[raw] then return known[raw] end
  local bytes = ffi.cast(view, p)
  frame.symbols():update()
  local program = bytes.address < KERNEL and raw:sub(PROGRAM + 1) or nil
  local found = frame.of_address(tonumber(bytes.pid), bytes.address, program)[1]
  local s = intern(found)
  if found.symbol then known[raw] = s end
  return s
end

function symbol.codec.encode()
  return "a symbol stands for all addresses of its function, which the script cannot look up: go over the entries " ..
         "with :pairs()"
end

return symbol
