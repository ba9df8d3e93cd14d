-- generate.lua ASSEMBLY DECLARATIONS: the module uplua.contract, from what the compiler makes of contract.c
-- generate.lua DECLARATIONS: the C of the table by which Lua finds functions of C, for src/lua/natives.c
-- What is wanted and not there is an error.

-- Structures that Lua has by FFI, and functions, ours and the C library's. A struct NAME is called struct uplua_NAME
-- there: what a script declares may be called as it likes. The functions are members of one structure, in C and in Lua:
-- a table of pointers, in which Lua finds them whether or not there is a dynamic linker.
local STRUCTS = {
  "stack", "sum", "distribution", "overflow", "map", "map_entries", "merged", "recorder_read", "probe_state", "probe_counts", "word_store",
  "scan_block", "scan_layout", "scan_sum", "scan_group", "scan_holder", "scan_totals", "glibc_heap",
}
local FUNCTIONS = {
  "map_open", "map_lookup", "map_update", "map_delete", "map_take", "map_read_all", "map_entries_free",
  "map_var_open", "map_var_get", "map_var_set", "map_var_add",
  "ring_open", "ring_batch", "ring_data", "ring_filled", "ring_release",
  "timeline_open", "timeline_event", "timeline_flush", "timeline_close",
  "recorder_open", "recorder_slots", "recorder_read",
  "merge_new", "merge_add", "merge_find", "merge_release", "merge_stop", "merge_resume", "merge_is_full", "merge_disorder",
  "symbols_update", "symbols_renamings", "symbols_fold", "symbols_address",
  "scan_new", "scan_free", "scan_error", "scan_stop", "scan_at_end", "scan_go_on", "scan_begin", "scan_step", "scan_finish",
  "scan_begin_chunks", "scan_chunks", "scan_confirm", "scan_totals", "scan_groups", "scan_holders", "scan_block_at", "scan_from", "scan_link",
  "scan_thread_at", "scan_suspects", "exit_hold_new", "exit_hold_free", "exit_hold_error", "exit_hold_state",
  "realtime_store",
  "__libc_current_sigrtmax", "__libc_current_sigrtmin", "clock_gettime", "glob", "globfree", "inet_ntop", "ioctl",
  "realpath",
  "sigabbrev_np", "snprintf", "strerror", "strerrorname_np", "strnlen", "strspn", "strtoull", "syscall",
}
local TYPES = {
  __u64 = "uint64_t", __s64 = "int64_t", __u32 = "uint32_t", __u16 = "uint16_t", __u8 = "uint8_t", pid_t = "int",
  _Bool = "bool", clockid_t = "int", socklen_t = "uint32_t", glob_t = "struct uplua_glob",
}

local function content(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

-- --- declarations ---

-- The declarations in C's TEXT, one after the other, without what belongs to functions that are defined there.
local function declarations(text)
  local list, start, depth = {}, 1, 0
  text = text:gsub("\n#[^\n]*", "")
  for at, char in text:gmatch "()([{};])" do
    depth = depth + (char == "{" and 1 or char == "}" and -1 or 0)
    if char == ";" and depth == 0 then
      list[#list + 1] = text:sub(start, at):gsub("%s+", " "):gsub("^ ", "")
      start = at + 1
    elseif char == "}" and depth == 0 and not text:find("^[%s%w_,*]*;", at + 1) and
           not text:find("^%s*__attribute__", at + 1) then
      start = at + 1 -- a function's end
    end
  end
  return list
end

local function name_of(declaration)
  local struct = declaration:match "^struct ([%w_]+) {.*} ?;$"
  if struct then return "struct " .. struct end
  return not declaration:find "{" and declaration:match "([%w_]+) ?%("
end

local function as_ffi(declaration)
  return (declaration:gsub("struct ([%w_]+)", "struct uplua_%1"):gsub("[%w_]+", TYPES))
end

-- name → declaration, of all in C's TEXT
local function by_name(text)
  local found = {}
  for _, declaration in ipairs(declarations(text)) do
    local name = name_of(declaration)
    if name then found[name] = declaration end
  end
  return found
end

-- A pointer to the function that DECLARATION is of, as a structure's member of its name: without what only says how it
-- may be called.
local function pointer(declaration)
  local plain = declaration:gsub("__attribute__ ?%b()", ""):gsub("__asm__ ?%b()", "")
  for _, word in ipairs { "extern", "__extension__", "__restrict" } do
    plain = plain:gsub("%f[%w_]" .. word .. "%f[^%w_]", "")
  end
  return (plain:gsub("([%w_]+) ?%(", "(*%1)(", 1):gsub("%s+", " "):gsub("^ ", ""):gsub(" ;", ";"))
end

-- The members of the table, in the order of FUNCTIONS, as C has them in the declarations FOUND.
local function pointers(found)
  local list = {}
  for i, name in ipairs(FUNCTIONS) do
    list[i] = pointer(assert(found[name], "contract: there is no function " .. name))
  end
  return list
end

-- The structures of ours, and what comes behind all others: the table.
local function cdef(text)
  local found, members = by_name(text), {}
  local lines = { "struct uplua_ring;", "struct uplua_symbols;", "struct uplua_scan;", "struct uplua_exit_hold;" }
  for _, struct in ipairs(STRUCTS) do
    lines[#lines + 1] = as_ffi(assert(found["struct " .. struct], "contract: there is no struct " .. struct))
  end
  for i, member in ipairs(pointers(found)) do members[i] = as_ffi(member) end
  return lines, ("struct uplua_natives {\n%s\n};"):format(table.concat(members, "\n"))
end

-- --- what is measured ---

-- LINES for a structure of the system, with the FIELDS { name, type, offset, size } and SIZE bytes in all.
local function put_struct(lines, name, size, fields)
  local parts, at, gaps = {}, 0, 0
  local function fill(to)
    if to > at then
      gaps = gaps + 1
      parts[#parts + 1] = ("uint8_t gap%d[%d];"):format(gaps, to - at)
    end
  end
  for _, field in ipairs(fields) do
    fill(field.offset)
    local type = field.type == "int" and ("%s%d_t"):format(field.sign == 1 and "int" or "uint", field.size * 8)
    parts[#parts + 1] = ("%s %s;"):format(type or field.type, field.name)
    at = field.offset + field.size
  end
  fill(size)
  lines[#lines + 1] = ("struct uplua_%s { %s };"):format(name, table.concat(parts, " "))
end

-- Puts structures into LINES. Returns a list of { name, Lua's text of the value }.
local function measured(assembly, lines)
  local values, structs, struct, field = {}, {}, nil, nil
  for line in assembly:gmatch '"%-> ([^"\n]*)"' do
    local kind, name, text, number = line:match "^(%w+) ?([%w_]*) ?(%S*) [$#]?(%-?%d+)%s*$"
    if kind == "number" then
      local plain = math.abs(tonumber(number)) < 2 ^ 53
      values[#values + 1] = { name, plain and number or number .. "LL" }
    elseif kind == "text" then
      values[#values + 1] = { name, ("%q"):format(text) }
    elseif kind == "struct" then
      struct = { name = name, size = tonumber(number), fields = {} }
      structs[#structs + 1] = struct
    elseif kind == "field" then
      field = { name = name, type = text, offset = tonumber(number) }
      struct.fields[#struct.fields + 1] = field
    elseif kind == "size" or kind == "sign" then
      field[kind] = tonumber(number)
    else
      error("contract: cannot read " .. line)
    end
  end
  assert(#values > 0, "contract: the compiler's assembly has no values")
  for _, s in ipairs(structs) do put_struct(lines, s.name, s.size, s.fields) end
  return values
end

if #arg == 1 then
  print "/* Made by tools/contract/generate.lua from the headers that tools/contract/contract.c names. */"
  print(("struct natives {\n%s\n};"):format(table.concat(pointers(by_name(content(arg[1]))), "\n")))
  print(("#define NATIVES(function) function(%s)"):format(table.concat(FUNCTIONS, ") function(")))
  return
end

local lines, natives = cdef(content(arg[2]))
local values = measured(content(arg[1]), lines)
lines[#lines + 1] = natives
local text = table.concat(lines, "\n")
require("ffi").cdef(text)
print "-- Made by tools/contract/generate.lua from the headers that tools/contract/contract.c names."
print(("require(\"ffi\").cdef [[\n%s\n]]\n"):format(text))
print [[
-- The functions of C: C.map_open. Each is looked up when it is first wanted.
local natives
local C = setmetatable({}, { __index = function(C, name)
  natives = natives or require("ffi").cast("const struct uplua_natives *", require "uplua.core".natives)
  C[name] = natives[name]
  return C[name]
end })
]]
print "return setmetatable({\n  C = C,"
for _, value in ipairs(values) do print(("  %s = %s,"):format(value[1], value[2])) end
print '}, { __index = function(_, name) error("no contract has " .. name, 2) end })'
