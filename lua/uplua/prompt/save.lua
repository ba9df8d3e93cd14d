-- save "x.lua": what was entered at the prompt as a script that runs.
local run  = require "uplua.base.run"
local text = require "uplua.base.text"

local save = {}

local MOST = 1000 -- entries that are kept: as many as the history has

-- undo: functions that take back what the entries did besides probes; saved: name of a file → how many entries it has.
local own = run.part(function() return { entries = {}, count = 0, undo = {}, saved = {} } end)

-- What a script has no use for.
local SHOWS = { "^=", "^%?", "^help%f[^%w_]", "^explain%f[^%w_]", "^bt%f[^%w_]", "^live%f[^%w_]", "^save%f[^%w_]",
                "^probes%s*$", "^probes%s*%(%s*%)%s*$", "^print%f[^%w_]" }

-- Keeps SOURCE, an entry that has run without an error, if it does something: it is a statement, or a call. UNDO:
-- functions that take back what it did besides probes.
function save.keep(source, undo)
  for _, take_back in ipairs(undo) do table.insert(own().undo, take_back) end
  source = source:match "^%s*(.-)%s*$"
  for _, pattern in ipairs(SHOWS) do
    if source:find(pattern) then return end
  end
  if not loadstring(" " .. source) then return end -- an expression; a "#" at the very beginning is no comment
  local mine = own()
  mine.entries[mine.count % MOST] = source
  mine.count = mine.count + 1
end

-- The name of the file that ENTRY loads, if that is all it does.
local function loaded_by(entry)
  local name, file = entry:match "^(%l+)%s*%(?%s*[\"']([^\"'\\]+)[\"']%s*%)?$"
  return (name == "dofile" or name == "reload") and file or nil
end

-- The number of the first entry of those that are kept whose place no file has taken: one to which entries were saved,
-- and which was loaded afterwards, stands for these.
local function first_typed()
  local mine, first = own(), math.max(own().count - MOST, 0)
  for i = first, mine.count - 1 do
    local file = loaded_by(mine.entries[i % MOST])
    local saved = file and mine.saved[file:match "[^/]*$"]
    if saved and saved <= i then first = math.max(first, saved) end
  end
  return first
end

local function script(path)
  local mine = own()
  local shown = text.escape(path:match "[^/]+$")
  local lines = {
    ("-- A session at uplua's prompt, %s."):format(os.date "%Y-%m-%d %H:%M"),
    ("--   uplua %s [-- TARGET]"):format(shown),
  }
  if mine.count > MOST then
    local dropped = text.plural(mine.count - MOST, "entry", "entries")
    lines[#lines + 1] = ("-- The first %s of it are not here."):format(dropped)
  end
  lines[#lines + 1] = 'local up = require "uplua"'
  lines[#lines + 1] = "setmetatable(_G, { __index = up })"
  local first, of_probes, reloads = first_typed(), false, false
  for i = first, mine.count - 1 do
    of_probes = of_probes or mine.entries[i % MOST]:find "probes%s*%["
    reloads = reloads or mine.entries[i % MOST]:find "reload"
  end
  if reloads then lines[#lines + 1] = "reload = function() end -- each file is loaded once, as it is now" end
  if of_probes then
    lines[#lines + 1] = "probes = setmetatable({}, { __index = function(_, i) return up.probes()[i] end, "
      .. "__call = up.probes })"
  end
  lines[#lines + 1] = ""
  local before, seen = #lines, {}
  for i = first, mine.count - 1 do
    local entry = mine.entries[i % MOST]
    local file = loaded_by(entry)
    local again = file and seen[file:match "[^/]*$"] -- in the place of what was loaded before
    if file then seen[file:match "[^/]*$"] = true end
    if file then entry = ("dofile %q"):format(file) end
    if not again then
      lines[#lines + 1] = entry:find "%f[%w_]local%f[^%w_]" and "do\n" .. entry .. "\nend" or entry
    end
  end
  return table.concat(lines, "\n") .. "\n", #lines - before
end

-- The global.
function save.command(path)
  if type(path) ~= "string" or path == "" then error('the file\'s name is expected, as in save "x.lua"', 2) end
  local there = io.open(path)
  if there then
    there:close()
    error(("save: %s is there already: give another name, or remove it"):format(path), 0)
  end
  local content, count = script(path)
  local file, why = io.open(path, "w")
  if not file then error("save: " .. why, 0) end
  local written, problem = file:write(content)
  local closed, late = file:close()
  if not (written and closed) then error(("save: %s: %s"):format(path, problem or late), 0) end
  own().saved[path:match "[^/]*$"] = own().count
  require "uplua.prompt.files".adopt(path, own().undo)
  print(("%s: %s"):format(path, text.plural(count, "entry", "entries")))
end

return save
