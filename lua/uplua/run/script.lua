-- Where scripts and their modules are found, and how they are loaded: as text only, whatever the Lua function, since
-- LuaJIT does not check bytecode and broken bytecode can do anything to the process that runs it.
local system = require "uplua.core".system
local run    = require "uplua.base.run"
local text   = require "uplua.base.text"

local script = {}

local default_path = package.path

-- The folders in which scripts are looked up before the current one.
--   $UPLUA_PATH, folders separated by colons: not in a process with more rights than who started it (setuid, file
--   capabilities: glibc's secure_getenv). Root by sudo has what sudo lets through, which by default is not this.
--   ~/.local/share/uplua/scripts, under the same condition
--   what `make install` installed, beside the binary: bin/../share/uplua/scripts
--   the source tree's scripts, beside the binary
-- Entries that are not absolute would depend on the current folder, and are left out, which is said once.
local own = run.part(function() return { told = {} } end)

function script.folders()
  local folders, told = {}, own().told
  for folder in (system.environment "UPLUA_PATH" or ""):gmatch("[^:]+") do
    if folder:find("^/") then
      folders[#folders + 1] = folder
    elseif not told[folder] then
      told[folder] = true
      require "uplua.base.failure".report(("UPLUA_PATH: '%s' is left out: only absolute folders are searched")
        :format(text.escape(folder)))
    end
  end
  local home = system.environment "HOME"
  if home and home:find("^/") then folders[#folders + 1] = home .. "/.local/share/uplua/scripts" end
  local here = (system.executable() or ""):match("^(.*)/[^/]*$")
  if here then
    folders[#folders + 1] = here:gsub("/[^/]*$", "") .. "/share/uplua/scripts"
    folders[#folders + 1] = here .. "/scripts"
  end
  return folders
end

-- The path of the script NAME. A name with a slash is a path; another is looked up in the folders, then in the current
-- one. nil and a message if there is none.
function script.find(name)
  -- "uplua.lua" and "uplua/…" as the names of chunks are uplua's own (uplua.base.failure).
  local here = name:find("^uplua[./]") and "./" .. name or name
  if name:find("/", 1, true) then
    if system.is_file(name) then return here end
    return nil, ("no such script: %s%s"):format(name, system.real_path(name) and ": it is a folder" or "")
  end
  local folders = script.folders()
  for _, folder in ipairs(folders) do
    local path = folder .. "/" .. name
    if system.is_file(path) then return path end
  end
  if system.is_file(name) then return here end
  if not name:find("%.lua$") and script.find(name .. ".lua") then
    return nil, ("no such script: %s; did you mean %s.lua?"):format(name, name)
  end
  return nil, ("no such script: %s; looked in %s and the current folder"):format(name, table.concat(folders, ", "))
end

-- What the script at PATH says of itself: its banner's line "name: question", without the name; "" where it has none.
function script.summary(path)
  local file = io.open(path)
  if not file then return "" end
  local head = file:read(4096) or ""
  file:close()
  return head:match "^%-%-%[=*%[%s*[%w_%-]+: ([^\n]+)" or head:match "^%-%- ([^\n]+)" or ""
end

-- The report of --scripts: the scripts of all folders by name, those that are found first, with a line that says what
-- each is for.
function script.report()
  local seen, rows, width = {}, {}, 0
  for _, folder in ipairs(script.folders()) do
    for _, name in ipairs(system.names(folder) or {}) do
      local path = folder .. "/" .. name
      if name:find "%.lua$" and not seen[name] and system.is_file(path) then
        seen[name] = true
        rows[#rows + 1] = { name, script.summary(path) }
        width = math.max(width, text.width(text.escape(name)))
      end
    end
  end
  table.sort(rows, function(a, b) return a[1] < b[1] end)
  for i, row in ipairs(rows) do
    rows[i] = ("%s  %s\n"):format(text.pad(text.escape(row[1]), width), text.escape(row[2]))
  end
  return table.concat(rows)
end

-- Loads the script at PATH, or standard input for "-". nil and a message if that fails.
function script.load(path)
  if path == "-" then return load(io.read "*a", "=stdin", "t") end
  local chunk, message = loadfile(path, "t")
  if not chunk and message:find("wrong mode$") then
    message = path .. ": this is LuaJIT bytecode; uplua runs scripts from their source text only"
  end
  return chunk, message
end

-- Lets `require` find modules beside the script at PATH (nil: there is none), in the script folders, then where
-- LuaJIT looks by default; never in the current folder.
function script.set_module_path(path)
  local folders = script.folders()
  local real = path and system.real_path(path)
  if real then table.insert(folders, 1, (real:match("^(.*)/[^/]*$"))) end
  local entries = {}
  for _, folder in ipairs(folders) do
    -- A folder with a "?" or ";" in its name cannot be written in a search path.
    if not folder:find("[?;]") then
      entries[#entries + 1] = folder .. "/?.lua"
      entries[#entries + 1] = folder .. "/?/init.lua"
    end
  end
  for entry in default_path:gmatch("[^;]+") do
    if entry:find("^/") then entries[#entries + 1] = entry end
  end
  package.path = table.concat(entries, ";")
end

-- Replaces what would load bytecode, and the search paths that depend on the current folder. INTERRUPTIBLE: what is
-- loaded runs without the JIT, whose traces heed no Ctrl-C.
function script.restrict_loading(interruptible)
  local lua_load, lua_loadfile = load, loadfile

  local function loaded(chunk, ...)
    if chunk and interruptible then jit.off(chunk, true) end
    return chunk, ...
  end
  local function loadfile(path, ...) return loaded(lua_loadfile(path, "t", ...)) end

  function _G.load(chunk, name, _, ...) return loaded(lua_load(chunk, name, "t", ...)) end
  function _G.loadstring(chunk, name) return loaded(lua_load(chunk, name, "t")) end
  function _G.loadfile(path, _, ...) return loadfile(path, ...) end
  function _G.dofile(path)
    local chunk, message = loadfile(path)
    if not chunk then error(message, 2) end
    return chunk()
  end

  package.loaders[2] = function(name)
    local path, tried = package.searchpath(name, package.path)
    if not path then return tried end
    local chunk, message = loadfile(path)
    if not chunk then error(("error loading module '%s' from file '%s':\n\t%s"):format(name, path, message), 0) end
    return chunk
  end

  local absolute = {}
  for entry in package.cpath:gmatch("[^;]+") do
    if entry:find("^/") then absolute[#absolute + 1] = entry end
  end
  package.cpath = table.concat(absolute, ";")
end

-- For -e and the prompt: the functions of `up` as globals, and `up` itself.
function script.open_api()
  up = require "uplua"
  setmetatable(_G, { __index = up })
end

return script
