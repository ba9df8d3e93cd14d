-- The report of --list: what can be probed. A kind of probe that can be listed makes entries (uplua.probe.providers),
-- which are printed as text or as JSON. An entry has `probe`, the spec as a script would give it, and what is known of
-- it:
--   arguments   { { name, type, source }, … }: of e.args, its type in handlers, its type in the kernel's source or
--               where it is
--   result      of a return, its type in the source
--   places      of a USDT probe: { { count, semaphore, arguments, problem }, … }, one for each set of places at which
--               that is the same
--   offset, at, why   of a function: the file offset of its probe, how far behind the entry that is, and why there
--   of          what the function has to do with another one: "a clone of calc"
--   what        what can be given where the spec has words in capitals; the size of a variable
-- or it has `left_out`, a function that a pattern names and that is not probed, and `why`.
local core           = require "uplua.core"
local cli       = require "uplua.run.cli"
local failure   = require "uplua.base.failure"
local providers = require "uplua.probe.providers"
local text      = require "uplua.base.text"

local function plural(n, one) return ("%d %s%s"):format(n, one, n == 1 and "" or "s") end

local function place_line(place)
  local list = {}
  for i, argument in ipairs(place.arguments) do
    list[i] = ("%s %s %s"):format(argument.name, argument.type, text.escape(argument.source))
  end
  return ("%s%s%s"):format(plural(place.count, "place"), place.semaphore and ", with a semaphore" or "",
    #list > 0 and ": " .. table.concat(list, ", ") or ", no arguments")
end

local function print_details(entry)
  for _, place in ipairs(entry.places or {}) do
    print("    " .. place_line(place))
    if place.problem then print("    cannot be probed: " .. place.problem) end
  end
  for _, argument in ipairs(entry.arguments or {}) do
    print(("    %s %s  (%s)"):format(argument.name, argument.type, text.escape(argument.source)))
  end
  if entry.result then print(("    returns %s  (e.ret)"):format(text.escape(entry.result))) end
  if entry.offset then
    local at, why = entry.at > 0 and (", at +%#x"):format(entry.at) or "", entry.why and ": " .. entry.why or ""
    print(("    file offset %#x%s%s"):format(entry.offset, at, why))
  end
end

local function print_text(entry, verbose)
  if entry.probe then
    local more = entry.what or entry.of
    print(text.escape(entry.probe) .. (more and "  " .. text.escape(more) or ""))
    if verbose then print_details(entry) end
  elseif verbose then
    print(("left out: %s: %s"):format(text.escape(entry.left_out), entry.why))
  end
end

-- ENTRIES by name, of equal names as the file has them, and what is left out behind.
local function sorted(entries)
  local place = {}
  for i, entry in ipairs(entries) do place[entry] = i end
  table.sort(entries, function(a, b)
    if (a.probe == nil) ~= (b.probe == nil) then return a.probe ~= nil end
    local x, y = a.probe or a.left_out, b.probe or b.left_out
    if x ~= y then return x < y end
    return place[a] < place[b]
  end)
  return entries
end

local list = {}

local function wrong(format, ...) cli.wrong("--list: " .. format, ...) end

-- For WHAT, which begins with no kind of probe that can be listed, but with NAME; REST stands behind.
local function no_kind(what, name, rest)
  local names = {}
  for _, one in ipairs(providers.all()) do names[#names + 1] = one.list and one.name end
  table.sort(names)
  local near, hint = text.nearest(name, names), providers.find "tracepoint".hint(what)
  if near then
    hint = ("; did you mean %s:%s?"):format(near, rest)
  elseif not hint and name:find "/" and core.system.is_file(name) then
    hint = ("; did you mean 'uprobe:%s:%s'?"):format(name, rest ~= "" and rest or "*")
  elseif not hint and rest == "" then
    hint = ("; for functions of this name write the file, too, as in 'uprobe:libc:%s'"):format(name)
  end
  cli.wrong("--list: no such kind of probe: %s%s; there is %s", name, hint or "", table.concat(names, ", "))
end

-- The entries for WHAT, "usdt:4242"; what begins with no kind of probe is a function of a program, as in specs.
-- DETAILS: with the arguments of tracepoints and system calls. Raises what is wrong.
function list.list(what, details)
  if type(what) ~= "string" then
    error("list: the first argument is a kind of probe and a pattern, as in \"syscall:open*\"", 2)
  end
  local name, rest = what:match "^([^:]*):?(.*)$"
  local provider = providers.find(name)
  local of_kind = provider and provider.list
  if not of_kind and (provider or rest == "") then no_kind(what, name, rest) end
  if not of_kind then provider, rest = providers.find "uprobe", what end
  local ok, result = pcall(provider.list, rest, details, wrong)
  if ok then return sorted(result) end
  if cli.is_usage(result) then error(result, 0) end
  if not of_kind and tostring(result):find("there is no program or library", 1, true) then
    no_kind(what, name, what:match ":(.*)$")
  end
  failure.mistake(tostring(result))
end

-- Prints them, one spec a line; VERBOSE: with what is known of each; JSON: an array of all entries.
function list.print(what, verbose, json)
  local entries = list.list(what, verbose)
  if json then return print(require "uplua.base.json".encode(entries)) end
  for _, entry in ipairs(entries) do print_text(entry, verbose) end
end

return list
