-- The files that scripts write stacks to, and the options that name them:
--
--   local files = require "uplua.stack_files"
--   local options = up.args { "name.lua [options]", …, files.output, files.folded, files.flame, files.before }
--   files.check(options)  -- before the run: ends the script where a file cannot be read or written
--   files.write(options, source, { title = "CPU time" })  -- at its end
--
-- or, of a script that reports in intervals, folded stacks alone, each with the time of its interval:
--
--   files.append(options, since, source)  -- for each interval, which began at SINCE
--   files.tell(options)                   -- at the end
--
-- --output FILE is a flame graph, folded stacks or a profile of pprof's by the file's suffix: .svg, .folded, .pb.gz;
-- with any other it is the report's file, as of all scripts.
-- SOURCE and the last argument are those of flame.write; its field pprof, if any, has the options of pprof.write.
-- With --before FILE, which another run has written with --folded, the flame graph is of the differences. Processes and
-- threads are compared by their names there: "redis-server (pid 4242)" is "redis-server" in both.
local args   = require "uplua.args"
local flame  = require "uplua.flame"
local failure = require "uplua.base.failure"
local folded = require "uplua.folded"
local format = require "uplua.objects.format"
local pprof  = require "uplua.pprof"
local stacks = require "uplua.stacks"
local system = require "uplua.core".system

local files = {
  output = { "output,o", "FILE", "string", false, "by its suffix .svg, .folded, .pb.gz; else where the report goes" },
  folded = { "folded", "FILE", "string", false, "write all stacks to FILE, a line each" },
  flame  = { "flame",  "FILE", "string", false, "draw all as a flame graph" },
  diff   = { "diff",   "FILE", "string", false, "by function what differs from FILE, another run's folded stacks" },
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

local appended = setmetatable({}, { __mode = "k" }) -- a script's options: its file has been begun
local before = setmetatable({}, { __mode = "k" }) -- a script's options → what its --before names

local OF_SUFFIX = {
  { "%.svg$", "flame", "the flame graph is" }, { "%.folded$", "folded", "the folded stacks are" },
  { "%.pb%.gz$", "pprof", "the profile is" },
}

-- Takes --output for the option of its suffix, or for that of the report.
local function take_output(options)
  if not options.output then return end
  for _, kind in ipairs(OF_SUFFIX) do
    if options.output:find(kind[1]) then
      if options[kind[2]] then args.fail("--%s and --output name two files of one kind", kind[2]) end
      options[kind[2]] = options.output
      return
    end
  end
  require "uplua.options".output = options.output
  format.begin()
end

-- Ends the script where the file of OPTION cannot be written.
local function check_writable(path, option)
  local there = system.real_path(path)
  local file, why = io.open(path, "a")
  if not file then args.fail("--%s: cannot write %s", option, why) end
  file:close()
  if not there then os.remove(path) end -- the run writes it, if it gets so far
end

function files.check(options)
  take_output(options)
  for _, name in ipairs { "folded", "flame", "pprof" } do
    local path = options[name]
    if path then check_writable(path, path == options.output and "output" or name) end
  end
  local name = options.diff and "diff" or "before"
  if options.diff and options.before then args.fail "--diff and --before: choose one" end
  if not options[name] then return end
  if name == "before" and not options.flame then args.fail "--before is for a flame graph, which --flame FILE draws" end
  local good, read, why = pcall(folded.read, options[name])
  if not (good and read) then args.fail("--%s: %s", name, (why or read:gsub("^folded: ", ""))) end
  before[options] = without_pids(read)
end

-- An error is one of the option, not of a line of this file.
local function write(option, writes, ...)
  local written, why = pcall(writes, ...)
  if not written then error(("--%s: %s"):format(option, (why:gsub("^.-cannot", "cannot", 1))), 0) end
end

-- What differs from the file of --diff by function, as stacks.changes has it; nil without that option.
function files.changes(options, source)
  if not options.diff then return nil end
  return stacks.changes(before[options], without_pids(folded.sums(source)))
end

function files.write(options, source, how)
  if type(source) ~= "table" then
    error("stack_files.write: a table or a shared object is expected, not a " .. type(source), 2)
  end
  if options.folded then write("folded", folded.write, options.folded, source) end
  if options.pprof then
    local of_time = how.unit == "us"
    local values = { type = of_time and "time" or how.unit or "samples", unit = of_time and "microseconds" or "count" }
    write("output", pprof.write, options.pprof, source, how.pprof or values)
  end
  how.pprof = nil
  if options.flame then
    if before[options] then how.before, source = before[options], without_pids(folded.sums(source)) end
    write("flame", flame.write, options.flame, source, how)
  end
  files.tell(options)
end

-- append(options, time, source): adds SOURCE to the file of --folded, as that of an interval which began at TIME; what
-- was in the file before the run goes.
function files.append(options, time, source)
  if not appended[options] then write("folded", folded.write, options.folded, {}) end
  appended[options] = true
  write("folded", folded.append, options.folded, time, source)
end

-- tell(options): says which files have been written.
function files.tell(options)
  for _, kind in ipairs(OF_SUFFIX) do
    if options[kind[2]] then failure.report(("%s in %s"):format(kind[3], options[kind[2]])) end
  end
end

return files
