-- The hits of probes as events with all that is known of them, for scripts that print them one by one.
--
--   local trace = require "uplua.trace"
--   trace.each("syscall:open*", { returns = true, min = "1ms" }, function(event) print(event.call) end)
--
-- An event has
--   time, pid, tid, comm       as the handler's
--   name                       of what was hit: "openat", "malloc", "sched:sched_switch"
--   arguments                  { { name, value, text }, … }: by name where the probe has names
--   ret, elapsed               at returns, also of a spec that names one: "sysreturn:openat"
--   stack                      if asked for
--   call                       "openat(dfd=-100, filename="/etc/passwd", flags=0, mode=0) = 3"
-- and is valid until the function returns.
local ffi          = require "ffi"
local call         = require "uplua.syscalls.call"
local capture      = require "uplua.compile.capture"
local claims       = require "uplua.probe.claims"
local failure      = require "uplua.base.failure"
local option_table = require "uplua.base.option_table"
local probe        = require "uplua.probe.any"
local providers    = require "uplua.probe.providers"
local text         = require "uplua.base.text"

local trace = {}

local OPTIONS = {
  returns = option_table.boolean, min = text.duration, where = option_table.text, stack = option_table.boolean,
  size = text.size,
}
local FUNCTION_ARGUMENTS = 4 -- of a function whose arguments nobody declares
local STRINGS = 127          -- bytes that are shown of a text
local READ = ("up.str(%%s, %d)"):format(STRINGS + 1)

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

-- A register whose width and sign are not known.
local function as_raw(value) return "raw " .. as_hex(ffi.cast("uint64_t", ffi.cast("int64_t", value))) end

-- How what a function returns is shown, RESULT (sites:result, kernel.result); nil where nobody knows what that is;
-- false: it returns nothing.
local function show_of_result(result)
  if not result then return nil end
  if result.place == "nowhere" then return result.type ~= "void" and function() return "?" end end
  if result.kind == "pointer" then return function(value) return as_address(value ~= 0 and value or nil) end end
  if result.kind == "boolean" then return function(value) return tostring(value ~= 0) end end
  return result.bits == 64 and as_unsigned or as_integer
end

-- A parameter of a function. A value that handlers cannot read, such as a double, is in no record.
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

-- What there is of PART's arguments: parameters, arguments by name, those that have numbers alone, or so many words.
local function fields_of(part, returns)
  local fields = {}
  for i, field in ipairs(part.of_event or {}) do
    fields[i] = { name = field.name, source = "e." .. field.name, show = field.type == "u64" and as_hex or as_integer }
  end
  if part.of_event then return fields end
  for i, parameter in ipairs(part.parameters or {}) do fields[i] = parameter_field(parameter, i) end
  if part.parameters then return fields end
  for _, argument in ipairs(part.arguments or {}) do
    fields[#fields + 1] = field_of(argument, "e.args." .. argument.name, part.of_call, returns)
  end
  if part.arguments then return fields end
  for i, argument in ipairs(part.by_number or {}) do
    local field = { name = argument.name, source = "e.arg" .. i - 1, show = as_integer }
    if argument.type ~= "?" then fields[#fields + 1] = field end
  end
  for i = 0, part.by_number and -1 or (part.numbered or FUNCTION_ARGUMENTS) - 1 do
    fields[i + 1] = { name = "arg" .. i, source = "e.arg" .. i, show = as_hex }
  end
  return fields
end

-- How PART, of provider.hits, is shown: with `fields`, of its arguments; `show`, of what is returned, or false, where
-- nothing is; `calls`, where it is all system calls, what they are by their numbers.
local function complete(part, returns)
  part.fields = fields_of(part, returns)
  if part.result then part.show = show_of_result(part.result) elseif part.raw then part.show = as_raw end
  part.calls = part.of_any and call.set() or nil
  return part
end

-- What SPEC stands for: a list of parts. Each becomes a probe of its own, the spec part.probe. A provider says besides
-- what is known of its arguments: parameters, by debug information or the kernel's types; arguments, by name; of_event,
-- fields of the event; by_number, without names; or numbered, how many words there are; and of what it returns: result,
-- or raw, true where functions return different things. Of system calls `of_call` is true, and of all of them by one
-- probe `of_any`.
local function parts_of(spec, returns)
  local provider, rest = providers.of_spec(spec)
  if returns and not provider.at_return then
    failure.mistake(("%s: probes of the kind %s have no return"):format(spec, provider.name))
  end
  returns = returns or provider.at_return == provider.name
  local ok, parts = pcall(provider.hits, rest, returns, spec)
  if not ok then failure.mistake(tostring(parts)) end
  for _, part in ipairs(parts) do
    part.returns, part.of_nobody = returns, provider.of_nobody
    complete(part, returns)
  end
  return parts
end

-- The source of the record that a handler of PART, the ID-th, emits.
local function record_of(part, id, options)
  local name = part.calls and "nr = e.nr" or "name = e.func" -- of all system calls the kernel knows the number only
  local thread = part.of_nobody and "" or "pid = e.pid, tid = e.tid, comm = e.comm, "
  local parts = { ("id = %d, time = e.time, %s%s"):format(id, thread, name) }
  for i, field in ipairs(part.fields) do
    if field.source then parts[#parts + 1] = ("a%d = %s"):format(i, field.source) end
    if field.otherwise then parts[#parts + 1] = ("b%d = %s"):format(i, field.otherwise) end
  end
  if part.returns then parts[#parts + 1] = "ret = e.ret, elapsed = e.elapsed" end
  if options.stack then parts[#parts + 1] = "stack = e:ustack()" end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

-- The function of a handler that emits into RING what the event of PART, the ID-th, is made of.
local function emitter_of(ring, part, id, options)
  if part.calls and part.returns then
    return call.emitter(ring, part.calls, { id = id, strings = 127, stack = options.stack })
  end
  local record = require "uplua".expression(record_of(part, id, options), { name = "trace.each" })
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
  return ("%s = %s"):format(line, part.of_call and call.result(event.ret) or (part.show or as_integer)(event.ret))
end

-- each(spec, [options], fn): calls FN with an event for each hit of SPEC (a spec of up.probe, or a list of them), in
-- order of time. Options: returns, the hits are returns (up.retprobe); min, only calls that took so long ("1ms", or
-- ns); where, a Lua expression of the handler's event; stack, with the program's stack; size, of the ring ("4M").
-- Raises what is wrong, of SPEC without the script's line.
function trace.each(spec, options, fn)
  options, fn = option_table.split(options, fn)
  if type(fn) ~= "function" then error("trace.each: the last argument is a function; options stand before it", 2) end
  options = option_table.read("trace.each", options, OPTIONS)
  local up = require "uplua"
  local ring, parts = up.ring { size = options.size or "4M" }, {}
  local least = options.min or 0
  local where = up.expression(options.where or "true", {
    name = "--where", kind = options.where and "condition", at_return = "--return",
  })
  local function declare(part)
    parts[#parts + 1] = part
    local emit = emitter_of(ring, part, #parts, options)
    if part.returns and least > 0 then
      probe.retprobe(part.probe, function(e)
        if e.elapsed >= least and where(e) then emit(e) end
      end)
    else
      probe[part.returns and "retprobe" or "probe"](part.probe, function(e)
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
    local event = { time = record.time, pid = record.pid or 0, tid = record.tid or 0, comm = record.comm or "" }
    event.name = name
    if part.returns then event.ret, event.elapsed = record.ret, record.elapsed end
    if options.stack then event.stack = record.stack end
    event.arguments = of and arguments_of_call(of, record) or arguments_of(part, record)
    event.call = call_of(part, event)
    fn(event)
  end)
end

return trace
