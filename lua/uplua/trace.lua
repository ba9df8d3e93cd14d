-- The hits of probes as events with all that is known of them, for scripts that print them one by one.
--
--   local trace = require "uplua.trace"
--   trace.each("syscall:open*", { returns = true, min = 1e6 }, function(event) print(event.call) end)
--
-- An event has
--   time, pid, tid, comm       as the handler's
--   name                       of what was hit: "openat", "malloc", "sched:sched_switch"
--   arguments                  { { name, value, text }, … }: by name where the probe has names
--   ret, elapsed               at returns
--   stack                      if asked for
--   call                       "openat(dfd=-100, filename="/etc/passwd", flags=0, mode=0) = 3"
-- and is valid until the function returns.
local ffi     = require "ffi"
local call    = require "uplua.call"
local capture = require "uplua.compile.capture"
local claims  = require "uplua.probe.claims"
local core    = require "uplua.core"
local failure = require "uplua.base.failure"
local list    = require "uplua.run.list"
local probe   = require "uplua.probe"
local text    = require "uplua.text"

local trace = {}

local OPTIONS = { "returns", "min", "where", "stack", "size" }
local FUNCTION_ARGUMENTS = 4 -- of a function whose arguments nobody declares
local STRINGS = 127          -- bytes that are shown of a text
local READ = ("up.str(%%s, %d)"):format(STRINGS + 1)
local MOST_FUNCTIONS = 64    -- of a spec, of which each gets a probe of its own, for its own arguments

local function as_hex(value) return text.format("%#x", value) end
local function as_address(value) return value == nil and "NULL" or as_hex(value) end
local function as_unsigned(value)
  return text.integer(value < 0 and ffi.cast("uint64_t", ffi.cast("int64_t", value)) or value)
end
local function as_integer(value) return text.integer(value) end
local function as_string(value) return call.quoted(nil, nil, value, STRINGS) end

-- How the handler gets an argument and how it is shown: { name, source = an expression, show }; nil for what a line has
-- no room for. OF_CALL: of a system call.
local function field_of(argument, source, of_call, returns)
  local of_text = argument.source and argument.source:find "char%s*%*$"
  if argument.type == "string" then return { name = argument.name, source = source, show = as_string } end
  if argument.type == "boolean" then return { name = argument.name, source = source, show = tostring } end
  if not argument.type:find "^[iu]%d+$" then return nil end
  if of_text and returns then
    local constant = argument.source:find "^const" ~= nil
    local function show(value, record)
      return call.quoted(record.name, constant, value, STRINGS, record.ret, record.a3)
    end
    return { name = argument.name, source = READ:format(source), show = show, otherwise = source }
  end
  if of_call then return { name = argument.name, source = source, show = call.show_of(argument) } end
  local pointer = argument.source and argument.source:find "%*$"
  return { name = argument.name, source = source, show = pointer and as_hex or as_integer }
end

-- What a register holds, of which nobody knows how many bits count, and how.
local function as_raw(value) return "raw " .. as_hex(ffi.cast("uint64_t", value)) end

-- How what a function returns is shown, RESULT (sites:result, kernel.result); nil where nobody knows what that is;
-- false: it returns nothing.
local function show_of_result(result)
  if not result then return nil end
  if result.place == "nowhere" then return result.type ~= "void" and function() return "?" end end
  if result.kind == "pointer" then return function(value) return as_address(value ~= 0 and value or nil) end end
  if result.kind == "boolean" then return function(value) return tostring(value ~= 0) end end
  return result.bits == 64 and as_unsigned or as_integer
end

local function numbered_fields(count)
  local fields = {}
  for i = 0, count - 1 do fields[i + 1] = { name = "arg" .. i, source = "e.arg" .. i, show = as_hex } end
  return fields
end

local function named_fields(arguments, of_call, returns)
  local fields = {}
  for _, argument in ipairs(arguments) do
    fields[#fields + 1] = field_of(argument, "e.args." .. argument.name, of_call, returns)
  end
  return fields
end

-- The arguments that all places of a USDT probe have.
local function usdt_fields(places)
  local fields, fewest = {}, places[1] and places[1].arguments or {}
  for _, place in ipairs(places) do
    if #place.arguments < #fewest then fewest = place.arguments end
  end
  for i, argument in ipairs(fewest) do
    if argument.type ~= "?" then
      fields[#fields + 1] = { name = argument.name, source = "e.arg" .. i - 1, show = as_integer }
    end
  end
  return fields
end

-- A parameter of a function. What handlers cannot read, such as a double, is in no record.
local function parameter_field(parameter, index)
  local name = parameter.name or "arg" .. index - 1
  local source = parameter.name and parameter.place ~= "nowhere" and ("e.args[%q]"):format(name) -- "rest#0" is one, too
  local field = { name = name, source = source, show = parameter.bits == 64 and as_unsigned or as_integer }
  if parameter.kind == "boolean" then field.show = tostring end
  if parameter.kind == "pointer" then
    field.show, field.null = as_address, true -- a pointer that is NULL reads as nil
    if not parameter.kernel and parameter.type:gsub("const ", "") == "char *" then
      field.source, field.otherwise, field.show = READ:format(source), source, as_string
    end
  end
  return field
end

local function parameter_fields(parameters)
  local fields = {}
  for i, parameter in ipairs(parameters) do fields[i] = parameter_field(parameter, i) end
  return fields
end

-- True where all of PARAMETERS, of COUNT functions, are where handlers can read them, or one function is all there is:
-- several may have one in different places.
local function is_whole(parameters, count)
  for _, parameter in ipairs(parameters) do
    if count > 1 and parameter.place == "nowhere" then return false end
  end
  return true
end

-- The same of the functions that REST, the spec of a uprobe, names: with their arguments by name, and what they return
-- by its type, where debug information has them and they are the same, or the functions are few.
local function function_parts(spec, rest, returns)
  local numbered = { { probe = spec, fields = numbered_fields(FUNCTION_ARGUMENTS) } }
  local ok, sites = pcall(core.probe.resolve, rest, "exact", returns)
  if not ok or not sites then return numbered end -- the probe tells why, or waits for the library
  local list_of_sites, result = sites:list(), returns and sites:result()
  if result then
    numbered[1].show = show_of_result(result) -- false: of void there is nothing to show
  elseif returns and #list_of_sites > 1 then
    numbered[1].show = as_raw
  end
  local parameters = sites:parameters(returns)
  if parameters and is_whole(parameters, #list_of_sites) and (not returns or result) then
    return { { probe = spec, fields = parameter_fields(parameters), show = numbered[1].show } }
  end
  local parts, seen, named = {}, {}, false
  for _, site in ipairs(list_of_sites) do
    local one = ("%s:%s"):format(site.path, site["function"])
    if not seen[one] then
      if #parts == MOST_FUNCTIONS then return numbered end
      local _, own = pcall(core.probe.resolve, one, "exact", returns)
      parameters = type(own) == "userdata" and own:parameters(returns)
      named = named or parameters
      local fields = parameters and parameter_fields(parameters) or numbered_fields(FUNCTION_ARGUMENTS)
      parts[#parts + 1] = { probe = one, fields = fields }
      if returns and parameters then parts[#parts].show = show_of_result((own:result())) end
      seen[one] = true
    end
  end
  return named and #parts > 1 and parts or numbered
end

-- The same of the kernel's function, or raw tracepoint, that REST, the spec of a probe of KIND, names.
local function kernel_parts(spec, kind, rest)
  local ok, arguments
  if kind == "rawtracepoint" then
    ok, arguments = pcall(require "uplua.probe.tracepoint".raw_arguments, rest)
  else
    ok, arguments = pcall(require "uplua.probe.kernel".arguments, kind, rest)
  end
  local result = kind ~= "rawtracepoint" and ok and arguments and
                 (require "uplua.probe.kernel".result(rest) or { place = "nowhere", type = "void" })
  local fields = ok and arguments and parameter_fields(arguments) or numbered_fields(FUNCTION_ARGUMENTS)
  return { { probe = spec, fields = fields, show = show_of_result(result) } }
end

-- The same of the USDT probes that REST names.
local function usdt_parts(spec, rest)
  local ok, entries = pcall(list.usdt, rest)
  if not ok or not entries then -- the probe tells why, or waits for the library
    return { { probe = spec, fields = {} } }
  end
  local parts = {}
  for i, entry in ipairs(entries) do parts[i] = { probe = entry.probe, fields = usdt_fields(entry.places) } end
  return parts
end

-- What SPEC stands for, each with its fields: { probe, fields }.
local function parts_of(spec, returns)
  local kind, rest = spec:match "^(%a+):(.*)$"
  if returns and (kind == "tracepoint" or kind == "usdt") then
    failure.mistake(("%s: a %s probe has no return"):format(spec, kind))
  end
  if spec == "syscall:*" then
    return { { probe = spec, fields = numbered_fields(6), syscall = true, calls = call.set() } }
  end
  if kind == "uprobe" or kind == "uretprobe" then return function_parts(spec, rest, returns or kind == "uretprobe") end
  if kind == "kprobe" or kind == "kretprobe" or kind == "fentry" or kind == "fexit" or kind == "rawtracepoint" then
    return kernel_parts(spec, kind, rest)
  end
  if kind ~= "syscall" and kind ~= "tracepoint" and kind ~= "usdt" then return function_parts(spec, spec, returns) end
  if kind == "usdt" then return usdt_parts(spec, rest) end
  local parts = {}
  for i, entry in ipairs(list.list(spec, true)) do
    local of_call = kind == "syscall"
    parts[i] = { probe = entry.probe, syscall = of_call, fields = named_fields(entry.arguments, of_call, returns) }
  end
  return parts
end

-- The source of the record that a handler of PART, the ID-th, emits.
local function record_of(part, id, options)
  local name = part.calls and "nr = e.nr" or "name = e.func" -- of all system calls the kernel knows the number only
  local parts = { ("id = %d, time = e.time, pid = e.pid, tid = e.tid, comm = e.comm, %s"):format(id, name) }
  for i, field in ipairs(part.fields) do
    if field.source then parts[#parts + 1] = ("a%d = %s"):format(i, field.source) end
    if field.otherwise then parts[#parts + 1] = ("b%d = %s"):format(i, field.otherwise) end
  end
  if options.returns then parts[#parts + 1] = "ret = e.ret, elapsed = e.elapsed" end
  if options.stack then parts[#parts + 1] = "stack = e:ustack()" end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

-- The function of a handler that emits into RING what the event of PART, the ID-th, is made of.
local function emitter_of(ring, part, id, options)
  if part.calls and options.returns then
    return call.emitter(ring, part.calls, { id = id, strings = 127, stack = options.stack })
  end
  local record = require "uplua".expression(record_of(part, id, options), "trace.each")
  return capture.inlined(function(e) ring:emit(record(e)) end)
end

local function arguments_of(part, record)
  local arguments = {}
  for i, field in ipairs(part.fields) do
    local value, show = field.source and record["a" .. i], field.show
    if value == nil and field.otherwise then value, show = record["b" .. i], field.null and as_address or as_hex end
    local unknown = not field.source or value == nil and not field.null
    arguments[i] = { name = field.name, value = value, text = unknown and "?" or show(value, record) }
  end
  return arguments
end

local function arguments_of_call(of, record)
  local texts, values = call.texts(of, record)
  local arguments = {}
  for i, argument in ipairs(of.arguments) do
    arguments[i] = { name = argument.name, value = values[i], text = texts[i] }
  end
  return arguments
end

local function call_of(part, event)
  local words = {}
  for i, argument in ipairs(event.arguments) do words[i] = ("%s=%s"):format(argument.name, argument.text) end
  local line = ("%s(%s)"):format(text.escape(event.name), table.concat(words, ", "))
  if event.ret == nil or part.show == false then return line end
  return ("%s = %s"):format(line, part.syscall and call.result(event.ret) or (part.show or as_integer)(event.ret))
end

local function check(options)
  for name in pairs(options) do
    local known
    for _, each in ipairs(OPTIONS) do known = known or each == name end
    if not known then
      error(("trace.each: unknown option '%s'%s"):format(tostring(name), text.did_you_mean(tostring(name), OPTIONS)), 3)
    end
  end
end

-- each(spec, options, fn): calls FN with an event for each hit of SPEC (a spec of up.probe, or a list of them), in
-- order of time. Options: returns, the hits are returns (up.retprobe); min, only calls of at least so many ns; where, a
-- Lua expression of the handler's event; stack, with the program's stack; size, of the ring ("4M"). Raises what is
-- wrong, of SPEC without the script's line.
function trace.each(spec, options, fn)
  check(options)
  local up = require "uplua"
  local ring, parts = up.ring { size = options.size or "4M" }, {}
  local least = math.floor(options.min or 0)
  local where = up.expression(options.where or "true", "--where", options.where and "condition", "--return")
  local function declare(part)
    parts[#parts + 1] = part
    local emit = emitter_of(ring, part, #parts, options)
    if options.returns and least > 0 then
      probe.retprobe(part.probe, function(e)
        if e.elapsed >= least and where(e) then emit(e) end
      end)
    else
      probe[options.returns and "retprobe" or "probe"](part.probe, function(e)
        if where(e) then emit(e) end
      end)
    end
  end
  claims.share(function() -- a hit that several of the specs mean is one
    for _, one in ipairs(probe.in_order(type(spec) == "table" and spec or { spec })) do
      for _, part in ipairs(parts_of(one, options.returns)) do declare(part) end
    end
  end)
  ring:each(function(record)
    local part = parts[tonumber(record.id)]
    local of = part.calls and part.calls[tonumber(record.nr)]
    local name = of and of.name or record.name
    local event = { time = record.time, pid = record.pid, tid = record.tid, comm = record.comm, name = name }
    if options.returns then event.ret, event.elapsed = record.ret, record.elapsed end
    if options.stack then event.stack = record.stack end
    event.arguments = of and arguments_of_call(of, record) or arguments_of(part, record)
    event.call = call_of(part, event)
    fn(event)
  end)
end

return trace
