-- Probes of files that come later, with dlopen or with another program that is executed. uplua records the target's
-- mappings. It declares and attaches a probe anew when a file of the probe's name comes that does not have it yet.
local core    = require "uplua.core"
local failure = require "uplua.base.failure"
local loop    = require "uplua.base.loop"
local options = require "uplua.options"
local run     = require "uplua.base.run"
local text    = require "uplua.base.text"
local filter  = require "uplua.target.filter"

local late_modules = {}

local ANY = "*" -- the name of every file (src/probe/target/late_modules.h)

local own = run.part(function()
  return {
    arrivals = nil,    -- the records
    unavailable = nil, -- why there are none
    records_lost = 0, lost_before = 0,
    mapped = {},       -- names of files that the target has mapped
    program = nil,     -- the command's, if it is statically linked; false: it is not
    -- What is waited for, and what a statically linked command may never map. So many as `settled` says are of setups
    -- that have succeeded.
    entries = { settled = 0 }, expected = { settled = 0 },
  }
end)

-- What ENTRY is to attach of SPEC in process PID; nil where that has been done; nil and why there is nothing. PID nil:
-- in the target's file FILE.
local function find(entry, spec, pid, file)
  local ok, found, rest = pcall(entry.find, spec, pid)
  if not ok or not found then return nil, ok and rest or found end
  if file and file ~= rest[1] then return nil, "that is another file" end
  local new = false
  for _, each in ipairs(rest) do
    new = new or not entry.known[each]
    entry.known[each] = true
  end
  return new and found or nil
end

-- True while process PID has not exited.
local function is_there(pid)
  local fd = core.target.watch(pid)
  if fd then core.system.close(fd) end
  return fd ~= nil
end

-- Where processes that come later are not traced, a probe for one that has exited would be of no use.
local function is_over(pid) return not filter.is_open() and not is_there(pid) end

-- Modules that came with ONE cannot be probed there any more.
local function lose(entry, one)
  entry.lost, entry.loaded, entry.known[one.file] = entry.lost + 1, true, nil
end

-- Attaches by ATTACH_FOUND(found) what is for ONE, of which NAME tells. Its process may exit at any time, and its files
-- be out of reach with it.
local function attach_late(entry, one, name, attach_found, found)
  local ok, message = pcall(attach_found, found)
  if ok then
    entry.loaded = true
    local later = text.time(math.max(core.loop.now() - one.time, 0) * 1e9)
    return loop.warn(("%s: probed from now on, %s later"):format(name, later))
  end
  if is_there(one.pid) then error(message, 0) end
  lose(entry, one)
end

local function attach(entry, one)
  local name = ("%s %s: process %d has loaded %s"):format(entry.kind, entry.spec, one.pid, text.escape(one.path))
  -- By the path first, if that leads to the same file for the target: the process may be about to exit.
  local found, why = find(entry, one.path .. entry.spec:match "[:@].*", nil, one.file)
  if why then found, why = find(entry, entry.spec, one.pid) end
  if (why or found) and is_over(one.pid) or why and not is_there(one.pid) then return lose(entry, one) end
  entry.known[one.file] = true
  if why then return loop.warn(("%s, but %s"):format(name, why)) end
  if found then attach_late(entry, one, name, entry.attach, found) end
end

-- A path that leads to the file of ONE; nil: there is none.
local function reach(one)
  for _, path in ipairs { one.path, ("/proc/%d/root%s"):format(one.pid, one.path) } do
    if core.arrival.identify(path) == one.file then return path end
  end
end

-- The first of NAMES that the file at PATH defines; nil: none.
local function defined(path, names)
  for _, name in ipairs(names) do
    if core.module.file_defines(path, { name }) then return name end
  end
end

-- The same for those who want to know which modules define a function.
local function offer(entry, one)
  local path = reach(one)
  if not path and not is_there(one.pid) then return lose(entry, one) end
  entry.known[one.file] = true
  -- A mapping without a path is code that a program has made for itself.
  if not path or not core.module.file_defines(path, entry.names) then return end
  if is_over(one.pid) then return lose(entry, one) end
  local first = defined(path, entry.names)
  local name = ("process %d has loaded %s, which defines %s"):format(one.pid, text.escape(one.path), first)
  local ok, sites = pcall(core.probe.resolve, { path .. ":" .. first })
  if not ok or sites:files()[1] ~= one.file then
    return loop.warn(("%s and is not probed: %s"):format(name, ok and "its path leads to another file here" or sites))
  end
  attach_late(entry, one, name, entry.later, path)
end

local function update()
  local mine = own()
  for _, one in ipairs(mine.arrivals:take()) do
    local traced = filter.traces(one.pid)
    mine.mapped[one.name] = mine.mapped[one.name] or traced
    for _, entry in ipairs(mine.entries) do
      if entry.name == one.name and not entry.known[one.file] and traced then
        local take = entry.later and offer or attach
        take(entry, one)
      end
    end
  end
end

local function watch(name)
  local mine = own()
  if not mine.arrivals and not mine.unavailable then
    local ok, opened = pcall(core.arrival.open)
    mine.arrivals, mine.unavailable = ok and opened or nil, not ok and opened or nil
    if ok then loop.watch(opened:fd(), update) end
  end
  if mine.arrivals then mine.arrivals:want(name) end
end

-- The file that SPEC names by its name alone, "libfoo" of "libfoo:fn", "prog" of "prog:fn"; nil where it names none,
-- but a path.
function late_modules.name(spec) return spec:match "^([^/:@]+)[:@]" end

-- The library that SPEC names, "libfoo" of "libfoo:fn"; nil where it names none, but a program or a path.
function late_modules.library(spec)
  local binary = late_modules.name(spec)
  return binary and (binary:find "^lib" or binary:find("%.so")) and binary or nil
end

-- True if there is a target that may load files.
function late_modules.can() return #core.target.pids() > 0 and not options.explain and not options.emit end

-- Has recorded what the target maps from now on, as far as SPECS name it. To be called before these are looked for, so
-- that nothing falls between.
function late_modules.begin(specs)
  for _, spec in ipairs(late_modules.can() and specs or {}) do
    if late_modules.name(spec) then watch(late_modules.name(spec)) end
  end
end

-- True if the file NAME may come to be probed when a process maps it.
function late_modules.expects(name)
  local file = name:match "[^/]*$"
  for _, entry in ipairs(own().entries) do
    local known = entry.name
    if file:sub(1, #known) == known and not file:find("^%w", #known + 1) then return true end
  end
  return false
end

-- Waits for processes that map the file that ENTRY names: { kind, spec, absent, a text if the target has no such
-- library so far: the user is told; files, else, those in which the probe is by now, find(spec, pid) → what attach()
-- takes and a list of its files, or nil and why there is none, raising what is wrong; PID as in core.probe.resolve,
-- attach(found), which declares and attaches what was found }.
function late_modules.add(entry)
  local mine = own()
  if entry.absent and mine.unavailable then error(mine.unavailable, 0) end
  entry.name, entry.known, entry.lost = late_modules.name(entry.spec), {}, 0
  for _, file in ipairs(entry.files or {}) do entry.known[file] = true end
  mine.entries[#mine.entries + 1] = entry
  if entry.absent then
    local first = entry.absent:match "^[^\n]*"
    loop.warn(("%s %s\nIt is probed once a library of that name is loaded"):format(entry.kind, first))
  end
end

-- Notes that probes of KIND are set for SPECS in files that are there: a statically linked command may never map them,
-- unless it executes another program or loads one itself. With --follow others may map them.
function late_modules.note(kind, specs)
  -- Otherwise it is not known what a process has mapped so far.
  if options.follow or not late_modules.can() or not core.target.waits() then return end
  local mine = own()
  if mine.program == nil then mine.program = core.probe.static_command() or false end
  for _, spec in ipairs(mine.program and specs or {}) do
    local library = late_modules.library(spec)
    if library then mine.expected[#mine.expected + 1] = { kind = kind, spec = spec, library = library } end
  end
end

-- What was added and noted is part of a setup that has succeeded …
function late_modules.keep()
  for _, list in ipairs { own().entries, own().expected } do list.settled = #list end
end

-- … or of one that has not: it is waited for no more.
function late_modules.discard()
  for _, list in ipairs { own().entries, own().expected } do
    for i = #list, list.settled + 1, -1 do list[i] = nil end
  end
end

-- The paths of the target's modules that define one of the functions NAMES, a list, themselves. later(path),
-- if given, is called for each that a process of the target maps later, to attach probes there.
function late_modules.modules_defining(names, later)
  if later and late_modules.can() then watch(ANY) end
  local paths = core.module.defining(names)
  if later and late_modules.can() then
    local entry = {
      kind = "modules_defining", spec = names[1], names = names, name = ANY, known = {}, lost = 0, later = later,
    }
    for _, path in ipairs(paths) do
      local ok, files = pcall(function()
        return core.probe.resolve({ path .. ":" .. next(core.module.offsets(path, names)) }):files()
      end)
      for _, file in ipairs(ok and files or {}) do entry.known[file] = true end
    end
    local entries = own().entries
    entries[#entries + 1] = entry
  end
  return paths
end

-- To be called before the target goes on, with its probes attached: what was lost before a command begins was not its.
function late_modules.release()
  local mine = own()
  if mine.unavailable then
    loop.warn("libraries that the target loads from now on are not probed: " .. mine.unavailable)
  end
  mine.lost_before = mine.arrivals and core.target.waits() and mine.arrivals:lost() or 0
end

-- Looks once more at what the target has mapped: to be called while the probes are still there.
function late_modules.last()
  local mine = own()
  if not mine.arrivals then return end
  update()
  mine.records_lost = mine.arrivals:lost() - mine.lost_before
end

local function target_name()
  local pids = core.target.pids()
  if core.target.command() then return "the command never" end
  if #pids == 1 then return ("process %d never"):format(pids[1]) end
  return ("none of the processes %s has"):format(table.concat(pids, ", "))
end

-- Tells, at the end, of what has not come. True if a probe has waited for it.
function late_modules.finish()
  local mine, any = own(), false
  local is_known = mine.arrivals and mine.records_lost == 0 -- what a command has mapped by its end
  for _, entry in ipairs(mine.expected) do
    if is_known and not mine.mapped[entry.library] then
      failure.report(("%s %s: the command never loaded %s: it is statically linked; its own functions are named by " ..
                      "its file, as in %s:main"):format(entry.kind, entry.spec, entry.library, mine.program))
    end
  end
  for _, entry in ipairs(mine.entries) do
    if entry.absent and not entry.loaded then
      failure.report(("%s %s: %s loaded %s"):format(entry.kind, entry.spec, target_name(), entry.name))
      any = true
    end
  end
  return any
end

-- For the ledger: { { text, count }, … }
function late_modules.lost()
  local list = {}
  for _, entry in ipairs(own().entries) do
    local what = entry.later and "the libraries that they had loaded" or "their " .. entry.name
    local text = ("%s %s: processes that had exited before %s could be probed"):format(entry.kind, entry.spec, what)
    list[#list + 1] = { text, entry.lost }
  end
  list[#list + 1] = {
    "records of new mappings: a program or library that was mapped then may not be probed",
    own().records_lost,
  }
  return list
end

return late_modules
