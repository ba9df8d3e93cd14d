-- The run: one session of tracing, from its options and its target to its links and its losses. It is a value, made by
-- main; another one may be made after it, or beside it (tests/lua/two_runs_test.lua). What a script calls, up.uprobe
-- and its kin, does not name it: that belongs to the run in which the script runs, the current one.
local core = require "uplua.core"

local run = {}

local Run = {}
Run.__index = Run

local current

-- new([options]) → a run in which nothing has happened. OPTIONS: as cli.parse has them; its target is the whole machine
-- until core.target.attach or .start is called in it.
function run.new(options)
  return setmetatable({ options = options or {}, target = core.target.new(), parts = {} }, Run)
end

-- The run in which the caller runs. Whoever has none (a test without main) is in one of its own.
function run.current()
  if not current then run.new():use() end
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
function Run:use()
  current = self
  core.target.use(self.target)
end

local function leave(before, ok, ...)
  before:use()
  if not ok then error((...), 0) end
  return ...
end

-- Calls fn(...) in this run, and returns what it returns; then the run before is the current one again.
function Run:enter(fn, ...)
  local before = run.current()
  self:use()
  return leave(before, pcall(fn, ...))
end

-- What `require "uplua.options"` returns: the current run's options.
package.loaded["uplua.options"] = setmetatable({}, {
  __index = function(_, name) return run.current().options[name] end,
  __newindex = function(_, name, value) run.current().options[name] = value end,
})

return run
