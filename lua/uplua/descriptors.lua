-- Which file, pipe or socket a descriptor is, at the moment of an event: whatever opened it, and whenever.
--
--   local files = require "uplua.descriptors".new()
--   up.sysreturn("read", function(e)
--     if e.ret > 0 then bytes[files:file(e.arg0)]:add(e.ret) end
--   end)
--   for file, n in bytes:pairs() do print(files:name(file), n) end       -- /etc/passwd  1024
--
-- In handlers:
--   files:file(fd)     the number of the file behind FD in the thread that runs; 0 if it is not open; of AT_FDCWD,
--                      -100, its working directory
-- In the script:
--   files:name(file)   "/etc/passwd", "/tmp/x (deleted)", "/dev/null<char 1:3>", "TCP:[127.0.0.1:22->127.0.0.1:5022]",
--                      "pipe:[123]", "anon_inode:[eventpoll]"; nil of 0, and where its description was lost
--   files:shown(file)  as strace writes it behind a descriptor's number: "</tmp/x>(deleted)"
--   files:path(file)   its path, nil if it has none
--
-- The kernel is asked when the handler runs, so the name is that of the moment: nothing is read from /proc later, when
-- the descriptor may be another's. A path has the mounts and directories as they were when the file was first met: if
-- a directory above it is renamed, it keeps the old name.
local handlers     = require "uplua.descriptors.handlers"
local names        = require "uplua.descriptors.names"
local option_table = require "uplua.base.option_table"
local text         = require "uplua.base.text"

local descriptors = {}
local methods = {}
methods.__index = methods

local OPTIONS = { max = option_table.integer(1, 2 ^ 24), size = text.size }

-- Keeps ONE as the file ID. When there are too many, handlers describe anew all that they meet; what is under way has
-- the numbers of those before.
local function keep(self, id, one)
  if self.count >= self.max then
    self.described:clear()
    self.before, self.known, self.count = self.known, {}, 0
  end
  if not self.known[id] then self.count = self.count + 1 end
  self.known[id] = one
end

-- Takes what handlers have described.
local function take(self)
  return function(record)
    local id, tid = tonumber(record.id), tonumber(record.tid) -- a thread describes one at a time
    local one = self.pending[tid]
    if not one or record.at == 1 then
      one = {}
      self.pending[tid] = one
    end
    if record.at then
      one[#one + 1] = record.component or "?"
    else
      self.pending[tid] = nil
      keep(self, id, names.of(one, record))
    end
  end
end

local function find(self, file)
  local id = tonumber(file)
  local one = self.known[id] or self.before[id]
  if one or id == 0 then return one end
  self.ring:poll(0, self.take)
  return self.known[id]
end

-- name(file): the text of FILE, a number that files:file(fd) gave a handler; nil of 0, and of one whose description was
-- lost.
function methods:name(file)
  local one = find(self, file)
  return one and one.name
end

-- shown(file): the same as strace -yy writes it behind the number of a descriptor.
function methods:shown(file)
  local one = find(self, file)
  return one and one.shown
end

-- path(file): its path without what else its name tells; nil of sockets, pipes and the like.
function methods:path(file)
  local one = find(self, file)
  return one and one.path
end

-- new([options]): what handlers and the script know of files. Options: max, so many files are remembered (65536), and
-- size, of the ring for descriptions ("1M").
function descriptors.new(options)
  local up = require "uplua"
  options = option_table.read("descriptors.new", options, OPTIONS)
  local max = options.max or 65536
  local self = setmetatable({ known = {}, before = {}, pending = {}, count = 0, max = max }, methods)
  self.ring, self.described = up.ring { size = options.size or "1M", order = false }, up.lru_hash { max = max }
  self.take = take(self)
  self.ring:each(self.take)
  self.file, self.number = handlers.new(self.ring, self.described)
  return self
end

return descriptors
