-- The report of --unwind-info: how stacks are walked through the code of a file, row by row, or at one address.
local core = require "uplua.core"
local text = require "uplua.base.text"

local function place(offset) return offset == 0 and "kept" or ("at CFA%+d"):format(offset) end

-- Rule NUMBER of FILE in words.
local function describe(file, number)
  local kind, base, offset, addend, frame, link, guessed = file:rule(number)
  if kind == "unknown" then return "unknown" end
  if kind == "unexpressed" then return "described, but not as a walk can follow it" end
  if kind == "end" then return "outermost frame" end
  if kind == "signal" then return "signal handler's caller: registers in its ucontext" end
  local cfa = ("CFA %s%+d"):format(base, offset)
  if kind == "plt" then cfa = ("CFA %s+8, +16 from byte %d of an entry on"):format(base, offset) end
  if kind:find "^deref" then
    cfa = ("CFA *(%s%+d)"):format(base, offset) .. (addend == 0 and "" or ("%+d"):format(addend))
  end
  local saved = kind == "deref_base" and ("at %s%+d"):format(base, frame) or place(frame)
  return ("%s, return address %s, frame pointer %s%s"):format(
    cfa, kind == "held" and "in " .. link or place(link), saved, guessed and " (guessed from the code)" or "")
end

local function hex(address) return ("0x%x"):format(address) end

-- Prints the table of the file PATH; with ADDRESS (a text: an ELF address) only what holds there. Raises what is wrong;
-- OTHER is one too many.
return function(path, address, other)
  if other then error(("--unwind-info: '%s' is one argument too many; it takes one address"):format(other), 0) end
  local file = core.unwind.open(path)
  if address then
    local number = tonumber(address)
    if not number then error(("--unwind-info: '%s' is no address"):format(address), 0) end
    local rule = file:find(number)
    if not rule then error(("%s has no code at %s"):format(path, address), 0) end
    print(hex(number) .. "  " .. describe(file, rule))
    return
  end
  local functions, rows, rules, bytes, damaged, unknown, guessed = file:counts()
  for i = 0, rows - 1 do
    local start, rule = file:row(i)
    print(hex(start) .. "  " .. describe(file, rule))
  end
  print(("%s functions, %s rows, %s rules, %s bytes; %s rows without a rule, %s guessed, %s damaged"):format(
    text.thousands(functions), text.thousands(rows), text.thousands(rules), text.thousands(bytes),
    text.thousands(unknown), text.thousands(guessed), text.thousands(damaged)))
end
