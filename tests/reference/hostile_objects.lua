-- BPF objects that were damaged, opened as up.bpf_object opens what somebody brings along: each opens, or is refused
-- with a message.
-- damaged(path, count, seed) → how many opened, how many were refused, what was wrong (""), for
-- tests/c/guest_damage_test.c;
-- open(path) → whether it opened, and what was wrong, or nil, for tests/fuzz/guest.c.
local ffi = require "ffi"

ffi.cdef [[
int memfd_create(const char *name, unsigned flags);
ssize_t pwrite(int fd, const void *bytes, size_t count, int64_t offset);
int ftruncate(int fd, int64_t length);
]]

local hostile = {}

-- The same numbers on each machine.
local function generator(seed)
  return function(below)
    seed = (seed * 1103515245 + 12345) % 2147483648
    return math.floor(seed / 2147483648 * below)
  end
end

-- Where the sections NAME of the ELF file BYTES are: { { offset, size }, … }
local function sections(bytes, wanted)
  local p = ffi.cast("const uint8_t *", bytes)
  local function word(at, type) return tonumber(ffi.cast("const " .. type .. " *", p + at)[0]) end
  local headers, count, names = word(0x28, "uint64_t"), word(0x3c, "uint16_t"), word(0x3e, "uint16_t")
  local strings = word(headers + names * 64 + 0x18, "uint64_t")
  local list = {}
  for i = 0, count - 1 do
    local at = headers + i * 64
    local name = ffi.string(p + strings + word(at, "uint32_t"))
    if wanted[name] then list[#list + 1] = { word(at + 0x18, "uint64_t"), word(at + 0x20, "uint64_t") } end
  end
  list[#list + 1] = { headers, count * 64 }
  list[#list + 1] = { 0, 64 }
  return list
end

local ODD = { 0, 1, 2, 0x7f, 0x80, 0xff, 0xfe, 0x10 }

-- Looks at all that a script can see of TOOL.
local function look(tool)
  tostring(tool)
  for _, section in ipairs { "rodata", "data", "bss" } do
    local ok, variables = pcall(function() return tool[section] end)
    for name in ok and getmetatable(variables).__pairs(variables) or function() end do
      pcall(function() variables[name] = variables[name] end)
    end
  end
  for name in pairs(tool.maps) do pcall(tostring, tool.maps[name]) end
end

local guest

-- Opens the object PATH and looks at it. Returns whether it opened, and what is no message that names it.
function hostile.open(path)
  if not guest then
    require "uplua.base.loop".warn = function() end
    guest = require "uplua.run.guest"
  end
  local opened, result = pcall(guest.bpf_object, path, {})
  local fine = opened
  if opened then fine, result = pcall(look, result) end
  require "uplua.probe.setup".discard()
  require "uplua.base.run".new():use() -- what it has brought goes with its run
  local named = type(result) == "string" and result:find("object " .. path .. ": ", 1, true)
  return opened, not fine and not named and tostring(result) or nil
end

function hostile.damaged(path, count, seed)
  local file = assert(io.open(path))
  local bytes = file:read "*a"
  file:close()
  local places =
    sections(bytes, { [".BTF"] = true, [".BTF.ext"] = true, [".maps"] = true, [".symtab"] = true, [".strtab"] = true,
    [".rodata"] = true })
  local random, fd = generator(seed), ffi.C.memfd_create("damaged", 1)
  local buffer = ffi.new("uint8_t[?]", #bytes)
  local opened, refused, wrong = 0, 0, ""
  for _ = 1, count do
    ffi.copy(buffer, bytes, #bytes)
    local size = #bytes
    for _ = 1, 1 + random(6) do
      local place = places[1 + random(#places)]
      if place[2] > 0 then
        buffer[place[1] + random(place[2])] = random(2) == 0 and ODD[1 + random(#ODD)] or random(256)
      end
    end
    if random(16) == 0 then size = random(size) end
    ffi.C.ftruncate(fd, 0)
    ffi.C.pwrite(fd, buffer, size, 0)
    local opens, problem = hostile.open("/proc/self/fd/" .. fd)
    opened, refused = opened + (opens and 1 or 0), refused + (opens and 0 or 1)
    if problem then wrong = wrong .. problem .. "\n" end
    if refused % 50 == 0 then collectgarbage() end
  end
  return opened, refused, wrong
end

return hostile
