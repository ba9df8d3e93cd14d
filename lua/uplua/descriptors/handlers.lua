-- The handlers' half of uplua.descriptors: which file a descriptor of the thread that runs means, as a number, and the
-- description of a file, the first time that it is met.
--
-- The number is a hash of what the file's name is made of: its directory entry with the entry's own name, its mount,
-- and whether it is deleted; of a socket also the addresses, ports, peer or name that it has now. So a file that is
-- renamed and a socket that is connected are others than before, and what is described once needs no description again.
local bit     = require "bit"
local capture = require "uplua.compile.capture"
local up      = require "uplua"

local event, inlined = capture.event, capture.inlined

local handlers = {}

local NAME, STEPS = 256, 128 -- bytes of a component (NAME_MAX and the zero), components and mounts of a path
local AT_FDCWD = -100
local AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
local S_IFMT, S_IFSOCK = 0xf000, 0xc000
local ADDRESS = 108 -- bytes of a socket's name (sun_path)
local FIRST_PAGE = 4096 -- an address that is not NULL, from which offsets of fields are computed
local PRIME = 0x9e3779b97f4a7c15LL -- 2^64 / the golden ratio: it spreads equally (Knuth, volume 3, 6.4)

local mix = inlined(function(hash, value)
  local product = bit.bxor(hash, up.i64(value)) * PRIME
  return bit.bxor(product, bit.rshift(product, 29))
end)

-- The socket SK, mixed into HASH by what changes while it lives.
local mix_socket = inlined(function(hash, sk)
  local common = sk.__sk_common
  local family = common.skc_family
  if family == AF_INET or family == AF_INET6 then
    hash = mix(mix(hash, common.skc_portpair), common.skc_addrpair)
    if family == AF_INET6 then
      local to, from = common.skc_v6_daddr.in6_u, common.skc_v6_rcv_saddr.in6_u
      hash = mix(mix(hash, to.u6_addr32[3]), from.u6_addr32[3])
    end
  elseif family == AF_UNIX then
    local unix = up.kcast("struct unix_sock *", up.u64(sk))
    hash = mix(mix(hash, up.u64(unix.peer)), up.u64(unix.addr))
  elseif family == AF_NETLINK then
    hash = mix(hash, up.kcast("struct netlink_sock *", up.u64(sk)).portid)
  end
  return hash
end)

-- Emits the components of the path to DENTRY in MNT, the last one first. Returns false where one found no room, or
-- there are too many.
local emit_path = inlined(function(ring, e, id, mnt, dentry)
  local example = up.kcast("struct mount *", FIRST_PAGE)
  local mount, entry = up.u64(mnt) - (up.u64(example.mnt) - FIRST_PAGE), up.u64(dentry)
  for i = 1, STEPS do
    local m, d = up.kcast("struct mount *", mount), up.kcast("struct dentry *", entry)
    local parent = up.u64(d.d_parent)
    if entry == up.u64(m.mnt.mnt_root) then
      local above = up.u64(m.mnt_parent)
      if above == mount then return true end
      entry, mount = up.u64(m.mnt_mountpoint), above
    elseif parent == entry then
      return true
    elseif ring:emit { id = id, tid = e.tid, at = i, component = up.kstr(d.d_name.name, NAME) } then
      entry = parent
    else
      return false
    end
  end
  return false
end)

-- True of a directory entry that has no name any more; the root of a file system has none either.
local deleted = inlined(function(dentry)
  local parent = dentry.d_parent
  return dentry.d_hash.pprev == nil and up.u64(parent) ~= up.u64(dentry)
end)

-- The number of the file that is DENTRY in MNT; SOCKET: the address of its struct socket, 0 of others.
local number_of = inlined(function(mnt, dentry, socket, gone)
  local hash = mix(mix(mix(mix(0LL, up.u64(dentry)), up.u64(mnt)), dentry.d_name.hash_len), dentry.d_inode.i_ino)
  if gone then hash = mix(hash, 1) end
  if socket ~= 0 then hash = mix_socket(hash, up.kcast("struct socket *", socket).sk) end
  return bit.bor(bit.rshift(hash, 12), 1) -- as large as a Lua number may be, and not 0
end)

-- Describes the file ID, which is DENTRY in MNT, or the socket.
local describe = inlined(function(ring, known, e, id, mnt, dentry, socket, gone)
  if not emit_path(ring, e, id, mnt, dentry) then return end
  local family, first, second = up.i64(0), up.i64(0), up.i64(0)
  local own, own_size, peer, peer_size = up.i64(0), up.i64(0), up.i64(0), up.i64(0)
  if socket ~= 0 then
    local sk = up.kcast("struct socket *", socket).sk
    local common = sk.__sk_common
    family = up.i64(common.skc_family or 0)
    if family == AF_UNIX then
      local unix = up.kcast("struct unix_sock *", up.u64(sk))
      first = up.i64(up.kcast("struct socket_alloc *", up.u64(unix.peer.sk_socket)).vfs_inode.i_ino or 0)
      own, own_size = up.i64(up.u64(unix.addr.name)) + 2, up.i64(unix.addr.len or 2) - 2
    elseif family == AF_NETLINK then
      first, second = up.i64(sk.sk_protocol or 0), up.i64(up.kcast("struct netlink_sock *", up.u64(sk)).portid or 0)
    else
      first, second = up.i64(common.skc_num or 0), up.i64(common.skc_dport or 0)
      own, own_size, peer, peer_size = up.i64(up.u64(common)) + 4, up.i64(4), up.i64(up.u64(common)), up.i64(4)
      if family == AF_INET6 then
        own, own_size = up.i64(up.u64(common.skc_v6_rcv_saddr)), up.i64(16)
        peer, peer_size = up.i64(up.u64(common.skc_v6_daddr)), up.i64(16)
      end
    end
  end
  local inode = dentry.d_inode
  if ring:emit { id = id, tid = e.tid, inode = inode.i_ino, mode = inode.i_mode, device = inode.i_rdev,
                 magic = dentry.d_sb.s_magic, gone = gone, name = up.kstr(dentry.d_name.name, NAME), family = family,
                 first = first, second = second, own = up.kbuf(own, own_size, ADDRESS),
                 peer = up.kbuf(peer, peer_size, ADDRESS) } then
    known[id] = 1
  end
end)

-- MNT, dentry and socket of the descriptor FD.
local found = inlined(function(e, fd)
  local number = up.i32(fd)
  if number == AT_FDCWD then
    local pwd = e.task.fs.pwd
    return pwd.mnt, pwd.dentry, up.i64(0)
  end
  local fdt = e.task.files.fdt
  if number < 0 or number >= (fdt.max_fds or 0) then return nil end
  local file, socket = fdt.fd[number], up.i64(0)
  if file and bit.band(file.f_inode.i_mode, S_IFMT) == S_IFSOCK then socket = up.i64(up.u64(file.private_data)) end
  return file.f_path.mnt, file.f_path.dentry, socket
end)

-- Two methods for handlers, of a descriptor: its file's number, with the description where it is new; the number alone,
-- which costs the verifier less. Descriptions go into RING; KNOWN, a map, has what is described.
function handlers.new(ring, known)
  local function file(_, fd)
    local mnt, dentry, socket = found(event(), fd)
    if not dentry then return up.i64(0) end
    local gone = deleted(dentry)
    local id = number_of(mnt, dentry, socket, gone)
    if not known[id] then describe(ring, known, event(), id, mnt, dentry, socket, gone) end
    return id
  end

  -- The number alone: where it is new it is described when it is next met.
  local function number(_, fd)
    local mnt, dentry, socket = found(event(), fd)
    if not dentry then return up.i64(0) end
    local gone = deleted(dentry)
    return number_of(mnt, dentry, socket, gone)
  end

  return inlined(file), inlined(number)
end

return handlers
