-- The report of --symbolize: what the addresses of a process are.
local ffi = require "ffi"
local frame = require "uplua.frame"

ffi.cdef "unsigned long long strtoull(const char *text, char **end, int base);"

-- WORD, "0x7f12…" or decimal, as a uint64_t; nil where it is none.
local function parse(word)
  local digits = word:match "^0[xX](%x+)$"
  if digits and #digits:gsub("^0+", "") <= 16 then return ffi.C.strtoull(digits, nil, 16) end
  if word:find "^%d+$" and (#word < 20 or #word == 20 and word <= "18446744073709551615") then return ffi.C.strtoull(word, nil, 10) end
end

-- Prints a line for each of the texts ADDRESSES in process PID. Raises what is wrong.
return function(pid, addresses)
  local known, message = frame.symbols():add_process(pid)
  if not known then error(message, 0) end
  for _, word in ipairs(addresses) do
    local address = parse(word)
    if not address then error(("--symbolize: '%s' is no address"):format(word), 0) end
    local found = frame.symbol(pid, address)
    local where = found.symbol and found.module and (" (%s)"):format(found.module) or ""
    print(("%s  %s%s"):format(frame.hex(address), tostring(found), where))
  end
end
