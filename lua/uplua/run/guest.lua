-- up.bpf_object: BPF objects that somebody else has compiled, brought along.
--
--   local tool = up.bpf_object("tool.bpf.o")       the file, opened; nothing is loaded yet
--   tool.rodata.limit = 4096                       its variables: tool.rodata, tool.data, tool.bss
--   tool:attach("on_malloc")                       where its SEC says; tool:attach() does it for all
--   tool:attach("on_malloc", "libc:malloc")        where the spec says
--   tool.maps.counts:pairs()                       its maps, the objects that up.hash, up.array, up.percpu_hash and
--                                                  up.ring make
--
-- The object is loaded at the end of the setup in which the first of its programs is attached, with those programs
-- only.
local core         = require "uplua.core"
local btf_codec    = require "uplua.objects.btf_codec"
local ffi          = require "ffi"
local hash         = require "uplua.objects.hash"
local loop         = require "uplua.base.loop"
local option_table = require "uplua.base.option_table"
local options      = require "uplua.options"
local text         = require "uplua.base.text"

local guest = {}

-- What ksyscall and kretsyscall put before the call's name: the kernel's function for it.
local CALL = ({ x64 = "__x64_sys_", arm64 = "__arm64_sys_" })[ffi.arch]

-- kernel's type of map → the script's object
local MAPS = {
  hash = "hash", lru_hash = "lru_hash", percpu_hash = "percpu_hash", lru_percpu_hash = "percpu_hash", array = "array",
  percpu_array = "array", ringbuf = "ring",
}

local objects = setmetatable({}, { __mode = "k" }) -- tool → its state

local function fail(o, message, ...) error(("object %s: "):format(o.path) .. message:format(...), 0) end

-- Calls FN, which raises messages for the user, at the line of the user's that is LEVEL calls away.
local function at_line(level, fn, ...)
  local results = { pcall(fn, ...) }
  if not results[1] then error(results[2], level + 1) end
  return unpack(results, 2, table.maxn(results))
end

-- --- variables ---

-- The variables of SECTION as a table that reads and writes them where they are.
local function variables_of(o, section)
  local list, size = o.guest:variables(section)
  if not list then return nil end
  local place, names = {}, {}
  for i, variable in ipairs(list) do
    names[i], place[variable.name] = variable.name, variable
    variable.codec = btf_codec.codec(variable.type)
  end
  local function find(name)
    local variable = place[name]
    if variable then return variable, ffi.cast("uint8_t *", o.guest:data(section)) + variable.offset end
    if #names == 0 then
      fail(o, "its %s of %d bytes is not typed: it has no BTF (compile it with -g)", section, size)
    end
    fail(o, "no variable '%s' in %s%s", tostring(name), section, text.did_you_mean(tostring(name), names))
  end
  local function set(name, value)
    local variable, p = find(name)
    if section == ".rodata" and o.loaded then
      fail(o, "'%s' is in .rodata, which cannot be changed once the object is loaded", name)
    end
    local why = variable.codec.encode(p, value)
    if why then fail(o, "%s: %s", name, why) end
  end
  return setmetatable({}, {
    __index = function(_, name)
      local variable, p = at_line(2, find, name)
      return variable.codec.decode(p)
    end,
    __newindex = function(_, name, value) at_line(2, set, name, value) end,
    __pairs = function()
      local i = 0
      return function()
        i = i + 1
        if names[i] then return names[i], place[names[i]].codec.decode(select(2, find(names[i]))) end
      end
    end,
  })
end

-- --- maps ---

-- The type of the records of the ring DESCRIPTION: declared by the object, told by the script, or a type of its name.
local function record_type(o, description, told)
  if told then
    local found = type(told) == "string" and o.guest:type(told)
    if not found then
      fail(o, "its BTF has no type '%s' for the records of %s: name a struct that a variable or a map of the object " ..
              "has", tostring(told), description.name)
    end
    return found
  end
  local name = description.name
  return description.value or o.guest:type("struct " .. name) or
         name:find "s$" and o.guest:type("struct " .. name:sub(1, -2)) or nil
end

-- Makes the script's object for the map DESCRIPTION, with bind(fd), or the reason why there is none.
local function make_map(o, description, told)
  local kind, name = MAPS[description.type], description.name
  if not kind then
    return nil, ("its map %s is of the kind %s, which scripts have no object for"):format(name, description.type)
  end
  if kind == "ring" then
    local of = record_type(o, description, told)
    if not of or of.kind ~= "struct" then
      return nil, ("the records of %s are not typed: name their type, up.bpf_object(path, { %s = \"struct …\" }), " ..
                   "a type that a variable of the object has: `const struct … *unused __attribute__((unused));`; " ..
                   "or declare the map with __type(value, struct …)"):format(name, name)
    end
    local made = require "uplua.objects.ring".guest(name, description.max)
    return { object = made, bind = function(fd) made:bind { fd = fd, variants = { [0] = btf_codec.codec(of) } } end }
  end
  local key = description.key and btf_codec.codec(description.key) or btf_codec.untyped(description.key_size)
  local value = description.value and btf_codec.codec(description.value) or btf_codec.untyped(description.value_size)
  local made = hash.guest(kind, name, description.max, key, value)
  return {
    object = made,
    untyped = not (kind == "array" or description.key) and "keys" or not description.value and "values",
    bind = function(fd)
      local percpu = description.type:find "percpu" and "percpu_hash" or nil
      made:bind { fd = fd, type = percpu, key = key, value = value }
    end,
  }
end

local function maps_of(o, told)
  local made, names, refused = {}, {}, {}
  for _, description in ipairs(o.guest:maps()) do
    local name = description.name
    o.tail_calls = o.tail_calls or description.type == "prog_array"
    local map, why = make_map(o, description, told[name])
    names[#names + 1] = name
    made[name], refused[name] = map, why
    if map and map.untyped then
      loop.warn(("object %s: the %s of its map %s are not typed (no BTF, or key_size and value_size instead of " ..
                 "__type): they are strings of bytes"):format(o.path, map.untyped, name))
    end
  end
  for name in pairs(told) do
    if not made[name] then
      fail(o, "it has no map '%s' that records could be told of%s",
           tostring(name), text.did_you_mean(tostring(name), names))
    end
  end
  o.maps = made
  local shown = {}
  for name, map in pairs(made) do shown[name] = map.object end
  return setmetatable(shown, { __index = function(_, name)
    at_line(2, function()
      if refused[name] then fail(o, "%s", refused[name]) end
      fail(o, "it has no map '%s'%s", tostring(name), text.did_you_mean(tostring(name), names))
    end)
  end })
end

-- --- attaching ---

local function attach_one(o, program, spec, what, fn, ...)
  local ok, result, more = pcall(fn, ...)
  if not ok then fail(o, "program %s, %s %s: %s", program.name, what, spec, result) end
  return result, more
end

-- Programs of ours ask themselves for what the kernel cannot keep from them; others do not. KEPT: the kernel keeps
-- other processes from PROGRAM, THREADS: other threads, too.
local function warn_of_others(o, program, kept, threads)
  local narrowed = options.follow or options.comms or options.cgroup or (not threads and #core.target.tids() > 0)
  if narrowed or (#core.target.pids() > 0 and not kept) then
    local why = narrowed and "--follow, --tid, --comm and --cgroup mean nothing to it" or
                program.how.by_cpu and "its event is counted on each CPU, for any process" or
                program.how.in_kernel and "the kernel runs it for any process; it can ask for the process " ..
                                         "itself (bpf_get_current_pid_tgid)" or
                "this kernel does not keep them apart"
    loop.warn(("object %s: program %s: it is also hit by processes and threads that are not traced: %s")
      :format(o.path, program.name, why))
  end
end

-- Each of these returns what a program of its kind is attached by: a function of its descriptor that returns links, and
-- for those that may be for one process a list of what attaches each anew (uplua.probe.attach).

-- Attaches the program of FD as core.probe.attach does: the link, and what attaches it anew.
local function attach_sites(o, program, spec, what, half, fd, cookie, sites)
  local link = attach_one(o, program, spec, what, core.probe.attach, half, fd, cookie, sites)
  return link, function(pid) core.probe.attach_again(link, half, fd, cookie, sites, pid) end
end

-- HALF: "entry", "return" or "session".
local function of_functions(half)
  return function(o, program, spec, given)
    local slide, cookie = given.slide or "exact", given.cookie or 0
    local sites = attach_one(o, program, spec, program.kind, core.probe.resolve, spec, slide, half ~= "entry")
    sites:expect_all() -- nobody knows what the program reads
    require("uplua.probe.lost_returns").note(sites:summary().leaves)
    return function(fd)
      warn_of_others(o, program, core.probe.filters(half))
      local link, again = attach_sites(o, program, spec, program.kind, half, fd, cookie, sites)
      return { link }, { again }
    end
  end
end

-- The kinds of arguments in libbpf's usdt.bpf.h, whose table of them is the map that bpf_usdt_arg reads.
local USDT_KINDS = { constant = 0, context = 1, memory = 2 }
local USDT_MOST = 12
ffi.cdef [[
struct uplua_usdt_argument { uint64_t number; uint32_t kind; int16_t reg; uint8_t is_signed; int8_t shift; };
struct uplua_usdt_spec { struct uplua_usdt_argument arguments[12]; uint64_t cookie; int16_t count; };
]]

-- Writes where the ARGUMENTS of places are to entry NUMBER of that map.
local function write_arguments(o, program, spec, number, arguments, cookie)
  local fd = o.guest:map "__bpf_usdt_specs"
  if not fd then return end -- a program without arguments
  local map = require "uplua.base.map".open(fd)
  if map.value_size ~= ffi.sizeof "struct uplua_usdt_spec" then
    fail(o, "program %s: its __bpf_usdt_specs is not as the usdt.bpf.h of libbpf 0.8 to 1.5 has it", program.name)
  end
  local entry, key = ffi.new "struct uplua_usdt_spec", ffi.new("uint32_t[2]", number)
  for i, argument in ipairs(arguments) do
    local to, kind = entry.arguments[i - 1], USDT_KINDS[argument.place]
    if i > USDT_MOST or not kind or (argument.index_bits or 0) ~= 0 or
       (argument.place == "memory" and argument.base < 0) then
      fail(o, "program %s, usdt %s: its argument %d, '%s', is not in a place that usdt.bpf.h knows; " ..
              "a handler in Lua knows more", program.name, spec, i - 1, argument.text)
    end
    to.number = ffi.cast("int64_t", tonumber(
      argument.place == "constant" and argument.number or argument.place == "memory" and argument.offset or 0))
    to.kind = kind
    to.reg = argument.place == "context" and argument.offset or argument.place == "memory" and argument.base or 0
    to.is_signed, to.shift = argument.bits < 0 and 1 or 0, 64 - math.abs(argument.bits)
  end
  entry.count, entry.cookie = #arguments, cookie
  local why = map:update(key, entry)
  if why then fail(o, "program %s, usdt %s: %s", program.name, spec, why) end
end

local function of_usdt(o, program, spec, given)
  local cookie = given.cookie or 0
  local found = attach_one(o, program, spec, "usdt", core.usdt.find, spec)
  return function(fd)
    local links, again = {}, {}
    warn_of_others(o, program, core.probe.filters "entry")
    for i, probe in ipairs(found) do
      local number = o.usdt_count
      o.usdt_count = number + 1
      write_arguments(o, program, spec, number, probe.arguments, cookie)
      links[i], again[i] = attach_sites(o, program, spec, "usdt", "entry", fd, number, probe.sites)
    end
    return links, again
  end
end

local function of_kernel(place)
  return function(o, program, spec, given)
    local cookie = given.cookie or 0
    local what = ("object %s: program %s, %s %s"):format(o.path, program.name, program.kind, spec)
    core.probe.check_kernel(what)
    local functions = attach_one(o, program, spec, program.kind, core.probe.resolve_kernel, spec)
    return function(fd)
      warn_of_others(o, program)
      local link, left_out =
        attach_one(o, program, spec, program.kind, core.probe.attach_kernel, place, fd, cookie, functions)
      if left_out > 0 then
        loop.warn(("%s: the kernel permits no probe on %d of %d functions"):format(what, left_out, #functions:list()))
      end
      return { link }
    end
  end
end

local function by_trampoline(o, program, spec)
  if not program.how.of_tracepoint then
    core.probe.check_kernel(("object %s: program %s, %s %s"):format(o.path, program.name, program.kind, spec), true)
  end
  return function(fd)
    warn_of_others(o, program)
    return { attach_one(o, program, spec, program.kind, core.probe.attach_trampoline, fd, spec) }
  end
end

local function at_tracepoint(o, program, spec)
  local found = attach_one(o, program, spec, "tracepoint", core.tracepoint.find, (spec:gsub("/", ":")))
  return function(fd)
    warn_of_others(o, program)
    return { attach_one(o, program, spec, "tracepoint", found.attach, found, fd) }
  end
end

local function at_raw_tracepoint(o, program, spec)
  attach_one(o, program, spec, "raw_tp", core.kernel.raw_tracepoint, spec)
  return function(fd)
    warn_of_others(o, program)
    return { attach_one(o, program, spec, "raw_tp", core.kernel.attach_raw_tracepoint, fd, spec) }
  end
end

local function at_event(o, program, spec, given)
  local what, message = require "uplua.probe.perf_events".find(spec)
  if not what then fail(o, "program %s, perf %s: %s", program.name, spec, message) end
  what.hertz, what.period = given.hertz, given.period
  if not what.hertz == not what.period then
    fail(o, "program %s, perf %s: how often? Options: { hertz = 99 } or { period = 1 }", program.name, spec)
  end
  return function(fd)
    local kept = core.event.in_threads(what)
    warn_of_others(o, program, kept, kept)
    return { attach_one(o, program, spec, "perf", core.probe.attach_event, fd, what) }
  end
end

-- The kinds of programs: the compiler's name for each (src/lua/guest.c), what libbpf's SEC begins with, an example of a
-- place, for messages, how it is attached, its options (uplua.base.option_table), and
--   of_binary     its spec begins with a binary
--   called        the function that its spec names calls it, or with of_tracepoint the tracepoint
--   in_kernel     it runs in the kernel's own time, where that may pass a program over
--   by_cpu        it samples: --cpu means something to it
local COOKIE = { cookie = option_table.integer(0, 65535) }
local OF_FUNCTION = {
  cookie = COOKIE.cookie,
  slide = function(value) return require "uplua.probe.providers.uprobe".check_slide(value) end,
}
local KINDS = {
  { name = "uprobe", example = "libc:malloc", attach = of_functions "entry", options = OF_FUNCTION, of_binary = true },
  { name = "uretprobe", example = "libc:malloc", attach = of_functions "return", options = OF_FUNCTION,
    of_binary = true },
  { name = "session", section = "uprobe.session", example = "libc:malloc", attach = of_functions "session",
    options = OF_FUNCTION, of_binary = true },
  { name = "usdt", example = "libc:libc:setjmp", attach = of_usdt, of_binary = true,
    options = { cookie = option_table.integer(0, 2 ^ 53) } },
  { name = "kprobe", other = "ksyscall", example = "vfs_read", attach = of_kernel "entry", options = COOKIE,
    in_kernel = true },
  { name = "kretprobe", other = "kretsyscall", example = "vfs_read", attach = of_kernel "return", options = COOKIE,
    in_kernel = true },
  { name = "fentry", example = "vfs_read", attach = by_trampoline, called = true, in_kernel = true },
  { name = "fexit", example = "vfs_read", attach = by_trampoline, called = true, in_kernel = true },
  { name = "tp_btf", example = "sched_switch", attach = by_trampoline, called = true, of_tracepoint = true,
    in_kernel = true },
  { name = "tracepoint", other = "tp", example = "sched:sched_switch", attach = at_tracepoint, in_kernel = true },
  { name = "raw_tracepoint", section = "raw_tp", other = "raw_tracepoint", example = "sched_switch",
    attach = at_raw_tracepoint, in_kernel = true },
  { name = "perf", section = "perf_event", example = "cpu-clock", attach = at_event,
    options = { hertz = option_table.integer(1, 1000000), period = option_table.integer(1, 2 ^ 53) }, by_cpu = true },
}
local SUFFIXES = { "", ".s", ".multi", ".multi.s" } -- of those whose sections are called as they are

local SECTIONS = {} -- what SEC begins with → the kind
for _, kind in ipairs(KINDS) do
  for _, suffix in ipairs(kind.section and {} or SUFFIXES) do SECTIONS[kind.name .. suffix] = kind end
  for _, name in ipairs { kind.section or kind.name, kind.other } do SECTIONS[name] = kind end
end
local NAMES = "uprobe, uretprobe, uprobe.session, usdt, kprobe, kretprobe, ksyscall, kretsyscall, fentry, fexit, " ..
              "tracepoint, raw_tp, tp_btf and perf_event"

local function declare(o, program, spec, given)
  local prefix, rest = program.section:match "^%??([^/]+)/?(.*)$"
  local kind = SECTIONS[prefix]
  if not kind then
    fail(o, "program %s is of the kind SEC(\"%s\"), which uplua does not attach; it attaches %s",
         program.name, program.section, NAMES)
  end
  program.kind, program.how = kind.name, kind
  spec = spec or rest
  local needs_binary = kind.of_binary and not spec:find ":"
  if spec == "" or needs_binary then
    fail(o, "program %s, SEC(\"%s\"): it does not say where to; tool:attach(\"%s\", \"%s\") does",
         program.name, program.section, program.name, kind.example)
  end
  local what = ("object %s: program %s, %s"):format(o.path, program.name, kind.name)
  given = option_table.read(what, given, kind.options, 0)
  if options.cpus and not kind.by_cpu then
    fail(o, "program %s: --cpu is for probes that sample and count: of an object, its perf_event programs",
         program.name)
  end
  if o.loaded then
    fail(o, "program %s: the object is loaded; its programs are attached before that, in one setup", program.name)
  end
  local sleepable = prefix:find "%.s$" ~= nil
  if prefix:find "^k%a*syscall$" then spec = CALL .. spec end
  local attach = kind.attach(o, program, spec, given)
  o.guest:prepare(program.name, kind.name, sleepable, kind.called and spec or nil)
  o.wanted[program.name] = true
  o.probes[#o.probes + 1] = { program = program, attach = attach }
  if #o.probes == 1 then require("uplua.probe.declare").guest(o) end
end

local function find_program(o, name)
  local names = {}
  for i, program in ipairs(o.programs) do
    if program.name == name then return program end
    names[i] = program.name
  end
  fail(o, "it has no program '%s'%s", tostring(name), text.did_you_mean(tostring(name), names))
end

local methods = {}

-- tool:attach([name [, spec] [, options]]): attaches the program NAME where its SEC says, or at SPEC, which is written
-- as for up.uprobe and its kin; without NAME all programs. Options: slide, as in up.uprobe; cookie, which
-- bpf_get_attach_cookie has in its low 16 bits (of USDT: bpf_usdt_cookie); of perf events hertz or period. Raises what
-- is wrong.
function methods:attach(name, spec, given)
  local o = objects[self]
  if not o then error("call it with a colon: tool:attach(name)", 2) end
  if type(spec) == "table" and given == nil then spec, given = nil, spec end
  if name == nil then
    for _, program in ipairs(o.programs) do at_line(2, declare, o, program, nil, {}) end
    return
  end
  if spec ~= nil and type(spec) ~= "string" then
    error("attach: the second argument says where to: \"libc:malloc\"", 2)
  end
  at_line(2, function() declare(o, find_program(o, name), spec, given or {}) end)
end

-- --- loading, for setup.commit ---

local state = {}
state.__index = state

-- Loads the object and returns its probes as uplua.probe.attach has them.
function state:load()
  for _, program in ipairs(self.programs) do
    self.guest:want(program.name, self.wanted[program.name] or self.tail_calls or false)
  end
  self.loaded = true
  self.guest:load()
  for name, map in pairs(self.maps) do map.bind(assert(self.guest:map(name))) end
  local list = {}
  for i, probe in ipairs(self.probes) do
    local fd = self.guest:program(probe.program.name)
    list[i] = {
      probe = {
        provider = { name = "program" }, spec = ("%s of %s"):format(probe.program.name, self.path),
        passed_over = probe.program.how.in_kernel,
        attach = function(_, _, link)
          local links, again = probe.attach(fd)
          for n, one in ipairs(links) do link(one, false, again and again[n]) end
        end,
      },
      program = { fd = fd },
    }
  end
  return list
end

local function tostring_tool(tool)
  local o = objects[tool]
  local lines = {}
  for _, program in ipairs(o.programs) do
    lines[#lines + 1] = ("program %s, SEC(\"%s\")"):format(program.name, program.section)
  end
  for _, map in ipairs(o.guest:maps()) do
    local types = {}
    if map.key and map.type ~= "array" and map.type ~= "percpu_array" then types[1] = btf_codec.name(map.key) end
    if map.value then types[#types + 1] = btf_codec.name(map.value) end
    local typed = #types > 0 and " of " .. table.concat(types, " → ") or ""
    lines[#lines + 1] = ("map %s: %s%s"):format(map.name, map.type, typed)
  end
  for _, section in ipairs { ".rodata", ".data", ".bss" } do
    for _, variable in ipairs(o.guest:variables(section) or {}) do
      lines[#lines + 1] = ("variable %s in %s: %s"):format(variable.name, section, btf_codec.name(variable.type))
    end
  end
  return table.concat(lines, "\n")
end

-- bpf_object(path [, records]): the BPF object in the file PATH. RECORDS: types of the records of its rings, where it
-- does not tell them: { events = "struct event" }. Raises what is wrong with the file.
function guest.bpf_object(path, records)
  if type(path) ~= "string" then error("bpf_object: the first argument names the file: \"tool.bpf.o\"", 2) end
  if records ~= nil and type(records) ~= "table" then
    error("bpf_object: the second argument is a table from names of rings to types", 2)
  end
  local o = setmetatable({ path = path, probes = {}, wanted = {}, usdt_count = 0 }, state)
  o.guest = at_line(2, core.guest.open, path)
  o.programs = o.guest:programs()
  local tool = {
    rodata = variables_of(o, ".rodata"), data = variables_of(o, ".data"), bss = variables_of(o, ".bss"),
    maps = at_line(2, maps_of, o, records or {}), attach = methods.attach,
  }
  objects[tool] = o
  return setmetatable(tool, { __tostring = tostring_tool, __index = function(_, name)
    if name == "rodata" or name == "data" or name == "bss" then
      error(("object %s: it has no variables in .%s"):format(path, name), 2)
    end
    error(("object %s: a BPF object has maps, rodata, data, bss and :attach(), no '%s'")
      :format(path, tostring(name)), 2)
  end })
end

return guest
