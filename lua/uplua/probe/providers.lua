-- The kinds of probes. Each is a provider: one table of what it is called and what it does, in a file of
-- lua/uplua/probe/providers and, for the compiler, of src/compile/providers. Lua's list of them is the public table,
-- lua/uplua.lua, where their constructors stand. --list, --info, --explain, trace, up.probe and the messages ask a
-- provider; nothing else asks of which kind a probe is.
--
-- A provider has
--   name        of its constructor: "uprobe"
--   options     those of its constructor, as uplua.base.option_table reads them; nil: none
--   specified   true if specs, which users give, may begin with its name (up.probe): all but those of tests
--   of_binary   true if the rest of such a spec begins with a binary
--   at_return   the name of the provider of what returns there; its own, if it is that; nil: nothing returns
--   of_return   what returns, "function" or "call", in a provider of returns that pair with their entries
--   typed       true if e.ret is a word of which what a function returns may be a part: it has the option `typed`
--   followed    true if the kernel has to follow the calls of a program for it
--   inside      true if it stands inside of functions, and not for their entries
--   by_cpu      true if its events are of CPUs, and --cpu opens those of some; the others test where they run
--   mapped      true if the target must have mapped its files before a probe is attached
--   event       of system calls: what the kernel calls it, "enter" or "exit"
--   of_nobody   true if it is hit whoever runs: its events have no thread
--   hidden      true if it is for tests alone
--   ways        how probes are set, best first: { { needs = { the kernel's features }, what it is }, … } (--info)
-- and these functions, which are called with a dot:
--   parse(rest, given)  what its constructor is given, and the options, of what a spec has behind its name; raises what
--               is wrong with that, and what to write; GIVEN: options besides; nil: it is given the rest
--   list(rest, details, wrong)  what can be probed of what a spec has behind its name: entries (uplua.run.list); with
--               DETAILS all that is known of them; wrong(text, …) raises what is wrong with the command line
--   hits(rest, returns, spec)  what a trace of SPEC shows of its hits, or with RETURNS of its returns: a list of parts
--               (uplua.trace); whatever is specified has it
--   all(rest)   true where that is all of the kind, which leaves nothing to other probes of a list
--   ends(signal)  why such a probe may have ended a program by SIGNAL, a number, for people; nil: it cannot
--   without_hits(spec, others)  what is said of a probe at SPEC that had no hit in the target, but OTHERS of what is
--                 not traced; nil: nothing
--   hint(word)  what to say to a user who has given WORD for a spec, "; did you mean …?"; nil: nothing
local core = require "uplua.core"
local up   = require "uplua"

local providers = {}

local FIELDS = {} -- the names of all that
for name in ("name options specified of_binary at_return of_return typed followed inside by_cpu mapped event " ..
             "of_nobody hidden ways parse list hits all hint ends without_hits"):gmatch "%S+" do
  FIELDS[name] = true
end

-- Those that scripts have no constructor of.
local OF_TESTS = { testrun = "probe.providers.testrun" }

-- The provider NAME; nil if there is none.
function providers.find(name)
  local module = OF_TESTS[name] or getmetatable(up).names[name]
  if not module or not module:find "^probe%.providers%." then return nil end
  local provider = require("uplua." .. module).providers[name]
  for field in pairs(provider or {}) do
    if not FIELDS[field] then error(("the provider %s has a field '%s', which nobody asks for"):format(name, field)) end
  end
  return provider
end

-- All of them, in the order of the compiler's list.
function providers.all()
  local list = {}
  for i, name in ipairs(core.setup.kinds()) do
    list[i] = providers.find(name) or error(("%s has no provider in lua/uplua/probe/providers"):format(name))
  end
  return list
end

-- What SPEC, "syscall:open*", begins with, a provider, and the rest, "open*". What begins with no provider's name is a
-- function of a program: "libc:malloc" → uprobe, "libc:malloc"; for its spec the third result is false.
function providers.of_spec(spec)
  local name, rest = spec:match "^([%a_]+):(.+)$"
  local provider = name and providers.find(name)
  if provider and provider.specified then return provider, rest, true end
  return providers.find "uprobe", spec, false
end

return providers
