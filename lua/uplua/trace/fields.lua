-- The arguments and results of hits, by what providers say of them: how a handler takes each, and how it is shown.
--
-- A field is
--   name     as the probe has it
--   source   an expression of the handler's: the record's `a1`, `a2` …, by its place; nil: handlers cannot read it
--   show     a function of that value: its text
--   whole    instead, a function of the record: the plain value, and what is shown (uplua.types.layout)
--   null     it is a pointer, and NULL where the record has none
local ffi      = require "ffi"
local call     = require "uplua.syscalls.call"
local decode   = require "uplua.types.decode"
local describe = require "uplua.types.describe"
local scalars  = require "uplua.types.scalars"
local special  = require "uplua.types.special"
local library  = require "uplua.trace.library"
local named    = require "uplua.trace.syscall"
local syscall  = require "uplua.probe.providers.syscall"
local text     = require "uplua.base.text"
local up       = require "uplua"

local fields = {}

local MOST_VARIABLES = 16    -- of a place inside of a function
local FUNCTION_ARGUMENTS = 4 -- of a function whose arguments nobody declares
local STRINGS = 127          -- bytes that are shown of a text
local READ = ("up.str(%%s, %d)"):format(STRINGS + 1)
local READ_KERNEL = ("up.kstr(%%s, %d)"):format(STRINGS + 1)
-- What functions of the kernel are passed may be the program's: addresses of the kernel are negative.
local READ_EITHER = ("up.i64(%%s) < 0 and %s or %s"):format(READ_KERNEL, READ)
local ARRAY = 64             -- bytes that are shown of an array

local function as_hex(value) return text.format("%#x", value) end
local function as_address(value) return value == nil and "NULL" or as_hex(value) end
local function unsigned(value) return value < 0 and ffi.cast("uint64_t", ffi.cast("int64_t", value)) or value end
local function as_unsigned(value) return text.integer(unsigned(value)) end
local function as_integer(value) return text.integer(value) end
local function as_string(value) return decode.quoted(value) end
local function as_unreadable(value) return value == 0 and "NULL" or as_hex(value) .. " (not readable)" end

-- Of 64 bits without a sign: large numbers are mostly addresses.
local function as_word(value)
  value = unsigned(value)
  return value >= 2 ^ 32 and as_hex(value) or text.integer(value)
end

-- A signal by its name, where the kernel's field is one.
local function as_signal(value)
  local name = value > 0 and require "uplua".signal_name(tonumber(value))
  return name and name:find "^SIG" and name or text.integer(value)
end

local IS_CHAR = { ["char *"] = true, ["const char *"] = true, ["char const *"] = true }

local SIGNALS = { sig = true, signal = true, signo = true, signum = true }

-- The number that RECORD has of argument PLACE; 0 where that is a text, or nothing.
local function number_at(record, place)
  local value = record["b" .. place] or record["a" .. place]
  return (type(value) == "number" or type(value) == "cdata") and value or 0
end

-- How argument PLACE of the system call NAME is shown: by SHOW where a number says all.
local function show_of_call(name, place, show)
  return function(value, record)
    return named.text(name, place, value, function(other) return number_at(record, other) end) or show(value)
  end
end

-- How argument PLACE of functions of the C library is shown, which a hit's record names: by SHOW where a number says
-- all.
local function show_of_library(place, show)
  return function(value, record)
    return library.text(record.name, place, value, function(other) return number_at(record, other) end) or show(value)
  end
end

-- An argument of a function of the C library, its PLACE, of which no debug information tells.
local function field_of_library(argument, place)
  local source = "e.arg" .. place - 1
  local show = show_of_library(place, call.show_of(argument))
  if argument.source:find "^const char%s*%*$" then
    return { name = argument.name, source = READ:format(source), show = as_string, otherwise = source }
  end
  return { name = argument.name, source = source, show = show }
end

-- An array of COUNT elements that are TYPE ("u8") in a tracepoint's record, an argument whose value the record has as
-- its PLACE-th.
local function array_field(argument, source, place, type, count)
  local sign, bits = type:match "^([iu])(%d+)$"
  local element = { kind = "integer", size = bits / 8, bits = sign == "i" and -bits or bits + 0 }
  local size = element.size * count
  local is_address = element.size == 1 and argument.name:find "^[sd]addr"
  local function whole(record)
    local taken = record["a" .. place]
    if taken == nil then return nil, "?" end
    local bytes = taken:bytes()
    local address = is_address and ((size == 4 or size == 16) and up.ip(bytes) or special.sockaddr(bytes))
    if address then return address, address end
    return decode.counted_list(element, bytes, count)
  end
  return { name = argument.name, source = ("up.kbuf(%s, %d)"):format(source, math.min(size, ARRAY)), whole = whole }
end

-- How the handler gets an argument of a tracepoint or a system call, its PLACE; nil for what a line has no room for.
-- OF_CALL: the name of the system call. IN_KERNEL: texts are in the kernel's memory.
local function field_of(argument, source, place, of_call, returns, in_kernel)
  local of_text = argument.source and argument.source:find "char%s*%*$"
  if argument.type == "string" then return { name = argument.name, source = source, show = as_string } end
  if argument.type == "boolean" then return { name = argument.name, source = source, show = tostring } end
  if not argument.type:find "^[iu]%d+$" then return nil end
  if of_text and returns then
    local constant = argument.source:find "^const" ~= nil
    local function show(value, record)
      if call.is_gone(record.name, record.ret) then return "(gone with the program that called)" end
      return call.quoted(record.name, constant, value, STRINGS, record.ret, record.a3)
    end
    return { name = argument.name, source = READ:format(source), show = show, otherwise = source }
  end
  if of_call then
    return { name = argument.name, source = source, show = show_of_call(of_call, place, call.show_of(argument)) }
  end
  if SIGNALS[argument.name] then return { name = argument.name, source = source, show = as_signal } end
  if of_text and IS_CHAR[argument.source] then
    local read = in_kernel and READ_KERNEL or READ
    return { name = argument.name, source = read:format(source), show = as_string, otherwise = source }
  end
  local pointer = argument.source and argument.source:find "%*$"
  return { name = argument.name, source = source, show = pointer and as_hex or as_integer }
end

-- A register whose width and sign are not known.
local function as_raw(value) return "raw " .. as_hex(unsigned(value)) end

-- The type of ONE, a parameter or a result; nil: nobody knows it.
local function type_of(one)
  if one.debug and one.debug > 0 then return describe.get("debug", one.debug) end
  return one.typed and one.typed > 0 and describe.get("kernel", one.typed) or nil
end

-- How an integer of ONE, a parameter or a result, is shown: by its type.
local function show_of_integer(one)
  local type = type_of(one)
  if type and type.kind == "pointer" then return as_address end -- of the kernel's, to bytes that may be anybody's
  if not type or type.kind ~= "integer" then return one.bits == 64 and as_unsigned or as_integer end
  return function(value) return (select(2, scalars.integer(type, type.bits > 0 and unsigned(value) or value))) end
end

-- The plain value of such an integer: an enum's constant by its name.
local function plain_of_integer(one)
  local type = type_of(one)
  if not type or not type.values then return nil end
  return function(value) return (scalars.integer(type, value)) end
end

-- A function of the kernel's tells an error by its number.
local function as_error(value)
  return value < 0 and value > -4096 and ("%s %s"):format(text.integer(value), syscall.errno_name(-tonumber(value)))
    or text.integer(value)
end

-- What stands for ONE, a parameter or result that handlers cannot read: its type, "(double)". A parameter has the
-- reason in its place, which tells the type where that is the reason; -v --list has all of it.
local function unreadable(one)
  local type = (one.type or ""):match "^it is an? '([^']+)'" or not (one.type or ""):find " %l+ %l+ " and one.type
  if not type or type == "" then return "?" end
  if type:sub(1, 1) == "(" then return type end -- "(unnamed)"
  return ("(%s)"):format((type:gsub("^struct struct ", "struct "))) -- of Go's that have no name
end

-- How what a function returns is shown, RESULT (sites:result, kernel.result): { show } or { whole }; nil where nobody
-- knows what that is; false: it returns nothing. { unseen = text }: what handlers cannot read, such as a double. TAKING
-- and DEPTH: as of parameters; nil: of pointers the address is all.
function fields.of_result(result, taking, depth)
  if not result then return nil end
  if result.place == "nowhere" then return result.type ~= "void" and { unseen = unreadable(result) } end
  if result.kind == "boolean" then return { show = function(value) return tostring(value ~= 0) end } end
  if result.kind == "pointer" then
    local function show(value) return as_address(value ~= 0 and value or nil) end
    local type = type_of(result)
    return { show = show, whole = type and taking and taking:pointer(type, "e.ret", depth) }
  end
  if result.typed and result.bits == -32 then return { show = as_error } end
  return { show = show_of_integer(result), plain = plain_of_integer(result) }
end

-- A register whose width and sign are not known.
fields.RAW = { show = as_raw }
fields.INTEGER = { show = as_integer }

-- of_results(sites, results): the same by the names of the functions of SITES, a list, which return RESULTS
-- (sites:results). Where functions of one name return different things, a result may be either's.
function fields.of_results(sites, results)
  local by_name, type_by_name = {}, {}
  for i, result in ipairs(results) do
    local name = sites[i].name
    local type = result and ("%s %s %d %s"):format(result.kind, result.place or "", result.bits, result.type) or ""
    local is_first = by_name[name] == nil
    if is_first and result then by_name[name] = fields.of_result(result) end
    if is_first and not result or type_by_name[name] and type_by_name[name] ~= type then by_name[name] = fields.RAW end
    type_by_name[name] = type
  end
  return by_name
end

-- A parameter of a function. A value that handlers cannot read, such as a double, is in no record.
local function parameter_field(parameter, index, taking, depth, part)
  local returns = part.returns
  local name = parameter.name or "arg" .. index - 1
  local source = parameter.name and parameter.place ~= "nowhere" and ("e.args[%q]"):format(name) -- "rest#0" is one, too
  local field = { name = name, source = source, show = show_of_integer(parameter) }
  field.missing = parameter.place == "nowhere" and unreadable(parameter) or nil
  field.plain = plain_of_integer(parameter)
  local type = type_of(parameter)
  if parameter.kind == "integer" and not (type and type.values) then
    if SIGNALS[name] then field.show = as_signal end
    if part.of_library then field.show = show_of_library(index, field.show) end
  end
  if source and parameter.kind == "integer" and describe.is_text(type) then -- the kernel's (kernel_functions)
    field.source, field.otherwise, field.show = READ_EITHER:format(source, source, source), source, as_string
    field.plain = nil
  end
  if parameter.kind == "boolean" then field.show, field.plain = tostring, nil end
  if parameter.passed and type then
    if parameter.passed == "words" then
      field.whole = taking:words(type, parameter.first, depth)
    elseif parameter.passed == "referred" then -- Fortran's
      local source, length = "e.arg" .. parameter.first, parameter.length and ("e.args[%q]"):format(parameter.length)
      field.whole = not returns and taking:referred(type, source, length, depth) or nil
    elseif not returns then -- the function may have moved it elsewhere, or destroyed it
      field.whole = taking:at(type, "e.arg" .. parameter.first, depth)
    end
  elseif parameter.kind == "pointer" then
    field.show, field.null = as_address, true -- a pointer that is NULL reads as nil
    field.whole = source and type and taking:pointer(type, source, depth)
    if not type and not parameter.kernel and parameter.type:gsub("const ", "") == "char *" then
      field.source, field.otherwise, field.show = READ:format(source), source, as_string
    end
  end
  return field
end

-- A variable of a program where the probe stands, one that handlers can read.
local function variable_field(variable, taking, depth)
  local source, type = ("e.vars[%q]"):format(variable.name), type_of(variable)
  if variable.kind == "object" then
    return { name = variable.name, whole = type and taking:at(type, ("up.u64(%s)"):format(source), depth),
      missing = unreadable(variable) }
  end
  local field = { name = variable.name, source = source, show = show_of_integer(variable) }
  if variable.kind == "boolean" then
    field.show = tostring
  elseif variable.kind == "pointer" then
    field.show, field.null = as_address, true
    field.whole = type and taking:pointer(type, source, depth)
  else
    field.plain = plain_of_integer(variable)
  end
  return field
end

-- The variables that are shown of VARIABLES (sites:variables): those that can be read, and no more than a line holds.
local function variable_fields(variables, taking, depth, wanted)
  local list = {}
  for _, variable in ipairs(variables) do
    local is_wanted = not wanted or wanted[variable.name]
    if is_wanted and not variable.place and #list < MOST_VARIABLES then
      list[#list + 1] = variable_field(variable, taking, depth)
    end
  end
  return list
end

-- How a handler reads the argument NAME, which may be a word of Lua: timer:timer_start has a `function`.
local function access(name)
  local plain = "e.args." .. name
  return loadstring("return " .. plain) and plain or ("e.args[%q]"):format(name)
end

-- What there is of PART's arguments: parameters, arguments by name, those that have numbers alone, or so many words.
-- TAKING (uplua.types.fetch): what the handler takes of what they lead to, DEPTH pointers from them. WANTED: a set of
-- names, nothing is taken of others; nil: all are wanted.
function fields.of(part, returns, taking, depth, wanted)
  local list = {}
  for i, field in ipairs(part.of_event or {}) do
    list[i] = { name = field.name, source = "e." .. field.name, show = field.type == "u64" and as_hex or as_integer }
  end
  if part.of_event then return list end
  for i, parameter in ipairs(part.parameters or {}) do
    local is_wanted = not wanted or parameter.name and wanted[parameter.name]
    list[i] = is_wanted and parameter_field(parameter, i, taking, depth, part) or {}
  end
  if part.parameters then return list end
  if part.variables then return variable_fields(part.variables, taking, depth, wanted) end
  for place, argument in ipairs(part.arguments or {}) do
    local of_call = part.of_call and part.probe:match ":([^:]*)$"
    local in_kernel = not part.probe:find "^tracepoint:syscalls:"
    local source = access(argument.name)
    local type, count = argument.type:match "^([iu]%d+)%[(%d+)%]$"
    list[#list + 1] = type and array_field(argument, source, #list + 1, type, tonumber(count)) or
      field_of(argument, source, place, of_call, returns, in_kernel)
  end
  if part.arguments then return list end
  for i, argument in ipairs(part.by_number or {}) do
    local show = argument.type == "u64" and as_word or as_integer
    if argument.type ~= "?" then list[#list + 1] = { name = argument.name, source = "e.arg" .. i - 1, show = show } end
  end
  for place, argument in ipairs(part.library or {}) do list[place] = field_of_library(argument, place) end
  if part.library then return list end
  for i = 0, part.by_number and -1 or (part.numbered or FUNCTION_ARGUMENTS) - 1 do
    local show = part.of_library and show_of_library(i + 1, as_hex) or as_hex
    list[i + 1] = { name = "arg" .. i, source = "e.arg" .. i, show = show }
  end
  return list
end

-- What RECORD has of FIELD, the I-th: the plain value, its text, and the tree where it is one.
function fields.value(field, i, record, with_types)
  if field.whole then
    local plain, shown = field.whole(record)
    if plain == nil and type(shown) ~= "string" then plain = record["a" .. i] end
    local as_text = type(shown) == "string"
    if not with_types and type(plain) == "table" then plain = record["a" .. i] end
    return plain, as_text and shown or nil, not as_text and shown or nil
  end
  local value, show = field.source and record["a" .. i], field.show
  if value == nil and field.otherwise then
    value = record["b" .. i]
    show = field.null and as_address or value ~= nil and value ~= 0 and as_unreadable or as_address
  end
  if not field.source or value == nil and not field.null then
    return value or nil, field.missing or "?" -- nil also where no handler reads it
  end
  local shown = show(value, record)
  if with_types and field.plain and value ~= nil then value = field.plain(value) end
  return value, shown
end

return fields
