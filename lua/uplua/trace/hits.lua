-- The hits of probes: what handlers take of them into records, in a ring (uplua.trace) or a recorder (uplua.span), and
-- the events that these records are. The head of uplua.trace says what an event has.
local call      = require "uplua.syscalls.call"
local claims    = require "uplua.probe.claims"
local failure   = require "uplua.base.failure"
local fetch     = require "uplua.types.fetch"
local fields    = require "uplua.trace.fields"
local layout    = require "uplua.types.layout"
local library   = require "uplua.trace.library"
local named     = require "uplua.trace.syscall"
local printing  = require "uplua.trace.printing"
local probe     = require "uplua.probe.any"
local providers = require "uplua.probe.providers"
local results   = require "uplua.probe.results"
local text      = require "uplua.base.text"

local hits = {}

-- How PART, of provider.hits, is shown: with `fields`, of its arguments; `returned`, of what is returned, or false,
-- where nothing is; `returned_by`, the same by the functions' names; `calls`, where it is all system calls, what they
-- are by their numbers; `taking`, what handlers take besides. PRINTED: what is printed instead, or nil.
local function complete(part, returns, depth, printed)
  local of_kernel = part.result and part.result.kernel or false
  for _, parameter in ipairs(part.parameters or {}) do of_kernel = of_kernel or parameter.kernel or false end
  part.taking = fetch.new(of_kernel)
  if part.sites then part.library, part.of_library = library.of(part.sites) end
  part.fields, part.printed = fields.of(part, returns, part.taking, depth, printed and printed.wanted), printed
  if printed then -- no more is taken than that
    part.values, part.fields = printing.values(printed, part.fields), {}
  elseif part.result and returns then
    part.returned = fields.of_result(part.result, part.taking, depth)
  elseif part.raw then
    part.returned, part.returned_by = fields.RAW, fields.of_results(part.sites, part.results and part.results() or {})
  end
  part.calls = part.of_any and call.set() or nil
  return part
end

-- What SPEC stands for: a list of parts. Each becomes a probe of its own, the spec part.probe. A provider says besides
-- what is known of its arguments: parameters, by debug information or the kernel's types; variables, of the program
-- where the probe stands, and `at`, " at main.c:12" or "+0x8"; arguments, by name;
-- of_event, fields of the event; by_number, without names; or numbered, how many words there are; and of what it
-- returns: result, or raw, true where functions return different things, or nobody knows what, and then results(), of
-- each site. Of system calls `of_call` is true, and of all of them by one probe `of_any`; of functions `sites` are
-- where they are.
local function parts_of(spec, returns, depth, printed)
  local provider, rest = providers.of_spec(spec)
  if returns and not provider.at_return then
    failure.mistake(("%s: probes of the kind %s have no return"):format(spec, provider.name))
  end
  returns = returns or provider.at_return == provider.name
  local ok, parts = pcall(provider.hits, rest, returns, spec)
  if not ok then failure.mistake(tostring(parts)) end
  for _, part in ipairs(parts) do
    part.returns, part.of_nobody = returns, provider.of_nobody
    complete(part, returns, depth, printed)
  end
  return parts
end

-- The source of the record that a handler of PART, the ID-th, emits.
local function record_of(part, id, options)
  local name = part.calls and "nr = e.nr" or "name = e.func" -- of all system calls the kernel knows the number only
  local thread = options.thread_only and "tid = e.tid, " or "pid = e.pid, tid = e.tid, comm = e.comm, "
  if part.of_nobody then thread = "" end
  local parts = { ("id = %d, %s%s%s"):format(id, options.timed and "" or "time = e.time, ", thread, name) }
  for i, field in ipairs(part.values or part.fields) do
    if field.source then parts[#parts + 1] = ("a%d = %s"):format(i, field.source) end
    if field.otherwise then parts[#parts + 1] = ("b%d = %s"):format(i, field.otherwise) end
  end
  local nothing = part.result and part.result.place == "nowhere" -- in a register that handlers see
  if part.returns then parts[#parts + 1] = nothing and "elapsed = e.elapsed" or "ret = e.ret, elapsed = e.elapsed" end
  local method = options.kernel and "kstack" or nil
  if options.stack then method = method and "stack" or "ustack" end
  if method then parts[#parts + 1] = ("stack = e:%s()"):format(method) end
  if part.key then parts[#parts + 1] = "key = key(e)" end
  local taken = part.taking:fields()
  if taken ~= "" then parts[#parts + 1] = taken end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

-- The function of a handler that emits into SINK what the event of PART, the ID-th, is made of.
local function emitter_of(sink, part, id, options)
  if part.calls and part.returns and not part.printed and not options.timed then
    if part.key then
      failure.mistake(("%s: the returns of all system calls by one probe have no keys; name the calls")
        :format(part.probe))
    end
    return call.emitter(sink, part.calls, { id = id, strings = 127, stack = options.stack, kernel = options.kernel })
  end
  local taking, record = part.taking:source(), record_of(part, id, options)
  local sink_name = options.timed and "window" or "ring" -- for the ledger
  local source = ("return function(e)\n%s\n%s:emit %s\nend"):format(taking, sink_name, record)
  local name = "=arguments of " .. text.cut(part.probe, 40)
  local globals = { up = require "uplua", [sink_name] = sink, key = part.key }
  for i, expression in pairs(part.printed and part.printed.expressions or {}) do globals["x" .. i] = expression end
  return setfenv(assert(loadstring(source, name)), globals)()
end

-- What is shown of events in more than one line: by event, a tree (uplua.types.layout) for each argument by its place,
-- and `result`.
local trees = setmetatable({}, { __mode = "k" })

-- trees_of(event): these of EVENT.
function hits.trees_of(event) return trees[event] or {} end

local function arguments_of(part, record, options, of_event)
  local arguments = {}
  for i, field in ipairs(part.fields) do
    local value, shown, tree = fields.value(field, i, record, options.depth ~= nil)
    arguments[i] = { name = field.name, value = value, text = shown or layout.line(tree) }
    of_event[i] = tree
  end
  return arguments
end

local function arguments_of_call(of, record)
  local texts, values = call.texts(of, record)
  local arguments = {}
  for i, argument in ipairs(of.arguments) do
    local shown = type(values[i]) ~= "string" and
      named.text(of.name, i, values[i], function(other) return tonumber(record["a" .. other]) or 0 end)
    arguments[i] = { name = argument.name, value = values[i], text = shown or texts[i] }
  end
  return arguments
end

-- How what RECORD, of PART, has of its function's result is shown: as fields.of_result says.
local function shown_of(part, record)
  local own = part.returned_by and part.returned_by[record.name]
  if own == nil then return part.returned end
  return own
end

-- What the call of EVENT returned, as a text, its plain value, and the tree where it is one. RETURNED: shown_of it.
local function result_of(part, event, record, options, returned)
  if part.of_call then return call.result(event.ret), event.ret end
  returned = returned or fields.INTEGER
  if returned.whole then
    local plain, shown = returned.whole(record)
    local is_text = type(shown) == "string"
    return layout.line(shown), plain, not is_text and shown or nil
  end
  local plain = event.ret
  if options.depth and returned.plain then plain = returned.plain(plain) end
  return returned.show(event.ret), plain
end

-- What is printed of RECORD, and the values that are.
local function printed_of(part, record)
  local shown, values = {}, {}
  for i, field in ipairs(part.values) do
    if field.show or field.whole then
      local value, line, tree = fields.value(field, i, record, true)
      values[i] = value
      shown[i] = type(value) == "string" and value or line or layout.line(tree)
    else
      values[i] = record["a" .. i]
      shown[i] = values[i]
    end
  end
  return printing.line(part.printed, shown), values
end

-- The line of EVENT; SHORT: texts that stand in the place of some arguments' and of the result's.
function hits.line(event, short)
  local words = {}
  for i, argument in ipairs(event.arguments) do
    words[i] = ("%s=%s"):format(argument.name, short and short[i] or argument.text)
  end
  local line = ("%s(%s)"):format(text.escape(event.name), table.concat(words, ", "))
  if event.at then line = ("%s%s: %s"):format(text.escape(event.name), event.at, table.concat(words, ", ")) end
  local result = short and short.result or event.result
  return result and ("%s = %s"):format(line, result) or line
end

-- declare(sink, specs, options): declares probes of SPECS that emit into SINK, a ring or a recorder, what their hits
-- are. Each is { spec, where = fn, printed =, key = a function of the event whose value the record has, options = of
-- the probe, asks = true where one of these is the user's, and may read e.ret }. OPTIONS: returns, min, where, a
-- function, stack, kernel, depth, as of trace.each; timed, SINK knows the time of a record; thread_only, a record has
-- the number of the thread, and not its name and process. Returns the parts that hits.event asks for.
function hits.declare(sink, specs, options)
  local least, where, parts, by_spec, list = options.min or 0, options.where, {}, {}, {}
  for i, one in ipairs(specs) do list[i], by_spec[one[1]] = one[1], one end
  local function declare(part, of_spec)
    parts[#parts + 1], part.key = part, of_spec.key
    local emit, own_where = emitter_of(sink, part, #parts, options), of_spec.where
    if part.returns and least > 0 then
      probe.retprobe(part.probe, of_spec.options, function(e)
        if e.elapsed >= least and where(e) and own_where(e) then emit(e) end
      end)
    else
      probe[part.returns and "retprobe" or "probe"](part.probe, of_spec.options, function(e)
        if where(e) and own_where(e) then emit(e) end
      end)
    end
  end
  local function declare_all(spec)
    for _, part in ipairs(parts_of(spec, options.returns, options.depth or 0, by_spec[spec].printed)) do
      declare(part, by_spec[spec])
    end
  end
  claims.share(function() -- a hit that several of the specs mean is one
    for _, spec in ipairs(probe.in_order(list)) do
      if by_spec[spec].asks then
        declare_all(spec)
      else
        results.show(function() declare_all(spec) end)
      end
    end
  end)
  return parts
end

-- event(parts, record, options): the event that RECORD is, of what declare() has returned for the same OPTIONS.
function hits.event(parts, record, options)
  local part = parts[tonumber(record.id)]
  local of = part.calls and part.calls[tonumber(record.nr)]
  local event = { time = record.time, pid = record.pid or 0, tid = record.tid or 0, comm = record.comm or "" }
  event.name = of and of.name or record.name
  event.at = part.at
  if part.returns then event.ret, event.elapsed = record.ret, record.elapsed end
  if options.stack or options.kernel then event.stack = record.stack end
  trees[event] = {}
  local returned = shown_of(part, record)
  if returned == false then event.ret = nil end
  if part.printed then
    event.arguments = {}
    event.call, event.values = printed_of(part, record)
    return event
  end
  event.arguments = of and arguments_of_call(of, record) or arguments_of(part, record, options, trees[event])
  if returned and returned.unseen then
    event.result = returned.unseen
  elseif event.ret ~= nil then
    event.result, event.returned, trees[event].result = result_of(part, event, record, options, returned)
  end
  event.call = hits.line(event)
  return event
end

return hits
