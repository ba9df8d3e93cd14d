-- Structs that people know by what they stand for: addresses of sockets, and times.
local ffi  = require "ffi"
local text = require "uplua.base.text"

local special = {}

local UNIX, INET, INET6 = 1, 2, 10 -- AF_UNIX, AF_INET, AF_INET6

-- The address in the last 4 or 16 of BYTES.
local function ip(bytes) return require "uplua".ip(bytes) end

local function port(bytes) return ("%d"):format(bytes:byte(3) * 256 + bytes:byte(4)) end

-- What follows the family in AF_UNIX's addresses, of which the first byte of an abstract one is 0.
local function path_of(bytes)
  local path = bytes:sub(3)
  if path:sub(1, 1) == "\0" then return "@" .. text.escape((path:sub(2):gsub("%z+$", ""))) end
  return text.escape(path:match "^%Z*")
end

-- BYTES of a struct sockaddr, "127.0.0.1:80", "[::1]:80", "unix:/run/log", as a text; nil where it is of another
-- family, or longer than BYTES.
function special.sockaddr(bytes)
  if #bytes < 2 then return nil end
  local family = bytes:byte(1) + 256 * bytes:byte(2)
  if family == INET and #bytes >= 8 then return ("%s:%s"):format(ip(bytes:sub(5, 8)), port(bytes)) end
  if family == INET6 and #bytes >= 24 then return ("[%s]:%s"):format(ip(bytes:sub(9, 24)), port(bytes)) end
  if family == UNIX then return "unix:" .. path_of(bytes) end
  return nil
end

-- Seconds, an integer, and a fraction of so many digits as a text: since 1970 where that may be one, or a duration.
local function time_of(seconds, fraction, digits)
  local tail = ("%0" .. digits .. "d"):format(fraction)
  seconds = tonumber(seconds)
  if seconds >= 1e9 and seconds < 1e10 then return os.date("!%Y-%m-%d %H:%M:%S.", seconds) .. tail .. " UTC" end
  return ("%d.%s s"):format(seconds, tail)
end

local function seconds_of(bytes)
  local words = ffi.new "int64_t[2]"
  ffi.copy(words, bytes, 16)
  return words[0], words[1]
end

local function of_time(most, digits)
  return function(bytes)
    if #bytes < 16 then return nil end
    local seconds, fraction = seconds_of(bytes)
    if fraction < 0 or fraction >= most or seconds < 0 then return nil end
    return time_of(seconds, tonumber(fraction), digits)
  end
end
local of_timespec, of_timeval = of_time(1000000000LL, 9), of_time(1000000LL, 6)

local SHOWS = {
  sockaddr = special.sockaddr, sockaddr_in = special.sockaddr, sockaddr_in6 = special.sockaddr,
  sockaddr_un = special.sockaddr, sockaddr_storage = special.sockaddr,
  in_addr = function(bytes) return #bytes == 4 and ip(bytes) or nil end,
  in6_addr = function(bytes) return #bytes == 16 and ip(bytes) or nil end,
  timespec = of_timespec, __kernel_timespec = of_timespec, timespec64 = of_timespec,
  timeval = of_timeval, __kernel_old_timeval = of_timeval,
}

-- BYTES of the struct TYPE as people write it; nil where they have no way of their own for it.
function special.text(type, bytes)
  local show = type.kind == "struct" and type.own and SHOWS[type.own]
  return show and show(bytes) or nil
end

-- True for a struct whose first bytes say of what kind, and how long, the rest is.
function special.is_sockaddr(type) return type.kind == "struct" and type.own == "sockaddr" end

special.SOCKADDR = 28 -- bytes of the longest of a fixed length, AF_INET6's
special.UNIX = UNIX

return special
