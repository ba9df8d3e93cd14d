-- Files that are written to, or replaced, while probes stand in them: told as it happens where inotify(7) tells uplua,
-- else at the end.
local core         = require "uplua.core"
local loop         = require "uplua.base.loop"
local text         = require "uplua.text"
local late_modules = require "uplua.target.late_modules"
local filter       = require "uplua.target.filter"

local changed_files = {}

local links = {}
local told = {} -- "NAME was WHAT" → true
local watcher   -- false: there is none
local again     -- the timer of another look

-- Who replaces a file may remove it first: it is looked at again these seconds later, and at the end.
local AGAIN = 1

local function tell(what, consequence)
  if told[what] then return end
  told[what] = true
  loop.warn(what .. " while it was probed: " .. consequence)
end

-- Tells of what has happened so far.
function changed_files.look()
  for _, link in ipairs(links) do
    for _, file in ipairs(link:changed()) do
      local name = text.escape(file.name)
      if file.written then
        tell(name .. " was written to",
             "its code may have moved away from under the probes, which can harm what has it mapped: restart that")
      elseif filter.is_open() and not late_modules.expects(file.name) then
        tell(name .. " was replaced by another file", "what starts after that runs the other one, and is not seen")
      end
    end
  end
end

local function update()
  core.probe.forget(watcher)
  for _, link in ipairs(links) do link:watch(watcher) end
  changed_files.look()
  if again then again:cancel() end
  again = loop.after(AGAIN, changed_files.look)
end

-- Watches the files of LINKS, which have just been attached.
function changed_files.watch(new)
  if watcher == nil then
    watcher = core.probe.watcher() or false
    if watcher then loop.watch(watcher, update) end
  end
  for _, link in ipairs(new) do
    links[#links + 1] = link
    if watcher then link:watch(watcher) end
  end
  changed_files.look()
end

return changed_files
