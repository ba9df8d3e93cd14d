-- The files that scripts write stacks to, and the options that name them:
--
--   local files = require "uplua.stack_files"
--   local options = up.args { "name.lua [options]", …, files.folded, files.flame, files.before }
--   files.check(options)  -- before the run: ends the script where a file cannot be read or written
--   files.write(options, source, { title = "CPU time" })  -- at its end
--
-- SOURCE and the last argument are those of flame.write. With --before FILE, which another run has written with
-- --folded, the flame graph is of the differences. Processes and threads are compared by their names there:
-- "redis-server (pid 4242)" is "redis-server" in both.
local args   = require "uplua.args"
local flame  = require "uplua.flame"
local folded = require "uplua.folded"

local files = {
  folded = { "folded", "FILE", "string", false, "write all stacks to FILE, a line each" },
  flame  = { "flame",  "FILE", "string", false, "draw all as a flame graph" },
  before = { "before", "FILE", "string", false, "with --flame: what differs from FILE, another run's --folded" },
}

-- LINES, a table of folded lines with numbers, without the numbers of processes and threads.
local function without_pids(lines)
  local sums = {}
  for line, number in pairs(lines) do
    local name = line:gsub("^([^;]-) %(pid [^;)]*%)", "%1", 1)
    sums[name] = (sums[name] or 0) + number
  end
  return sums
end

local before = setmetatable({}, { __mode = "k" }) -- a script's options → what its --before names

function files.check(options)
  for _, name in ipairs { "folded", "flame" } do
    local file, why = io.open(options[name] or "/dev/null", "a")
    if not file then args.fail("--%s: cannot write %s", name, why) end
    file:close()
  end
  if not options.before then return end
  if not options.flame then args.fail "--before is for a flame graph, which --flame FILE draws" end
  local good, read, why = pcall(folded.read, options.before)
  if not (good and read) then args.fail("--before: %s", (why or read:gsub("^folded: ", ""))) end
  before[options] = without_pids(read)
end

-- An error is one of the option, not of a line of this file.
local function write(option, writes, ...)
  local written, why = pcall(writes, ...)
  if not written then error(("--%s: %s"):format(option, (why:gsub("^.-cannot", "cannot", 1))), 0) end
end

function files.write(options, source, how)
  if type(source) ~= "table" then
    error("stack_files.write: a table or a shared object is expected, not a " .. type(source), 2)
  end
  if options.folded then write("folded", folded.write, options.folded, source) end
  if not options.flame then return end
  if before[options] then how.before, source = before[options], without_pids(folded.sums(source)) end
  write("flame", flame.write, options.flame, source, how)
end

return files
