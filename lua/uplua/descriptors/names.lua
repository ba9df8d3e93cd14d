-- What is known of a file (uplua.descriptors.handlers) as strace's text of a descriptor, `-yy`.
local constants = require "uplua.syscalls.constants"
local kernel    = require "uplua.probe.kernel_names"
local quote     = require("uplua.syscalls.quote").quote
local system    = require "uplua.core".system

local names = {}
local root -- our own root's path, once it has been asked

-- Superblocks of what has no path (linux/magic.h).
local PIPEFS, SOCKFS, ANON_INODES, NSFS, PIDFS = 0x50495045, 0x534f434b, 0x09041934, 0x6e736673, 0x50494446
local AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16

local function inet(address, port)
  local ip = kernel.ip(address)
  return (#address == 16 and "[%s]:%d" or "%s:%d"):format(ip, port)
end

local function swapped(port) return port % 256 * 256 + math.floor(port / 256) end

-- What stands between the brackets of a socket: functions of its record, its inode and the addresses.
local SOCKETS = {}
SOCKETS[AF_INET] = function(record, inode, own, peer)
  local port, peer_port = tonumber(record.first), tonumber(record.second)
  if peer_port ~= 0 or peer:find "%Z" then return inet(own, port) .. "->" .. inet(peer, swapped(peer_port)) end
  return (port ~= 0 or own:find "%Z") and inet(own, port) or inode
end
SOCKETS[AF_INET6] = SOCKETS[AF_INET]
SOCKETS[AF_UNIX] = function(record, inode, path)
  local text = record.first ~= 0 and ("%s->%d"):format(inode, tonumber(record.first)) or inode
  if path == "" then return text end
  return text .. "," .. (path:byte() == 0 and "@" .. quote(path:sub(2)) or quote(path:match "^%Z*"))
end
SOCKETS[AF_NETLINK] = function(record)
  local name = constants.name("netlink", tonumber(record.first))
  return ("%s:%d"):format(name and name:gsub("^NETLINK_", "") or record.first, tonumber(record.second))
end

local function bytes_of(buffer) return buffer and buffer:bytes() or "" end

local function socket(record, inode)
  local show = SOCKETS[tonumber(record.family)]
  return show and show(record, inode, bytes_of(record.own), bytes_of(record.peer)) or inode
end

local ANGLES = { ["<"] = "\\74", [">"] = "\\76" } -- in octal, since they end the text
local DEVICES = { [0x2000] = "char", [0x6000] = "block" }

-- The components of ONE, the last first, as a path from our own root, as strace has it: the kernel's begin at the
-- machine's. What is not below our root keeps the kernel's.
local function path_of(one)
  local parts = {}
  for i = #one, 1, -1 do parts[#parts + 1] = one[i] end
  local path = "/" .. table.concat(parts, "/")
  root = root or system.root_path() or "/"
  if path == root then return "/" end
  return root ~= "/" and path:sub(1, #root + 1) == root .. "/" and path:sub(#root + 1) or path
end

-- Of NAME: a text for people, and strace's.
local function named(name, path, gone)
  return { name = gone and name .. " (deleted)" or name, path = path,
           shown = gone and "<" .. name .. ">(deleted)" or "<" .. name .. ">" }
end

-- { name, path, shown } of ONE, its components, and RECORD, the last of its description; shown is strace's, behind a
-- descriptor's number.
function names.of(one, record)
  local magic, inode, mode = tonumber(record.magic), tonumber(record.inode), tonumber(record.mode)
  local own = record.name or "?"
  if magic == PIPEFS then return named(("pipe:[%d]"):format(inode)) end
  if magic == SOCKFS then
    return named(("%s:[%s]"):format(own ~= "" and own or "socket", socket(record, inode .. "")))
  end
  if magic == ANON_INODES then return named("anon_inode:" .. own) end
  if magic == PIDFS then return named "anon_inode:[pidfd]" end
  if magic == NSFS then return named(("%s:[%d]"):format(own, inode)) end
  local path = path_of(one)
  if #one == 0 and own ~= "/" and own ~= "" then return named("/" .. own, nil, true) end -- a memfd
  local name, kind = quote(path):sub(2, -2):gsub("[<>]", ANGLES), DEVICES[mode - mode % 0x1000]
  if kind then
    local device = tonumber(record.device)
    name = ("%s<%s %d:%d>"):format(name, kind, math.floor(device / 2 ^ 20), device % 2 ^ 20)
  end
  return named(name, path, record.gone)
end

return names
