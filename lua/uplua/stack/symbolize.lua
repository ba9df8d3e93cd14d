-- The report of --symbolize: what the addresses of a process are.
local frame = require "uplua.stack.frame"

local C = require "uplua.contract".C

-- WORD, "0x7f12…" or decimal, as a uint64_t; nil where it is none.
local function parse(word)
  local digits = word:match "^0[xX](%x+)$"
  if digits and #digits:gsub("^0+", "") <= 16 then return C.strtoull(digits, nil, 16) end
  if word:find "^%d+$" and (#word < 20 or #word == 20 and word <= "18446744073709551615") then
    return C.strtoull(word, nil, 10)
  end
end

-- Prints a line for each of the texts ADDRESSES in process PID, and one for each function that was inlined there.
-- Raises what is wrong.
return function(pid, addresses)
  local known, message = frame.symbols():add_process(pid)
  if not known then error(message, 0) end
  for _, word in ipairs(addresses) do
    local address = parse(word)
    if not address then error(("--symbolize: '%s' is no address"):format(word), 0) end
    local first = frame.hex(address)
    for _, one in ipairs(frame.source(pid, address)) do
      local module = one.symbol and one.module and not one.inlined and (" (%s)"):format(one.module) or ""
      local place = one.file and (" %s:%s"):format(one.file, one.line or "?") or ""
      print(("%s  %s%s%s"):format(first, tostring(one), module, place))
      first = (" "):rep(#first)
    end
  end
end
