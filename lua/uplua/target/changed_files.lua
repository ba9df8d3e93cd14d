-- Files that are written to, or replaced, while probes stand in them: told as it happens where inotify(7) tells uplua,
-- else at the end.
local core         = require "uplua.core"
local loop         = require "uplua.base.loop"
local run          = require "uplua.base.run"
local text         = require "uplua.base.text"
local late_modules = require "uplua.target.late_modules"
local filter       = require "uplua.target.filter"

local changed_files = {}

local own = run.part(function()
  return {
    links = {},
    told = {},     -- "NAME was WHAT" → true
    watcher = nil, -- false: there is none
    again = nil,   -- the timer of another look
  }
end)

-- Who replaces a file may remove it first: it is looked at again so much later, and at the end.
local AGAIN = "1s"

local function tell(what, consequence)
  local told = own().told
  if told[what] then return end
  told[what] = true
  loop.warn(what .. " while it was probed: " .. consequence)
end

-- Tells of what has happened so far.
function changed_files.look()
  for _, link in ipairs(own().links) do
    for _, file in ipairs(link:changed()) do
      local name = text.escape(file.name)
      if file.written then
        tell(name .. " was written to",
             "the probes may stand on other code now, which can harm processes that have it mapped: restart them")
      elseif filter.is_open() and not late_modules.expects(file.name) then
        tell(name .. " was replaced by another file",
             "processes that start after that run the other one, and are not seen")
      end
    end
  end
end

local function update()
  local mine = own()
  core.probe.forget(mine.watcher)
  for _, link in ipairs(mine.links) do link:watch(mine.watcher) end
  changed_files.look()
  if mine.again then mine.again:cancel() end
  mine.again = loop.after(AGAIN, changed_files.look)
end

-- Watches the files of LINKS, which have just been attached.
function changed_files.watch(new)
  local mine = own()
  if mine.watcher == nil then
    mine.watcher = core.probe.watcher() or false
    if mine.watcher then loop.watch(mine.watcher, update) end
  end
  for _, link in ipairs(new) do
    mine.links[#mine.links + 1] = link
    if mine.watcher then link:watch(mine.watcher) end
  end
  changed_files.look()
end

-- LINKS are about to be closed, before the run's end.
function changed_files.forget(links)
  local mine, gone, left = own(), {}, {}
  for _, link in ipairs(links) do gone[link] = true end
  for _, link in ipairs(mine.links) do
    if not gone[link] then left[#left + 1] = link end
  end
  if #left < #mine.links then changed_files.look() end
  mine.links = left
end

-- The probes are about to be detached: looks once more, and watches no more.
function changed_files.close()
  changed_files.look()
  local mine = own()
  if mine.watcher then
    loop.unwatch(mine.watcher)
    core.system.close(mine.watcher)
  end
  if mine.again then mine.again:cancel() end
  mine.links, mine.watcher, mine.again = {}, nil, nil
end

return changed_files
