-- Golden files: what a test gets is compared with tests/golden/NAME; `make golden` writes it there instead.
local tap = require "tap"
local target = require "target"

local golden = {}

local function read(path)
  local file = io.open(path)
  local text = file and file:read "*a"
  if file then file:close() end
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

-- Checks that GOT, a text, is tests/golden/NAME; prints the difference and what to do if not. WHAT names the check.
function golden.is(got, name, what)
  local path = "tests/golden/" .. name
  if os.getenv "UPDATE_GOLDEN" then write(path, got) end
  if tap.ok(read(path) == got, what) then return end
  local now = target.folder() .. "-" .. name
  write(now, got)
  io.stdout:flush()
  os.execute(("diff -u %s %s | sed 's/^/#   /' >&2"):format(target.quote(path), target.quote(now)))
  os.remove(now)
  io.stderr:write("#   if that is what you want: make golden, and commit ", path, "\n")
end

return golden
