-- The run: one session of tracing, from its options and its target to its links and its losses. It is a value, made by
-- main; another one may be made after it, or beside it (tests/lua/two_runs_test.lua). What a script calls, up.uprobe
-- and its kin, does not name it: that belongs to the run in which the script runs, the current one.
local run = {}

local Run = {}
Run.__index = Run

local current

-- new() → a run in which nothing has happened.
function run.new() return setmetatable({ parts = {} }, Run) end

-- The run in which the caller runs. Whoever has none (a test without main) is in one of its own.
function run.current()
  current = current or run.new()
  return current
end

-- part(make) → of, for a module that keeps something of each run: of() is the current run's, made by make() when it is
-- first asked for. Modules have no other variables that change in a run.
function run.part(make)
  local key = {}
  return function()
    local parts = (current or run.current()).parts
    local kept = parts[key]
    if kept == nil then
      kept = make()
      parts[key] = kept
    end
    return kept
  end
end

-- Makes this run the current one, until another one is.
function Run:use() current = self end

local function leave(before, ok, ...)
  current = before
  if not ok then error((...), 0) end
  return ...
end

-- Calls fn(...) in this run, and returns what it returns; then the run before is the current one again.
function Run:enter(fn, ...)
  local before = current
  current = self
  return leave(before, pcall(fn, ...))
end

return run
