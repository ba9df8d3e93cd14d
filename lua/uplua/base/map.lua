-- The kernel's maps, as src/map reads and writes them. Everything else in Lua goes through this module; sizes and
-- strides are known from the map itself.
local ffi = require "ffi"
local contract = require "uplua.contract"

local C = contract.C
local ENOENT, E2BIG = contract.ENOENT, contract.E2BIG

local map = {}
local methods = {}
local handle = ffi.metatype("struct uplua_map", { __index = methods })
local new_entries = ffi.typeof("struct uplua_map_entries")

-- The text of a negative errno.
function map.reason(code)
  if code == -E2BIG then return "the map is full" end
  return ffi.string(C.strerror(-code))
end

-- The map of the descriptor FD, which stays the caller's. Raises an error if the kernel refuses.
function map.open(fd)
  local self = handle()
  local code = C.map_open(self, fd)
  if code ~= 0 then error("cannot open the map of descriptor " .. tostring(fd) .. ": " .. map.reason(code), 0) end
  return self
end

-- Bytes of one key, and of one value with the copies of all CPUs.
function methods:key_buffer() return ffi.new("uint8_t[?]", math.max(self.key_size, 8)) end
function methods:value_buffer() return ffi.new("uint8_t[?]", self.cpus * self.value_stride) end

-- What CODE says of a key: true, or false where there is none; another failure is an error of who DID it.
local function is_there(code, did)
  if code == 0 then return true end
  if code == -ENOENT then return false end
  error(("cannot %s the map: %s"):format(did, map.reason(code)), 0)
end

-- true, or false where there is no such key.
function methods:lookup(key, value) return is_there(C.map_lookup(self, key, value), "read") end

-- nil, or the reason of the failure.
function methods:update(key, value)
  local code = C.map_update(self, key, value)
  if code ~= 0 then return map.reason(code) end
end

-- true if the key was there.
function methods:delete(key) return is_there(C.map_delete(self, key), "delete from") end

-- As lookup, and the key is gone afterwards.
function methods:take(key, value) return is_there(C.map_take(self, key, value), "take from") end

-- True if KEY may be looked up as cut too: a string that ends in "…" may be one that a handler cut and then put into a
-- larger place, which is another key than the whole string.
function map.may_be_cut(key)
  return type(key) == "table" or (type(key) == "string" and key:find("…$") ~= nil)
end

-- METHOD ("lookup", "take", "delete") of the Lua value KEY, encoded by CODEC into BYTES. True if it was there; nil and
-- the reason if it cannot be a key.
function methods:try(method, codec, bytes, key, value)
  local why = codec.encode(bytes, key)
  if why then return nil, why end
  if self[method](self, bytes, value) then return true end
  return map.may_be_cut(key) and not codec.encode(bytes, key, true) and self[method](self, bytes, value) or false
end

-- Everything at once: .count, .keys and .values of C memory, freed with the object or by map.free. TAKE also deletes.
function methods:read(take)
  local entries = new_entries()
  local code = C.map_read_all(self, take or false, entries)
  if code ~= 0 then error("cannot read the map: " .. map.reason(code), 0) end
  return ffi.gc(entries, C.map_entries_free)
end

function map.free(entries) C.map_entries_free(ffi.gc(entries, nil)) end

return map
