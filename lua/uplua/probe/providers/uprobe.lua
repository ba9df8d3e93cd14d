-- uprobe and uretprobe: functions of programs; and where functions are: up.site, up.defines, up.modules_defining.
local claims             = require "uplua.probe.claims"
local core               = require "uplua.core"
local declare            = require "uplua.probe.declare"
local late_modules       = require "uplua.target.late_modules"
local loop               = require "uplua.base.loop"
local lost_returns       = require "uplua.probe.lost_returns"
local option_table       = require "uplua.base.option_table"
local options            = require "uplua.options"
local results            = require "uplua.probe.results"
local setup              = require "uplua.probe.setup"
local text               = require "uplua.base.text"
local without_hits       = require "uplua.probe.without_hits"

local uprobe = {}

-- Attaches a probe of functions at SITES.
local function attach_function(sites)
  return function(probe, program, link)
    local refused
    local function at(kind, fd, cookie)
      local result = declare.try(probe.provider.name .. " ", 0, core.probe.attach, kind, fd, cookie, sites)
      link(result, false, function(pid) core.probe.attach_again(result, kind, fd, cookie, sites, pid) end)
      refused = refused or table.concat(result:refused(), ", ")
    end
    local by_instruction = probe.provider.of_return and (probe.of_go or probe.by_instruction)
    local kind = program.session and "session" or not probe.provider.of_return and "entry" or
                 by_instruction and "exit" or "return"
    -- Of programs at one instruction the kernel runs the last one first: where a function's first instruction is its
    -- last one, too, the entry has to be seen before the return.
    if by_instruction then at(kind, program.fd, program.cookie) end
    if program.entry_fd then at("entry", program.entry_fd, program.entry_cookie) end
    if not by_instruction then at(kind, program.fd, program.cookie) end
    if refused ~= "" then
      loop.warn(("%s %s: the kernel puts no probe on the first instruction of %s")
        :format(probe.provider.name, probe.spec, refused))
    end
  end
end

-- Where the probe of a function's entry may slide to (probe/spec/slide.h), by the option `slide`.
local SLIDES = { [true] = "exact", [false] = "off", lossy = "lossy" }
uprobe.check_slide = option_table.check('true, false or "lossy"', function(value) return SLIDES[value] end)

-- How the return of a function is seen, by the option `returns`: the kernel replaces the return address, or at its
-- return instructions.
local RETURNS = { address = "address", instructions = "instructions" }
local check_returns = option_table.check('"address" or "instructions"', function(value) return RETURNS[value] end)

-- Warns of what the patterns of a probe mean and leave out; --explain lists it.
local function warn_skipped(kind, name, skipped)
  local reasons, counts = {}, {}
  for _, one in ipairs(skipped) do
    if not counts[one.why] then reasons[#reasons + 1] = one.why end
    counts[one.why] = (counts[one.why] or 0) + 1
  end
  for i, why in ipairs(reasons) do reasons[i] = ("%d: %s"):format(counts[why], why) end
  if #reasons == 0 or options.explain then return end
  loop.warn(("%s %s: %s left out (--explain lists them)\n  %s")
    :format(kind, name, text.plural(#skipped, "function is", "functions are"), table.concat(reasons, "\n  ")))
end

-- Warns of functions that jump to their own entries where that is not told from a call: ONES, of sites:summary(), or
-- nil.
local function warn_reentries(kind, name, ones)
  if not ones then return end
  local names = {}
  for i, one in ipairs(ones) do names[i] = ("%s (%s)"):format(one["function"], one.why) end
  loop.warn(("%s %s: a loop begins at the first instruction of %s: each of its rounds counts as a call"):format(kind,
    name, table.concat(names, ", ")))
end

-- CLAIM: to the places of the list that they are of (uplua.probe.claims).
local function declare_at(provider, name, mine, sites, given, claim)
  local kind = provider.name
  if not claim:sites(sites, kind) then return end
  local summary, first, skipped = sites:summary(), sites:list(1)
  warn_skipped(kind, name, skipped)
  lost_returns.note(summary.leaves)
  warn_reentries(kind, name, summary.reentries)
  if summary.other then
    error(("%s %s: functions of Go are called in another way than others: %s and %s need probes of their own")
      :format(kind, name, first[1]["function"], summary.other), 0)
  end
  local groups = given.typed and results.divide(sites, summary, given.shown) or { { sites = sites, summary = summary } }
  for i, group in ipairs(groups) do
    group.provider, group.spec, group.handle, group.functions = provider, name, mine, true
    group.of_go, group.by_instruction = summary.of_go, given.returns == "instructions"
    group.skipped, group.all_names = i == 1 and skipped or nil, i == 1 and summary.names or {}
    group.attach = attach_function(group.sites)
    declare.probe(group)
  end
end

-- True if what HANDLER becomes has to do with where its probe is: arguments by name.
local function needs_place(handler) return string.dump(handler):find("args", 1, true) ~= nil end

-- Has SPEC probed, too, in files that the target maps later. SITES: where it is probed by now; nil and ABSENT, the
-- reason: nowhere.
local function wait_for(provider, spec, mine, resolve, sites, absent, given, taken)
  local claim = claims.new(taken)
  mine.expected = true
  late_modules.add {
    kind = provider.name, spec = spec, absent = absent, files = sites and sites:files(),
    find = function(text, pid)
      local found, none = resolve({ text }, pid)
      return found, none or found:files()
    end,
    attach = function(found) setup.at_once(declare_at, provider, spec, mine, found, given, claim) end,
  }
  -- What is wrong with the handler is told now, and the types of what it shares with others are known.
  if absent and not needs_place(mine.handler) then
    local symbol = spec:match "[:@]([^+]*)"
    declare.probe { provider = provider, spec = spec, symbol = symbol, handle = mine, waits = true }
  end
end

-- Those of SPECS of libraries that the target has not loaded are waited for; the others are declared.
local function declare_some(provider, specs, mine, resolve, given, taken)
  local there = {}
  for _, spec in ipairs(specs) do
    local sites, absent = resolve { spec }
    if sites then
      there[#there + 1] = spec
    elseif late_modules.library(spec) then
      wait_for(provider, spec, mine, resolve, nil, absent, given, taken)
    else
      error(provider.name .. " " .. absent, 0)
    end
  end
  if #there > 0 then
    declare_at(provider, table.concat(there, ", "), mine, (resolve(there)), given, claims.new(taken))
  end
end

-- Declares the probes of SPECS where RESOLVE(specs, pid or nil) finds them, and has those in libraries that may come
-- later waited for.
local function declare_resolved(provider, specs, mine, resolve, given)
  late_modules.begin(specs)
  local sites, absent = resolve(specs)
  local taken = claims.taken()
  if not sites then
    if late_modules.can() then return declare_some(provider, specs, mine, resolve, given, taken) end
    error(provider.name .. " " .. absent, 0)
  end
  for _, spec in ipairs(late_modules.can() and specs or {}) do
    if late_modules.name(spec) then wait_for(provider, spec, mine, resolve, sites, nil, given, taken) end
  end
  declare_at(provider, table.concat(specs, ", "), mine, sites, given, claims.new(taken))
  late_modules.note(provider.name, specs)
end

local function declare_functions(provider, spec, given, handler)
  local kind = provider.name
  local specs = declare.specs(spec, kind .. ': the first argument names the function: "libc:malloc"; or it is a ' ..
                              "list of such names", 3)
  local given, mine = declare.arguments(provider, table.concat(specs, ", "), given, handler, 3)
  local slide = given.slide or "exact"
  local returns = provider.of_return and (given.returns or options.returns or "address")
  if returns == "address" and given.throws == false then returns = "surely" end
  given = { typed = given.typed, returns = returns, shown = results.are_shown() }
  local function resolve(which, pid)
    return declare.try(kind .. " ", 0, core.probe.resolve, which, slide, returns, pid)
  end
  local ok, message = pcall(declare_resolved, provider, specs, mine, resolve, given)
  if not ok then error(message, 3) end
  return mine
end

local MOST_FUNCTIONS = 64 -- of a spec, of which each is looked up by itself, for its own arguments

-- WHERE, "e.vars", with the field NAME, as Lua has it: local is a word of its own.
local function field_of(where, name)
  return (loadstring(("return %s.%s"):format(where, name)) and "%s.%s" or "%s[%q]"):format(where, name)
end

-- FOUND, parameters or variables of a function, which handlers have as fields of WHERE, as entries have arguments; nil:
-- none are known.
local function list_arguments(found, where)
  local list = {}
  for i, one in ipairs(found or {}) do
    local name = one.name or ("[%d]"):format(i)
    local there = one.place ~= "nowhere"
    list[i] = { name = name, type = there and one.type or "?",
      source = there and (one.name and field_of(where, name) or where .. name) or one.type }
  end
  return #list > 0 and list or nil
end

-- What handlers of the one function of SITES can have by name: its variables where the place is INSIDE, else its
-- arguments.
local function list_names(sites, inside, returns)
  if inside > 0 then return list_arguments(sites:variables(), "e.vars") end
  return list_arguments(sites:parameters(returns), "e.args")
end

-- The spec of each of SITES alone, as a function of it: a name with "+0" leaves the clones and older versions of that
-- name out, where there are some.
local function alone(sites)
  local has_more = {}
  for _, site in ipairs(sites) do
    if site.of then has_more[site.of] = true end
  end
  return function(site)
    local name = site["function"]
    return ("%s:%s%s"):format(site.path, name, has_more[name] and "+0" or "")
  end
end

-- What the function of SITE has to do with another one, for people; nil: nothing.
local function relation(site)
  if not site.of then return nil end
  return (site["function"]:find("@", 1, true) and "an older version of %s" or "a clone of %s"):format(site.of_name)
end

-- BINARY:FUNCTION, as in a probe's spec: what of it probes of KIND can have, where each would stand, and what is left
-- out. RETURNS: how their returns are seen. DETAILS: with their arguments, where they are few, or the variables at the
-- one place inside of a function.
local function list_functions(kind, returns)
  return function(rest, details, wrong)
    if not rest:find "[:@]" then wrong("%s needs functions, as in '%s:libc:mal*'", kind, kind) end
    local resolved, absent = core.probe.resolve(rest, "exact", returns)
    if not resolved then error(absent, 0) end
    local sites, skipped = resolved:list()
    local entries, spec_of = {}, alone(sites)
    for _, site in ipairs(sites) do
      entries[#entries + 1] = {
        probe = ("%s:%s:%s"):format(kind, site.module, site.name), offset = site.offset, at = site.inside + site.slid,
        why = site.why, of = relation(site),
      }
      if details and #sites <= MOST_FUNCTIONS then
        local found, one = true, resolved
        if #sites > 1 then
          found, one = pcall(core.probe.resolve, spec_of(site), "exact", returns)
        end
        if found then
          local result = returns and one:result()
          entries[#entries].arguments = list_names(one, site.inside, returns and true)
          entries[#entries].result = result and result.place ~= "nowhere" and result.type or nil
        end
      end
    end
    for _, one in ipairs(skipped) do entries[#entries + 1] = { left_out = one["function"], why = one.why } end
    return entries
  end
end

-- True where all of PARAMETERS, of COUNT functions, are where handlers can read them, or one function is all there is:
-- several may have one in different places.
local function is_whole(parameters, count)
  for _, parameter in ipairs(parameters) do
    if count > 1 and parameter.place == "nowhere" then return false end
  end
  return true
end

-- The hits of a trace at places inside of functions, LIST, which SPEC stands for: with the variables there, which lie
-- elsewhere at each place.
local function hits_inside(list, spec)
  local line = spec:match "[@:/]([^@:/]+:%d+)$"
  local parts = {}
  for i, site in ipairs(list) do
    local one = #list == 1 and spec or ("%s:%#x"):format(site.path, site.address)
    local found, own = pcall(core.probe.resolve, #list == 1 and spec:gsub("^uprobe:", "") or one, "exact")
    local variables = found and type(own) == "userdata" and own:variables() or nil
    local at = line and " at " .. line or ("+%#x"):format(site.inside)
    parts[i] = { at = at, probe = one, variables = variables, sites = { site } }
  end
  return parts
end

-- True where all of the sites LIST are inside of functions, not at their entries.
local function all_inside(list)
  for _, site in ipairs(list) do
    if site.inside == 0 and not site.of_line then return false end
  end
  return #list > 0 and #list <= MOST_FUNCTIONS
end

-- The hits of a trace: with their arguments by name, and what they return by its type, where debug information has them
-- and they are the same, or the functions are few.
local function hits(rest, returns, spec)
  local ok, sites = pcall(core.probe.resolve, rest, "exact", returns)
  if not ok or not sites then return { { probe = spec } } end -- the probe tells why, or waits for the library
  local list, skipped = sites:list()
  local result = returns and sites:result() or nil
  local numbered = { { probe = spec, result = result, raw = returns and not result and #list > 1, sites = list,
                       results = function() return sites:results() end } }
  if not returns and all_inside(list) then return hits_inside(list, spec) end
  local parameters = sites:parameters(returns)
  if parameters and is_whole(parameters, #list) and (not returns or result) then
    return { { probe = spec, parameters = parameters, result = result, sites = list } }
  end
  local parts, seen, named, spec_of = {}, {}, false, alone(list)
  for _, site in ipairs(list) do
    local one = spec_of(site)
    if not seen[one] then
      if #parts == MOST_FUNCTIONS then return numbered end
      local _, own = pcall(core.probe.resolve, one, "exact", returns)
      local found = type(own) == "userdata"
      parameters = found and own:parameters(returns) or nil
      named = named or parameters
      result = returns and found and own:result() or nil
      parts[#parts + 1] =
        { probe = one, parameters = parameters, result = result, raw = returns and not result, sites = { site } }
      seen[one] = true
    end
  end
  if not (named and #parts > 1) then return numbered end
  warn_skipped(returns and "uretprobe" or "uprobe", rest, skipped) -- probes of the parts do not know of these
  return parts
end

local ENDS = { [4] = true, [5] = true, [11] = true } -- SIGILL, SIGTRAP, SIGSEGV

-- Why a probe may have ended a program by SIGNAL (uplua.probe.providers): one on an instruction, and one of a return.
local function ends_at_instruction(signal)
  return ENDS[signal] and "the kernel steps the instruction that it is on; those that are known not to bear it are " ..
                          "refused"
end
local function ends_at_return(signal)
  if options.returns == "instructions" then return ends_at_instruction(signal) end
  return ENDS[signal] and "a program that looks at its return addresses, or switches stacks, does not bear it; " ..
                          "--returns instructions leaves them alone"
end

uprobe.providers = {
  uprobe = {
    name = "uprobe", options = { slide = uprobe.check_slide }, specified = true, of_binary = true,
    at_return = "uretprobe", list = list_functions "uprobe", hits = hits, ends = ends_at_instruction,
    without_hits = without_hits.elsewhere,
    ways = {
      { needs = { "uprobe_multi" }, "one link for all places in a file" },
      { needs = { "uprobe" }, "a perf event for each place" },
    },
  },
  uretprobe = {
    name = "uretprobe", specified = true, of_binary = true, at_return = "uretprobe", of_return = "function",
    typed = true, followed = true, ends = ends_at_return, without_hits = without_hits.elsewhere,
    options = {
      slide = uprobe.check_slide, typed = option_table.boolean, returns = check_returns, throws = option_table.boolean,
    },
    list = list_functions("uretprobe", "address"), hits = function(rest, _, spec) return hits(rest, true, spec) end,
    ways = {
      { needs = { "session" }, "one link for all places in a file, for entries and returns" },
      { needs = { "uprobe_multi" }, "a link for entries and one for returns, which pair in each thread" },
      { needs = { "uprobe" }, "a perf event for each entry and each return, which pair in each thread" },
    },
  },
}

-- uprobe(spec, [options], handler): HANDLER runs in the kernel whenever the function SPEC is entered; SPEC may be a
-- list of such. Raises what is wrong with it.
-- Options: slide = false, the probe stands on the first instruction; slide = "lossy", also behind conditional jumps.
function uprobe.uprobe(spec, given, handler)
  return (declare_functions(uprobe.providers.uprobe, spec, given, handler))
end

-- uretprobe(spec, [options], handler): HANDLER runs when the function returns. Options: typed = true, e.ret is cut to
-- the integer that debug information says the function returns; throws = false, no exception leaves the function, and
-- no warning of them is needed.
function uprobe.uretprobe(spec, given, handler)
  return (declare_functions(uprobe.providers.uretprobe, spec, given, handler))
end

-- Where SPEC is, or nil and why it is nowhere; NAME is who asks.
local function find(name, spec)
  if type(spec) ~= "string" then
    error(("%s: the first argument names the function: \"libc:malloc\""):format(name), 3)
  end
  local ok, sites, absent = pcall(core.probe.resolve, spec)
  if not ok then return nil, sites end
  return sites and sites:list(1)[1], absent
end

-- site(spec): where SPEC is in the target, { path, module, ["function"], offset, inside }; nil and the reason where it
-- is nowhere.
function uprobe.site(spec)
  local site, why = find("site", spec)
  return site, why
end

-- defines(spec): true if SPEC can be probed; nil and why not.
function uprobe.defines(spec)
  local site, why = find("defines", spec)
  return site and true, why
end

-- modules_defining(name, [later]): the paths of the target's modules that define the function NAME themselves; as
-- modules in a spec they resolve. later(path) is called for each that a process of the target loads later, and the
-- probes that it declares are attached.
function uprobe.modules_defining(names, later)
  names = declare.specs(names, 'modules_defining: the first argument names a function, "malloc", or is a list of names',
                        2)
  if later ~= nil and type(later) ~= "function" then
    error("modules_defining: the second argument is a function, called with each path, not a " .. type(later), 2)
  end
  if later then declare.wait() end
  return late_modules.modules_defining(names, later and function(path) setup.at_once(later, path) end)
end

return uprobe
