-- Where scripts and their modules are found, and how they are loaded: as text only, whatever the Lua function, since
-- LuaJIT does not check bytecode and broken bytecode can do anything to the process that runs it.
local bit     = require "bit"
local digest  = require "uplua.base.digest"
local options = require "uplua.options"
local system  = require "uplua.core".system
local run     = require "uplua.base.run"
local shipped = require "uplua.base.shipped"
local syntax  = require "uplua.base.syntax"
local text    = require "uplua.base.text"

local script = {}

local default_path = package.path

local own = run.part(function()
  return { told = {}, input = nil, digest = nil } -- what was said; standard input's script; the last one's SHA-256
end)

-- TEXT on standard error, once in a run.
local function tell(message)
  local told = own().told
  if told[message] then return end
  told[message] = true
  require "uplua.base.failure".report(message)
end

-- True if version A of a rock, "1.10-1", is later than B.
local function is_later(a, b)
  local numbers_a, numbers_b = a:gmatch "%d+", b:gmatch "%d+"
  repeat
    local one, other = tonumber(numbers_a()), tonumber(numbers_b())
    if one ~= other then return (one or -1) > (other or -1) end
  until not one
  return a > b
end

local ROCKS = "/lib/luarocks/rocks-5.1"

-- Adds to PLACES the scripts of the rocks in TREE, each of its latest version there.
local function add_rocks(places, tree)
  for _, name in ipairs(system.names(tree .. ROCKS) or {}) do
    local latest
    for _, version in ipairs(name:find "^%." and {} or system.names(("%s%s/%s"):format(tree, ROCKS, name)) or {}) do
      local folder = ("%s%s/%s/%s/scripts"):format(tree, ROCKS, name, version)
      if not version:find "^%." and system.names(folder) and (not latest or is_later(version, latest.version)) then
        latest = { folder = folder, origin = ("rock %s %s"):format(name, version), version = version }
      end
    end
    places[#places + 1] = latest
  end
end

-- LuaRocks' trees for LuaJIT: those of who runs uplua, and the machine's. For root that is root's own; another user's
-- only with --trust: what $HOME leads to (sudo -E), and what who called sudo has, which is left out without a word. The
-- second result is that one, where it is left out.
local function trees()
  local list, home, caller = {}, system.environment "HOME", system.sudo_home()
  local tree = home and home:find "^/" and home .. "/.luarocks"
  local problem = tree and not options.trust and system.trust_problem(tree)
  if problem then
    tell(("root uses nothing of %s: %s; change that, or say --trust"):format(text.escape(tree), text.escape(problem)))
  elseif tree then
    list[1] = tree
  end
  local of_caller = caller and caller ~= home and caller:find "^/" and caller .. "/.luarocks"
  local left_out = of_caller and not options.trust and system.trust_problem(of_caller)
  if of_caller and not left_out then list[#list + 1] = of_caller end
  list[#list + 1] = "/usr/local"
  return list, left_out and of_caller or nil
end

-- Where scripts are looked up before the current folder, in this order: of each its `folder`, and its `origin` where
-- that is not uplua itself; `inside` is true of those in uplua's own file.
--   $UPLUA_PATH, folders separated by colons: not in a process with more rights than who started it (setuid, file
--   capabilities: glibc's secure_getenv). Root by sudo has what sudo lets through, which by default is not this.
--   ~/.local/share/uplua/scripts, under the same condition; for root by sudo also that of who called sudo
--   what `make install` installed, beside the binary: bin/../share/uplua/scripts
--   the source tree's scripts, beside the binary
--   those in uplua's own file, where that is all that is installed
--   the scripts of LuaRocks' rocks
-- Entries that are not absolute would depend on the current folder, and are left out, which is said once.
local function places()
  local list = {}
  local function add(folder, origin) list[#list + 1] = { folder = folder, origin = origin } end
  for folder in (system.environment "UPLUA_PATH" or ""):gmatch("[^:]+") do
    if folder:find("^/") then
      add(folder, folder)
    else
      tell(("UPLUA_PATH: '%s' is left out: only absolute folders are searched"):format(text.escape(folder)))
    end
  end
  local home, caller = system.environment "HOME", system.sudo_home()
  local function add_own(folder)
    if folder and folder:find("^/") then add(folder .. "/.local/share/uplua/scripts", folder .. "/.local") end
  end
  add_own(home)
  if caller ~= home then add_own(caller) end
  local here = (system.executable() or ""):match("^(.*)/[^/]*$")
  if here then
    add(here:gsub("/[^/]*$", "") .. "/share/uplua/scripts")
    add(here .. "/scripts")
  end
  list[#list + 1] = { folder = shipped.FOLDER, inside = true }
  for _, tree in ipairs(trees()) do add_rocks(list, tree) end
  return list
end

-- The folders of places(), by which modules are found, too.
function script.folders()
  local folders = {}
  for _, place in ipairs(places()) do
    if not place.inside then folders[#folders + 1] = place.folder end
  end
  return folders
end

-- True if PATH, in PLACE, is a script.
local function is_there(place, path)
  if place.inside then return shipped.text(path) ~= nil end
  return system.is_file(path)
end

-- The path of the script NAME in the places, nil where none has it. One of a user's that stands before a script of
-- uplua's with the same name is said.
local function find_in_places(name)
  local found, origin
  for _, place in ipairs(places()) do
    local path = place.folder .. "/" .. name
    if is_there(place, path) then
      if not found then
        found, origin = path, place.origin
      elseif origin and not place.origin then
        tell(("%s is %s here, not uplua's own %s"):format(name, found, path))
      end
      if not origin then break end
    end
  end
  return found
end

-- The scripts of all folders by name, those that are found first: { { name =, path =, origin = }, … }.
local function all_scripts()
  local seen, list = {}, {}
  for _, place in ipairs(places()) do
    for _, name in ipairs(place.inside and shipped.names() or system.names(place.folder) or {}) do
      local path = place.folder .. "/" .. name
      if name:find "%.lua$" and not seen[name] and is_there(place, path) then
        seen[name] = true
        list[#list + 1] = { name = name, path = path, origin = place.origin }
      end
    end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

-- "; did you mean 'mallocleak.lua'?" for NAME, which no script has: of the places' and the current folder's, by what
-- stands before ".lua", in letters of either case. "" where none is near.
local function hint_of(name)
  local names, stems = {}, {}
  for _, one in ipairs(all_scripts()) do names[#names + 1] = one.name end
  for _, here in ipairs(system.names "." or {}) do
    if here:find "%.lua$" and system.is_file(here) then names[#names + 1] = here end
  end
  local by_stem = {}
  for _, one in ipairs(names) do
    local stem = one:gsub("%.lua$", ""):lower()
    if not by_stem[stem] then stems[#stems + 1], by_stem[stem] = stem, one end
  end
  local near = text.nearest(name:gsub("%.lua$", ""):lower(), stems)
  return near and ("; did you mean '%s'?"):format(text.escape(by_stem[near])) or ""
end

-- The path of the script NAME. A name with a slash is a path; another is looked up in the folders, then in the current
-- one, and then with ".lua" behind it. nil and a message if there is none.
function script.find(name)
  -- "uplua.lua" and "uplua/…" as the names of chunks are uplua's own (uplua.base.failure), "uplua:/…" its scripts.
  local here = name:find("^uplua[./:]") and "./" .. name or name
  if name:find("/", 1, true) then
    if system.is_file(name) then return here end
    return nil, ("no such script: %s%s"):format(name, system.real_path(name) and ": it is a folder" or "")
  end
  local found = find_in_places(name)
  if found then return found end
  if system.is_file(name) then return here end
  local with_suffix = not name:find("%.lua$") and script.find(name .. ".lua")
  if with_suffix then return with_suffix end
  local _, left_out = trees()
  return nil, ("no such script: %s; looked in %s and the current folder%s%s"):format(name,
    table.concat(script.folders(), ", "),
    left_out and ("; --trust looks among the rocks in %s, too"):format(text.escape(left_out)) or "", hint_of(name))
end

-- The script on standard input, which can be read once only.
local function input()
  local mine = own()
  mine.input = mine.input or io.read "*a"
  return mine.input
end

-- The text of the script at PATH, or its beginning, of MOST bytes; "-" is standard input. nil where it cannot be read,
-- or only once.
local function text_of(path, most)
  if path == "-" then return input() end
  if shipped.text(path) then return shipped.text(path) end
  local file = system.is_regular(path) and io.open(path)
  local source = file and file:read(most or "*a")
  if file then file:close() end
  return source
end

-- What the script at PATH says of itself: its banner's line "name: question", without the name; "" where it has none.
function script.summary(path)
  local head = text_of(path, 4096) or ""
  return head:match "^%-%-%[=*%[%s*[%w_%-]+: ([^\n]+)" or head:match "^%-%- ([^\n]+)" or ""
end

-- The first comment of the script at PATH, as it stands there without its marks; "" where something else comes first.
function script.comment(path)
  local source = (text_of(path) or ""):gsub("^#![^\n]*\n", ""):gsub("^%s+", "")
  local level = source:match "^%-%-%[(=*)%["
  local long = level and source:match("^%-%-%[=*%[(.-)%]" .. level .. "%]")
  if long then return (long:gsub("^%s*\n", ""):gsub("%s*%-*%s*$", "")) end
  local lines = {}
  for line in source:gmatch "([^\n]*)\n?" do
    local said = line:match "^%s*%-%-+ ?(.*)$"
    if not said then break end
    lines[#lines + 1] = said
  end
  return (table.concat(lines, "\n"):gsub("%s+$", ""))
end

-- The commands that the first comment of the script at PATH shows, each as it is typed: "  $ uplua leak.lua -- 4242".
function script.examples(path)
  local list = {}
  for command in ("\n" .. script.comment(path)):gmatch "\n *%$ ([^\n]+)" do list[#list + 1] = command end
  return list
end

-- The text of the script at PATH; "" if it cannot be read.
function script.code(path) return text_of(path) or "" end

-- The texts that the code of CHUNK names, in all of its functions, and whether the chunk itself takes "...".
local function names_in(chunk)
  local jit_util = require "jit.util"
  local names = {}
  local function look(code)
    local info = jit_util.funcinfo(code)
    for i = -1, -(info.gcconsts or 0), -1 do
      local value = jit_util.funck(code, i)
      if type(value) == "string" then names[value] = true elseif type(value) == "proto" then look(value) end
    end
  end
  look(chunk)
  local function instruction(code, at) return bit.band(jit_util.funcbc(code, at), 0xff) end
  local varg = instruction(function(...) return (...) end, 1)
  local dots = false
  for at = 1, jit_util.funcinfo(chunk).bytecodes - 1 do dots = dots or instruction(chunk, at) == varg end
  return names, dots
end

-- Whether the script at PATH may look at the words behind its name, as its code has it: by `arg`, `args` or `...`. One
-- that does not would trace the whole machine where somebody asks it for --help.
function script.takes_arguments(path)
  local source = text_of(path)
  local chunk = source and load(source, "=script", "t")
  if not chunk then return true end -- what is wrong with it is told when it is run
  local names, dots = names_in(chunk)
  return names.arg or names.args or names["uplua.args"] or dots
end

-- What --help says of the script at PATH, which the user calls NAME and which takes no arguments: its first comment.
function script.help(name, path)
  local comment = script.comment(path):gsub("[^\n]+", text.escape)
  return ("usage: uplua [options] %s [-- PID... | -- command...]\n\n%sThis script takes no options or arguments; "
    .. "uplua's options stand before its name: uplua --help\n"):format(text.escape(name),
    comment ~= "" and comment .. "\n\n" or "")
end

-- The report of --scripts: these with a line that says what each is for, and where those are from that are not uplua's.
function script.report()
  local rows, width = all_scripts(), 0
  for _, row in ipairs(rows) do width = math.max(width, text.width(text.escape(row.name))) end
  for i, row in ipairs(rows) do
    local summary = script.summary(row.path) .. (row.origin and (" (%s)"):format(row.origin) or "")
    rows[i] = ("%s  %s\n"):format(text.pad(text.escape(row.name), width), text.escape(summary))
  end
  return table.concat(rows)
end

-- Why PATH is not to be run by root, nil if it may be: scripts and modules run with all of root's rights.
local function refusal(path)
  local problem = not options.trust and system.trust_problem(path, true)
  return problem and ("%s is not run as root: %s; change that, or say --trust"):format(path, problem) or nil
end

-- The text of the script at PATH, if it is the one that --sha256 demands; else nil and a message. Without that option
-- it may also be nil, of what can be read only once.
local function checked_text(path)
  local source, found, why = text_of(path), nil, "it is no file"
  if not (options.sha256 or options.serve or options.otlp) then return source end
  if source then found, why = digest.sha256(source) end
  own().digest = found
  if not options.sha256 or found == options.sha256 then return source end
  return nil, ("--sha256: %s %s"):format(path == "-" and "standard input" or path,
    found and "has the SHA-256 " .. found or "cannot be checked: " .. why)
end

-- The SHA-256 of the script that was loaded last, where somebody wants to know; nil where it is not known.
function script.digest() return own().digest end

-- Loads the script at PATH, or standard input for "-". nil and a message if that fails.
function script.load(path)
  local refused = path ~= "-" and not shipped.text(path) and refusal(path)
  if refused then return nil, refused end
  local source, message = checked_text(path)
  if message then return nil, message end
  if shipped.text(path) then return load(source, "@" .. path, "t") end
  local chunk
  if source then
    chunk, message = load(source, path == "-" and "=stdin" or "@" .. path, "t")
  else
    chunk, message = loadfile(path, "t") -- a pipe
  end
  if not chunk and path ~= "-" and message:find("wrong mode$") then
    message = path .. ": this is LuaJIT bytecode; uplua runs scripts from their source text only"
  end
  if message and source then message = syntax.explained(message, source) end
  return chunk, message
end

-- Lets `require` find modules beside the script at PATH (nil: there is none), in the script folders, in users' trees of
-- LuaRocks, then where LuaJIT looks by default; never in the current folder.
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
  for _, tree in ipairs(trees()) do
    if tree ~= "/usr/local" and not tree:find("[?;]") then -- that stands in LuaJIT's own path
      entries[#entries + 1] = tree .. "/share/lua/5.1/?.lua"
      entries[#entries + 1] = tree .. "/share/lua/5.1/?/init.lua"
      package.cpath = package.cpath .. ";" .. tree .. "/lib/lua/5.1/?.so"
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
  local function loadfile(path, ...)
    local refused = path and refusal(path)
    if refused then return nil, refused end
    return loaded(lua_loadfile(path, "t", ...))
  end

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

  -- Those of C: of a module, and of one in another's file (a.b in a.so).
  for i = 3, 4 do
    local loader = package.loaders[i]
    package.loaders[i] = function(name)
      local path = package.searchpath(i == 3 and name or name:match "^[^.]*", package.cpath)
      local refused = path and refusal(path)
      if refused then error(("error loading module '%s': %s"):format(name, refused), 0) end
      return loader(name)
    end
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
