-- help() at the prompt: what the manual says (uplua.api), and what the prompt itself can do.
local api      = require "uplua.api.help"
local names    = require "uplua.prompt.names"
local object   = require "uplua.objects.object"
local terminal = require "uplua.term.terminal"
local text     = require "uplua.base.text"

local help = {}

-- The prompt's own names, in the order in which they are told: name, how it is called, what it does.
help.OWN = {
  { "help", [[help(), help(hist), help "e.elapsed", ?e.elapsed]], "the manual: all of it, of a value, of a name" },
  { "probes", "probes, probes[2]:detach(), :attach(), :replace(handler)",
    "the probes by their numbers, with what a hit costs (the average of the last quarter of a second), its trap, and "
    .. "the share of one CPU" },
  { "dofile", [[dofile "x.lua", reload "x.lua"]],
    "runs the file; what it attached when it ran before, its timers and its at_exit functions are replaced" },
  { "reload", [[reload "x.lua"]], "the same as dofile" },
  { "explain", "explain(p), explain(2), explain()", "the compiled handler of a probe, of its number, of the last one" },
  { "bt", "bt(p), bt(2), bt()", "prints the last stack of that probe; the first time it waits for a hit" },
  { "live", [[live(n), live(function() return n:top(5) end, "200ms")]],
    "shows the value each second, until a key is pressed" },
  { "save", [[save "x.lua"]], "the session as a script that runs: what was entered without an error" },
  { "_", "_, _1", "the last value that was shown, and the one before" },
}

local function own(name)
  for _, row in ipairs(help.OWN) do
    if row[1] == name then return ("%s\n  %s"):format(row[2], row[3]) end
  end
end

-- WORDS on lines of the terminal's width, indented.
local function wrapped(words)
  local width, lines, row = math.max(terminal.size() or 80, 20), {}, nil
  for _, word in ipairs(words) do
    if row and #row + 1 + #word <= width then
      row = row .. " " .. word
    else
      lines[#lines + 1] = row
      row = "  " .. word
    end
  end
  lines[#lines + 1] = row
  return table.concat(lines, "\n")
end

local function overview()
  local lines = {}
  for _, chapter in ipairs(api.chapters()) do
    if #chapter.names > 0 then
      lines[#lines + 1] = chapter.title
      lines[#lines + 1] = wrapped(chapter.names)
    end
  end
  local commands = {}
  for i, row in ipairs(help.OWN) do commands[i] = row[1] end
  lines[#lines + 1] = "At the prompt"
  lines[#lines + 1] = wrapped(commands)
  lines[#lines + 1] = "Begin with"
  lines[#lines + 1] = '  n = count()'
  lines[#lines + 1] = '  p = uprobe("libc:malloc", function(e) n[e.comm]:inc() end)'
  lines[#lines + 1] = "  n"
  lines[#lines + 1] = 'help "uprobe", or ?uprobe, tells of a name; Ctrl-D ends, with a report'
  return table.concat(lines, "\n")
end

-- What CLASS has, a line each.
local function members_of(class)
  local list, described = api.members(class)
  local lines = { ("%s: %s"):format(class, described or "") }
  for _, one in ipairs(list) do lines[#lines + 1] = "  " .. api.signature(one) end
  return table.concat(lines, "\n"), #list
end

-- What is said of NAME; nil and why not.
local function of_name(name)
  local page, why = api.of(name)
  if own(name) then return own(name) .. (page and "\n" .. page or "") end
  local class = api.class(name)
  if page then
    local members, count = "", 0
    if class then members, count = members_of(class) end
    return count > 0 and page .. "\n" .. members or page
  end
  if api.of_type(name) then return api.of_type(name) end
  if class then return (members_of(class)) end
  local same = api.with_member(name)
  if #same > 0 then return nil, ("there is no '%s'; there is %s"):format(name, table.concat(same, ", ")) end
  if not why:find "did you mean" then
    local mine = {}
    for i, row in ipairs(help.OWN) do mine[i] = row[1] end
    why = why .. text.did_you_mean(name, mine)
  end
  return nil, why .. "; help() lists all names"
end

-- The class or name under which the manual has VALUE; nil where it does not.
function help.called(value)
  for _, row in ipairs(help.OWN) do
    if row[1] ~= "_" and rawequal(value, rawget(_G, row[1])) then return row[1] end
  end
  local public = type(value) ~= "number" and type(value) ~= "boolean" and names.public(value) or nil
  if public then return public end
  if object.is(value) then return api.class(rawget(value, "kind")) end
  for _, probe in ipairs(require "uplua.probe.handle".probes()) do
    if rawequal(probe, value) then return "Probe" end
  end
  for class, module in pairs { Stack = "uplua.stack.stack", Buffer = "uplua.objects.buffer" } do
    if package.loaded[module] and package.loaded[module].is(value) then return class end
  end
end

-- Names of the module NAME, "flame": those that begin so.
local function of_module(name)
  local list = {}
  for _, one in ipairs(api.names()) do
    if one:sub(1, #name + 1) == name .. "." then list[#list + 1] = one end
  end
  return #list > 0 and name .. "\n" .. wrapped(list) or nil
end

-- text(): of everything; text(value): of that, or of what a string names.
function help.text(...)
  if select("#", ...) == 0 then return overview() end
  local value = ...
  local name = type(value) == "string" and value:match "^%s*(.-)%s*$" or help.called(value)
  if name == "" then return overview() end
  if not name then
    return ('the manual has nothing of this %s; help "name" tells of a name, help() lists all'):format(type(value))
  end
  local page, why = of_name(name)
  return page or of_module(name) or why
end

-- The global.
function help.command(...) print(help.text(...)) end

return help
