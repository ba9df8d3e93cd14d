-- Which calls touch a path, by its name or by a descriptor, as strace -P chooses them.
local C       = require("uplua.contract").C
local ffi     = require "ffi"
local numbers = require "uplua.syscalls.numbers"

local touched = {}

local AT_FDCWD = -100

-- PATH without "." and "..", as it is written: links are not followed.
function touched.normal(path)
  local parts = {}
  for part in path:gmatch "[^/]+" do
    if part == ".." then
      parts[#parts] = nil
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  return "/" .. table.concat(parts, "/")
end

-- The path that C's argument ONE (decode.call) means, nil where it is not known.
local function path_of(c, one, files)
  local text = one.program and c:entry_text() or c.text[one.argument]
  if not text or text:sub(1, 1) == "/" then return text and touched.normal(text) end
  local fd = one.at and numbers.i32(c[one.at]) or AT_FDCWD
  local file = c.files_before and c.files_before[fd]
  local base = file and files:path(file)
  return base and touched.normal(base .. "/" .. text)
end

local function among(group, wanted, files)
  for fd, file in pairs(group or {}) do
    if fd ~= "time" and fd ~= AT_FDCWD and wanted[files:path(file) or false] then return true end
  end
  return false
end

local PATH_MAX = 4096
local function resolved(path)
  local room = ffi.new("char[?]", PATH_MAX)
  return C.realpath(path, room) ~= nil and ffi.string(room) or nil
end

-- What touched.by looks for: PATH from the root on, and where it leads by links, as keys.
function touched.wanted(path)
  local whole = path:sub(1, 1) == "/" and path or (resolved "." or "") .. "/" .. path
  local wanted = { [touched.normal(whole)] = true }
  local target = resolved(path)
  if target then wanted[target] = true end
  return wanted
end

-- True if the call C touches a path that is WANTED: it names it, or is given or has made a descriptor of it.
function touched.by(c, wanted, files)
  for _, one in ipairs(c.of.paths) do
    local path = path_of(c, one, files)
    if path and wanted[path] then return true end
  end
  return among(c.files_before, wanted, files) or among(c.files_after, wanted, files)
end

return touched
