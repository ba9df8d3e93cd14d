-- What a program connects to, from the addresses that it gives to connect(2): hosts and ports, and local sockets by
-- their paths.
--   uplua connects.lua -- COMMAND
local up = require "uplua"
local ffi = require "ffi"

ffi.cdef [[
  struct sockaddr_in { uint16_t family; uint8_t port[2], host[4]; };
  struct sockaddr_in6 { uint16_t family; uint8_t port[2]; uint32_t flow; uint16_t host[8]; };
  struct sockaddr_un { uint16_t family; char path[108]; };
]]
local AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10

local function port_of(address) return address.port[0] * 256 + address.port[1] end

-- Numbers in addresses have their highest byte first.
local function group(address, i)
  return bit.bor(bit.rshift(address.host[i], 8), bit.lshift(bit.band(address.host[i], 255), 8))
end

up.uprobe("libc:connect", function(e)
  local address = up.cast("struct sockaddr_in *", e.arg1)
  if address.family == AF_INET then
    local host = address.host
    up.printf("%s connects to %d.%d.%d.%d port %d\n", e.comm, host[0], host[1], host[2], host[3], port_of(address))
  elseif address.family == AF_INET6 then
    local six = up.cast("struct sockaddr_in6 *", address)
    up.printf("%s connects to %x:%x:%x:%x:%x:%x:%x:%x port %d\n", e.comm,
              group(six, 0), group(six, 1), group(six, 2), group(six, 3),
              group(six, 4), group(six, 5), group(six, 6), group(six, 7), port_of(six))
  elseif address.family == AF_UNIX then
    up.printf("%s connects to %s\n", e.comm, up.cast("struct sockaddr_un *", address).path)
  end
end)
