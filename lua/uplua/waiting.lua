-- Probes of libraries that come later: what the target maps is recorded, and a probe is declared and attached anew when a library comes by that it
-- names.
local core    = require "uplua.core"
local failure = require "uplua.failure"
local loop    = require "uplua.loop"
local options = require "uplua.options"
local text    = require "uplua.text"
local who     = require "uplua.who"

local waiting = {
  commit = nil, -- attaches what entries declare; set by uplua.setup
}

local arrivals -- the records
local entries = {}

-- What ENTRY is to declare of SPEC in process PID; nil where that has been done; nil and why there is nothing. PID nil: in the target's file FILE.
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
  if fd then core.target.unwatch(fd) end
  return fd ~= nil
end

local function attach(entry, one)
  if entry.seen[one.file] then return end
  local name = ("%s %s: process %d has loaded %s"):format(entry.kind, entry.spec, one.pid, text.escape(one.path))
  -- By the path first, if that leads to the same file for the target: the process may be about to exit.
  local found, why = find(entry, one.path .. entry.spec:match "[:@].*", nil, one.file:match "^%x+:%x+")
  if why then found, why = find(entry, entry.spec, one.pid) end
  if why and not is_there(one.pid) then
    entry.lost = entry.lost + 1
    return
  end
  entry.seen[one.file] = true
  if why then return loop.warn(("%s, but %s"):format(name, why)) end
  if not found then return end
  entry.declare(found)
  entry.loaded = true
  waiting.commit()
  loop.warn(("%s: probed from now on, %s later"):format(name, text.seconds(math.max(core.loop.now() - one.time, 0))))
end

local function update()
  for _, one in ipairs(arrivals:take()) do
    for _, entry in ipairs(entries) do
      if entry.library == one.name and who.traces(one.pid) then attach(entry, one) end
    end
  end
end

local function watch(library)
  if not arrivals then
    arrivals = core.arrival.open()
    loop.watch(arrivals:fd(), update)
  end
  arrivals:want(library)
end

-- The library that SPEC names, "libfoo" of "libfoo:fn"; nil where it names none, but a program or a path.
function waiting.library(spec)
  local binary = spec:match "^([^/:@]+)[:@]"
  return binary and (binary:find "^lib" or binary:find("%.so")) and binary or nil
end

-- True if there is a target that may load libraries.
function waiting.can() return #core.target.pids() > 0 and not options.explain and not options.emit end

-- True if processes may come that have copies of the libraries that the target has.
function waiting.expects_copies() return options.follow and waiting.can() end

-- resolve(), and where that finds nothing for SPEC, once more with what happens then recorded, so that nothing falls between.
function waiting.try(spec, resolve)
  local found, absent = resolve()
  if found or not waiting.library(spec) then return found, absent end
  watch(waiting.library(spec))
  return resolve()
end

-- True if the file NAME may come to be probed when a process maps it.
function waiting.expects(name)
  local file = name:match "[^/]*$"
  for _, entry in ipairs(entries) do
    local library = entry.library
    if library and file:sub(1, #library) == library and not file:find("^%w", #library + 1) then return true end
  end
  return false
end

-- Waits for processes that map the library of ENTRY: { kind, spec, absent, a text if the target has no such library so far: the user is told; files, else, those in which
-- the probe is by now, find(spec, pid) → what declare() takes and a list of its files, or nil and why there is none, raising what is wrong; PID as in core.probe.resolve,
-- declare(found) }.
function waiting.add(entry)
  entry.library, entry.seen, entry.known, entry.lost = waiting.library(entry.spec), {}, {}, 0
  for _, file in ipairs(entry.files or {}) do entry.known[file] = true end
  watch(entry.library)
  entries[#entries + 1] = entry
  if entry.absent then
    loop.warn(("%s %s\nIt is probed once a library of that name is loaded"):format(entry.kind, entry.absent:match "^[^\n]*"))
  end
end

local function target_name()
  local pids = core.target.pids()
  if core.target.command() then return "the command never" end
  return #pids == 1 and ("process %d never"):format(pids[1]) or ("none of the processes %s has"):format(table.concat(pids, ", "))
end

-- Tells, at the end, of what has not come. True if there was such.
function waiting.finish()
  local any = false
  for _, entry in ipairs(entries) do
    if entry.absent and not entry.loaded then
      failure.report(("%s %s: %s loaded %s"):format(entry.kind, entry.spec, target_name(), entry.library))
      any = true
    end
  end
  return any
end

-- For the ledger: { { text, count }, … }
function waiting.lost()
  local list = {}
  for _, entry in ipairs(entries) do
    list[#list + 1] = { ("%s %s: processes that had exited before their %s could be probed"):format(entry.kind, entry.spec, entry.library), entry.lost }
  end
  return list
end

return waiting
