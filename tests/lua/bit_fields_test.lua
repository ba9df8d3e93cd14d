-- Bit fields that begin at any bit and end up to nine bytes on (tests/targets/bit_fields.c): e.args, e.vars and
-- trace.lua have what the program prints.
local tap    = require "tap"
local target = require "target"

local PROGRAM = "./build/targets/bit_fields"

-- The lines of TEXT that begin with MARK, by the names that follow it: "UNSIGNED SIGNED" of each call.
local function values_in(text, mark)
  local values, names = {}, {}
  for name, value in text:gmatch("%f[^%z\n]" .. mark .. "(%d+_%d+) ([^\n]*)") do
    if not values[name] then
      values[name] = {}
      names[#names + 1] = name
    end
    table.insert(values[name], value)
  end
  return values, names
end

local own, names = values_in(target.shell(PROGRAM .. ' >"$D/out" 2>"$D/err"').out, "")
tap.is(#names, 11, "kinds of fields")
for _, name in ipairs(names) do tap.is(#own[name], 23, "values of " .. name) end

local function compare(seen, what)
  for _, name in ipairs(names) do
    tap.is(table.concat(seen[name] or {}, ", "), table.concat(own[name], ", "), what .. ", " .. name)
  end
end

local SILENT = ("sh -c 'exec %s >/dev/null'"):format(PROGRAM) -- what it prints is more than comes in one piece

-- All of them at BASE, an expression.
local function beside(base, what)
  local statements = {}
  for _, name in ipairs(names) do
    statements[#statements + 1] = ("printf('=%s %%x %%d\\n', p.u%s.plain, p.s%s.plain)"):format(name, name, name)
  end
  local r = target.uplua(("-e %s -- %s"):format(target.quote(("uprobe('%s:take', function(e) local p = %s %s end)")
    :format(PROGRAM, base, table.concat(statements, "\n"))), SILENT))
  compare(values_in(r.out, "="), what)
  tap.is(r.err, "", what .. ": nothing is said")
end
beside("e.args.fields", "e.args")
beside("e.vars.all", "e.vars")

-- trace.lua decodes the bytes in Lua.
local r = target.uplua(("trace.lua --json %s:take -- %s"):format(PROGRAM, SILENT))
local decoded = {}
local texts = {}
for text in r.out:gmatch('"name":"fields","text":"(.-)"') do texts[#texts + 1] = text end
for kind, name, value in table.concat(texts):gmatch("([us])(%d+_%d+)={before=%d+, plain=(%-?%d+)") do
  decoded[name] = decoded[name] or {}
  local values = decoded[name]
  if kind == "u" then
    values[#values + 1] = bit.tohex(loadstring("return " .. value .. "ULL")()):gsub("^0+(.)", "%1")
  else
    values[#values] = values[#values] .. " " .. value
  end
end
compare(decoded, "trace.lua")

-- What BPF objects keep in their maps and variables, by BTF.
local btf_codec = require "uplua.objects.btf_codec"
local ffi       = require "ffi"
local function field(name, offset, first_bit, bits, kind)
  return { name = name, offset = offset, first_bit = first_bit, bits = bits, type = { kind = kind, size = 8 } }
end
local codec = btf_codec.codec { kind = "struct", name = "packed", size = 18,
  fields = { field("a", 0, 0, 5, "u8"), field("b", 0, 5, 62, "u64"), field("c", 9, 7, 64, "i64"),
             field("between", 8, 3, 4, "u8") } }
local bytes = ffi.new "uint8_t[18]"
for _, values in ipairs {
  { a = 31, b = 1, c = -1, between = 3 }, { a = 1, b = 0x3fffffffffffffffULL, c = -2LL ^ 62, between = 15 },
  { a = 0, b = 0x123456789abcdefULL, c = 0x7fffffffffffffffLL, between = 0 },
} do
  tap.is(codec.encode(bytes, values), nil, "fields are written")
  local record = codec.decode(bytes)
  for name, value in pairs(values) do tap.is(tostring(record[name]), tostring(value), "… and read, " .. name) end
end
for value, why in pairs { [-1] = "%-1 is not in 0 … 4611686018427387903", [1.5] = "1.5 is not an integer",
  [2 ^ 62] = "4611686018427387904 is not in 0 … 4611686018427387903" } do
  tap.like(codec.encode(bytes, { b = value }), "^field 'b': " .. why .. "$", "refused: " .. value)
end
target.done()
tap.done_testing()
