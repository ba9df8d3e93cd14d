-- Error messages for the user.
--
-- An error of the script's own ("leak.lua:12: attempt to index …") comes with a traceback of the script's functions.
-- An error that uplua raises for the user, by error(text, 0), stands for itself: what, which, why and what to do; only
-- the line of the script that led to it is added, or none where the script's user is at fault (failure.mistake).
local core   = require "uplua.core"
local run    = require "uplua.base.run"
local escape = require("uplua.base.text").escape

local SIGPIPE = 13

local failure = {}

-- True for functions of uplua itself: its chunks are named "uplua.lua" and "uplua/…", which script names never are
-- (uplua.run.script).
local function own(info) return info.what == "C" or info.source:find("^@uplua[./]") ~= nil end

-- is_own(info): the same, of what debug.getinfo tells with "S".
failure.is_own = own

-- Names for messages as Lua gives them: "mallocleak.lua:12".
local function place(info) return ("%s:%d"):format(info.short_src, info.currentline) end

local function describe(info)
  if info.what == "main" then return "in the main chunk" end
  if info.name then return ("in function '%s'"):format(info.name) end
  return ("in the function at line %d"):format(info.linedefined)
end

local Mistake = { __tostring = function(self) return self.text end }

-- Raises TEXT as what the script's user has given wrong: no line of the script says more about it. tostring of the
-- error is TEXT.
function failure.mistake(text) error(setmetatable({ text = text }, Mistake), 0) end

-- the names of chunks that the script's user has given → the option by which the user gets the returns of calls, or ""
local expressions = run.part(function() return {} end)

-- From now on errors in the chunk NAME, "--key 'e.arg0'", are the user's: no line of the script says more about them.
-- AT_RETURN: the option of the script, "--return", that does what the library's message has another kind of probe for.
function failure.expression(name, at_return) expressions()[name] = at_return or "" end

-- TEXT, if it is about such a chunk, without the lines that led there, and without its own if it has but one; else nil.
local function of_expression(text)
  for name, at_return in pairs(expressions()) do
    if text:sub(1, #name + 1) == name .. ":" then
      local message = text:sub(#name + 1):gsub("^:%d+: ", ": "):gsub("\n  called at [^\n]*", "")
      if at_return ~= "" then
        message = message:gsub("returns: use [%l_]+$", "returns: give " .. at_return:gsub("%%", "%%%%"))
      end
      return name .. message
    end
  end
end

-- TEXT with what to write where it says that one of uplua's functions is not there: in a file they are fields of a
-- table.
local function with_remedy(text)
  local public = getmetatable(require "uplua")
  local called = text:match "attempt to call field '([%w_]+)' %(a nil value%)"
  if called and called == public.missing then
    local names = {}
    for name in pairs(public.names) do names[#names + 1] = name end
    table.sort(names)
    local near = require("uplua.base.text").did_you_mean(called, names)
    return (text:gsub("\n", function() return near .. "\n" end, 1))
  end
  local name = text:match "attempt to call global '([%w_]+)' %(a nil value%)" or
               text:match "'([%w_]+)' is nil when the handler is compiled: there is no"
  if not name then return text end
  local open = rawget(_G, "up") ~= nil -- they are globals, too
  if not public.names[name] then
    local near = require("uplua.base.text").nearest(name, public.names)
    local hint = near and ("; did you mean '%s%s'?\n"):format(open and "" or "up.", near)
    return hint and (text:gsub("\n", function() return hint end, 1)) or text
  end
  return (text:gsub("\n", function() return (': say up.%s, of local up = require "uplua"\n'):format(name) end, 1))
end

-- The handler for xpcall: turns any error into the text for the user.
function failure.trace(err)
  local text = tostring(err)
  if getmetatable(err) == Mistake then return text end
  local of_user = of_expression(text)
  if of_user then return of_user end
  text = with_remedy(text .. "\n"):sub(1, -2)
  if type(err) == "table" and not (getmetatable(err) or {}).__tostring then
    text = "an error without a message (a table)"
  end
  local frames, first = {}, nil
  local positioned = false -- by Lua itself or by error(text): the text begins with the place of one of the functions
  for level = 2, 200 do
    local info = debug.getinfo(level, "Sln")
    if not info then break end
    local source = info.short_src .. ":"
    if text:sub(1, #source) == source and text:find("^%d+: ", #source + 1) then positioned = true end
    if not own(info) then
      first = first or place(info)
      frames[#frames + 1] = ("  %s: %s"):format(place(info), describe(info))
    end
  end
  if type(err) == "string" and not positioned then return first and ("%s\n  at %s"):format(text, first) or text end
  if #frames > 12 then
    while #frames > 11 do table.remove(frames, 7) end
    table.insert(frames, 7, "  …")
  end
  table.insert(frames, 1, text)
  return table.concat(frames, "\n")
end

-- Writes a message for the user on stderr, after what was printed so far. It may quote names that the target chose.
function failure.report(message)
  io.stdout:flush()
  io.stderr:write("uplua: ", escape(message, "\n\t"), "\n")
end

-- Reports an error; where nobody reads the output any more it is that.
function failure.report_error(message)
  if core.loop.signal() ~= SIGPIPE then failure.report(message) end
end

return failure
