-- Every constructor refuses options that are unknown, misspelt or of a wrong type, and probes without a handler, at the
-- line that calls it.
local tap       = require "tap"
local up        = require "uplua"
local providers = require "uplua.probe.providers"
local is, ok    = tap.is, tap.ok

local function handler() end

-- Constructors of probes, CONSTRUCTOR(what, [options], handler): what, the options with a value that each refuses, and
-- the option that a plain number or text is.
local PROBES = {
  uprobe = { "libc:malloc", { slide = 1 } },
  uretprobe = { "libc:malloc", { slide = "fast", typed = 1, returns = "never", throws = "no" } },
  kprobe = { "vfs_read", {} },
  kretprobe = { "vfs_read", { typed = "yes" } },
  fentry = { "vfs_read", {} },
  fexit = { "vfs_read", { typed = {} } },
  profile = { 99, {} },
  perf = { "page-faults", { period = 0, hertz = 1.5 }, plain = "period" },
  watch = { 4096, { access = "r", size = 3 }, plain = "access" },
  interval = { "1s", {} },
  tracepoint = { "sched:sched_switch", { strings = 4097, all = "yes", every_cpu = 1 } },
  raw_tracepoint = { "sched_switch", { all = 1 } },
  usdt = { "libc:libc:setjmp", {} },
  syscall = { "openat", {} },
  sysreturn = { "openat", {} },
}
-- These take the options of the kind that their first argument names.
local BY_SPEC = {
  probe = { "uprobe:libc:malloc", { slide = 1 }, calls_itself = "uprobe" },
  retprobe = { "kprobe:vfs_read", { typed = 1 }, calls_itself = "kretprobe" },
}
-- Constructors of objects, CONSTRUCTOR(arguments …, [options]).
local OBJECTS = {
  hash = { {}, { name = 5, option = 5, max = 0, key = "u33", value = 5 } },
  lru_hash = { {}, { name = 5, option = 5, max = 1.5, key = {}, value = "string[0]" } },
  percpu_hash = { {}, { name = 5, option = 5, max = "many", key = "u33", value = "x" } },
  array = { {}, { name = 5, max = -1, value = "i63" } },
  count = { {}, { name = 5, option = 5, max = 0, key = "u33" } },
  sum = { {}, { name = 5, option = 5, max = 0, key = "u33" } },
  min = { {}, { name = 5, option = 5, max = 0, key = "u33" } },
  max = { {}, { name = 5, option = 5, max = 0, key = "u33" } },
  stats = { {}, { name = 5, option = 5, max = 0, key = "u33", unit = "s" } },
  hist = { {}, { name = 5, option = 5, max = 0, key = "u33", unit = "s" } },
  lhist = { { 0, 100, 10 }, { name = 5, option = 5, max = 0, key = "u33", unit = "s" } },
  hdr = { { 2 }, { name = 5, option = 5, max = 0, key = "u33", unit = "s" } },
  var = { { 0 }, { type = "u33" }, plain = "type" },
  ring = { {}, { size = "4X", delay = 999, order = 5, option = 5 } },
  expression = { { "e.arg0" }, { name = 5, kind = "text", at_return = true } },
  counter = { { "page-faults" }, { cgroup = 1, cpus = "all", children = 0 } },
}

-- That constructor NAME, called with the arguments behind WHAT, raises WANT, at its line.
local function refused(name, want, what, ...)
  local arguments, n = { ... }, select("#", ...)
  local here
  local good, message = pcall(function()
    here = debug.getinfo(1, "l").currentline + 1
    up[name](unpack(arguments, 1, n))
  end)
  local begin = ("tests/lua/options_test.lua:%d: "):format(here)
  is(not good and tostring(message):sub(1, #begin + #want), begin .. want, ("%s: %s"):format(name, what))
end

-- The same for options GIVEN, which stand where CALL puts them.
local function refuse_options(name, kind, options, plain, call)
  local names = {}
  for option in pairs(options) do names[#names + 1] = option end
  table.sort(names)
  local all = #names > 0 and "; it has " .. table.concat(names, ", ") or "; it has none"
  call(("%s: unknown option 'qqqqqqqqqqqq'%s"):format(kind, all), "an unknown option", { qqqqqqqqqqqq = 1 })
  call(("%s: unknown option '%d'%s"):format(kind, plain and 2 or 1, all), "a value without a name",
       plain and { [2] = 1 } or { 1 })
  for option, value in pairs(options) do
    local misspelt = option:sub(1, -2) .. option:sub(-1):rep(2) -- "max" → "maxx"
    call(("%s: unknown option '%s'; did you mean '%s'?"):format(kind, misspelt, option), misspelt,
         { [misspelt] = value })
    call(("%s: option '%s': "):format(kind, option), "a wrong " .. option, { [option] = value })
    call(("%s: option '%s': "):format(kind, option), option .. " of another type", { [option] = handler })
  end
  if plain then
    call(("%s: option '%s': "):format(kind, plain), "a wrong value in their place", options[plain])
    call(("%s: option '%s': "):format(kind, plain), "… first in them", { options[plain] })
  else
    for _, wrong in ipairs { 5, "text" } do
      call(kind .. ": options are a table", ("%s in their place"):format(type(wrong)), wrong)
    end
  end
  call(kind .. ": options are a table", "true in their place", true)
  call(kind .. ": options are a table", "an object in their place", up.count())
end

local function refuse_handlers(name, spec)
  local missing = "the last argument is the handler, a function; options stand before it"
  local kind = PROBES[name] and ("%s %s"):format(name, name == "watch" and "0x1000" or spec) or name
  missing = ("%s: %s"):format(kind, missing)
  refused(name, missing, "no handler", spec)
  refused(name, missing, "options without a handler", spec, {})
  refused(name, missing, "a handler that is none", spec, {}, 5)
  refused(name, missing, "options behind the handler", spec, handler, {})
  refused(name, kind .. ": the handler must be written in Lua", "a function of C", spec, print)
end

for name, row in pairs(PROBES) do
  refuse_options(name, name, row[2], row.plain, function(want, what, given)
    refused(name, want, what, row[1], given, handler)
  end)
  refuse_handlers(name, row[1])
end
for name, row in pairs(BY_SPEC) do
  refuse_options(name, row.calls_itself, row[2], nil, function(want, what, given)
    refused(name, want, what, row[1], given, handler)
  end)
  refuse_handlers(name, row[1])
end
for name, row in pairs(OBJECTS) do
  local arguments = row[1]
  refuse_options(name, name, row[2], row.plain, function(want, what, given)
    local all = { unpack(arguments) }
    all[#all + 1] = given
    refused(name, want, what, unpack(all))
  end)
end

-- What the first argument is: none of these is a place, an event or a time.
for _, name in ipairs { "uprobe", "uretprobe", "kprobe", "kretprobe", "fentry", "fexit", "profile", "perf",
                        "tracepoint", "raw_tracepoint", "usdt", "syscall", "sysreturn", "probe", "retprobe" } do
  for _, wrong in ipairs { false, true, handler, {} } do
    refused(name, name .. ": the first argument ", "the first argument: " .. type(wrong), wrong, handler)
  end
  refused(name, name .. ": the first argument ", "no argument")
end

-- Options among the parts of a declaration, and of functions of modules.
local function refused_by(want, what, fn, ...)
  local arguments, line = { ... }, nil
  local good, message = pcall(function()
    line = debug.getinfo(1, "l").currentline + 1
    local result = fn(unpack(arguments, 1, 3))
    return result
  end)
  is(not good and tostring(message), ("tests/lua/options_test.lua:%d: %s"):format(line, want), what)
end
local view, flame, trace = require "uplua.view", require "uplua.flame", require "uplua.trace"
local COLUMN = { "name", "Name" }
refused_by("view: unknown option 'tops'; did you mean 'top'?", "view", view.new, { COLUMN, tops = 5 })
refused_by("view: option 'top': 'all' is not a whole number from 0 to 9007199254740992", "view", view.new,
           { COLUMN, top = "all" })
refused_by("args: unknown option 'argument'; did you mean 'arguments'?", "args", up.args, { "usage", argument = 0 })
refused_by("args: row 1: unknown option 'leats'; did you mean 'least'?", "a row of args", up.args,
           { "usage", { "top", "N", "number", 5, "the N largest", leats = 1 } })
refused_by("flame: unknown option 'units'; did you mean 'unit'?", "flame.svg", flame.svg, {}, { units = "us" })
refused_by("flame: options are a table, as in { absolute = … }, not a string", "flame.write", flame.write, "/nowhere/x",
           {}, "title")
refused_by("trace.each: unknown option 'return'; did you mean 'returns'?", "trace.each", trace.each, "libc:malloc",
           { ["return"] = true }, handler)
refused_by("trace.each: option 'min': 'soon' is not a duration; write a number of seconds, or 100ms, 5s, 2m, 1h",
           "trace.each", trace.each, "libc:malloc", { min = "soon" }, handler)
refused_by("trace.each: the last argument is a function; options stand before it", "trace.each", trace.each,
           "libc:malloc", handler, {})
refused_by("trace.each: the last argument is a function; options stand before it", "trace.each", trace.each,
           "libc:malloc")

-- No constructor is left out: each provider's, and all of the modules that make objects.
for _, provider in ipairs(providers.all()) do
  ok(PROBES[provider.name] or provider.hidden, provider.name .. " is among them")
end
local MAKE = { hash = true, count = true, stats = true, hist = true, var = true, ring = true } -- of uplua.objects
for name, module in pairs(getmetatable(up).names) do
  if MAKE[module:match "^objects%.(.*)"] then ok(OBJECTS[name], name .. " is among them") end
end

tap.done_testing()
