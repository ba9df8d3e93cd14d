-- What uplua.compile.ctype finds out about C types is what the C compiler makes of the same declarations: a small
-- program, compiled here, prints for each field its offset, size, sign, and the bits that a bitfield sets.
local ffi = require "ffi"
local tap = require "tap"
local ctype = require "uplua.compile.ctype"

local CC = tap.compiler()
local DECLARATIONS = [[
enum color { RED, GREEN = 5 };
enum sign { MINUS = -1, ZERO };
struct header { uint16_t id; uint8_t kind; };
union word { int32_t whole; uint16_t halves[2]; uint8_t bytes[4]; };
typedef struct node { struct node *next; long value; char name[10]; } node_t;
struct scalars {
  int8_t i8; uint8_t u8; int16_t i16; uint16_t u16; int32_t i32; uint32_t u32; int64_t i64; uint64_t u64;
  char c; signed char sc; unsigned char uc; short s; unsigned short us; int i; unsigned u; long l; unsigned long ul;
  long long ll;
  size_t size; bool b; enum color color; enum sign sign; const int ci; volatile unsigned vu; float f; double d;
};
struct bits {
  unsigned a : 3; int b : 5; unsigned c : 24; uint32_t d : 20; bool e : 1; uint8_t g : 3; int8_t h : 4; uint16_t k : 11;
  unsigned : 0;
  unsigned m : 1; int n : 31; char after;
};
struct __attribute__((packed)) packed { char c; int i; short s; uint64_t q; };
struct nested {
  char first; struct header header; struct { int x; union { int y; long z; }; }; struct { short q; } named;
  union word word;
  struct header list[3]; int matrix[2][3]; struct node *nodes[2]; node_t own; int last;
};
struct pointers {
  struct header *header; const struct header *constant; struct header *const fixed; struct header **twice;
  void *nothing; int (*call)(int); struct unknown *unknown; int (*row)[3]; const char *text; char *const *argv;
  int *scalar; int tail[];
};
]]

local FIELDS = {
  ["struct scalars"] = "i8 u8 i16 u16 i32 u32 i64 u64 c sc uc s us i u l ul ll size b color sign ci vu f d",
  ["struct packed"] = "c i s q",
  ["struct nested"] = "first header header.id header.kind x y z named named.q word word.whole " ..
                      "word.halves word.bytes list matrix nodes own \
    own.next own.value own.name last",
  ["struct pointers"] = "header constant fixed twice nothing call unknown row text argv scalar",
  ["struct bits"] = "a b c d e g h k m n after",
}

-- One line per field: struct, field, offset, size, is signed, is an aggregate; of bitfields the bits that setting them
-- to -1 sets.
local function compiled()
  local body = {}
  for name, fields in pairs(FIELDS) do
    for field in fields:gmatch "%S+" do
      if name == "struct bits" and field ~= "after" then
        body[#body + 1] = ("  BITS(%s, %s);"):format(name, field)
      else
        body[#body + 1] = ("  FIELD(%s, %s);"):format(name, field)
      end
    end
  end
  local source = [[
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
]] .. DECLARATIONS .. [[
#define FIELD(type, field) do { \
  static unsigned char bytes[sizeof(type)]; memset(bytes, 0xff, sizeof bytes); type *p = (type *)bytes; \
  typeof(p->field) *f = &p->field; \
  int is_signed = _Generic(*f, int8_t: 1, char: (char)-1 < 0, int16_t: 1, int32_t: 1, long: 1, long long: 1, \
                           default: 0); \
  printf("%s %s %zu %zu %d\n", #type, #field, offsetof(type, field), sizeof *f, is_signed); } while (0)
#define BITS(type, field) do { \
  type value; memset(&value, 0, sizeof value); value.field = -1; \
  printf("%s %s %d", #type, #field, value.field < 0); \
  for (size_t i = 0; i < 8 * sizeof value; i++) \
    if (((unsigned char *)&value)[i / 8] >> i % 8 & 1) printf(" %zu", i); \
  printf("\n"); } while (0)
int main(void)
{
]] .. table.concat(body, "\n") .. "\n  return 0;\n}\n"
  local path = os.tmpname()
  local file = assert(io.open(path .. ".c", "w"))
  file:write(source)
  file:close()
  local pipe = io.popen(("%s -std=gnu11 -w -o %s %s.c 2>&1 && %s"):format(CC, path, path, path))
  local text = pipe:read "*a"
  pipe:close()
  os.remove(path)
  os.remove(path .. ".c")
  return text
end

-- The type and the offset of a path of fields such as "own.name".
local function follow(name, path)
  local handle, total, first_bit, bits = ctype.parse(name), 0, nil, nil
  for field in path:gmatch "[^.]+" do
    local offset
    handle, offset, first_bit, bits = ctype.field(handle, field)
    total = total + offset
  end
  return handle, total, first_bit, bits
end

ffi.cdef(DECLARATIONS)

local count = 0
for name, field, offset, size, signed in compiled():gmatch "(struct %w+) ([%w.]+) (%d+) (%d+) ([01])\n" do
  local handle, at = follow(name, field)
  local kind, printed, bytes, bits = ctype.describe(handle)
  tap.is(at .. " " .. bytes, offset .. " " .. size, ("%s.%s: offset and size"):format(name, field))
  if kind == "integer" then
    tap.is(bits, (signed == "1" and -8 or 8) * size, ("%s.%s: bits and sign"):format(name, field))
  end
  count = count + 1
end
tap.is(count, 26 + 4 + 21 + 11 + 1, "the C compiler has said all")

local bitfields = 0
for field, signed, set in compiled():gmatch "struct bits (%l) ([01])([ %d]*)\n" do
  local handle, at, first_bit, bits = follow("struct bits", field)
  local kind, printed, _, width = ctype.describe(handle)
  local places = {}
  for i = 0, bits - 1 do places[i + 1] = (" %d"):format(8 * at + first_bit + i) end
  tap.is(table.concat(places), set, ("struct bits.%s: its bits"):format(field))
  local is_signed = kind == "integer" and width < 0
  tap.is(is_signed, signed == "1", ("struct bits.%s: its sign (%s)"):format(field, printed))
  bitfields = bitfields + 1
end
tap.is(bitfields, 10, "of each bitfield")

-- kind name size bits count, then those of the element.
local function told(handle)
  local words = {}
  for i = 1, 5 do
    local value = select(i, ctype.describe(handle))
    words[i] = tostring(value)
  end
  return table.concat(words, " ")
end

local expected = {
  { "pointers.header", "pointer struct header * 8 nil nil", "struct struct header 4 nil nil" },
  { "pointers.constant", "pointer struct header * 8 nil nil", "struct struct header 4 nil nil" },
  { "pointers.fixed", "pointer struct header * 8 nil nil", "struct struct header 4 nil nil" },
  { "pointers.twice", "pointer struct header ** 8 nil nil", "pointer struct header * 8 nil nil" },
  { "pointers.nothing", "pointer void * 8 nil nil", "nil size of C type is unknown or too large" },
  { "pointers.call", "pointer int (*)() 8 nil nil", "nil size of C type is unknown or too large" },
  { "pointers.unknown", "pointer struct unknown * 8 nil nil", "nil size of C type is unknown or too large" },
  { "pointers.row", "pointer int (*)[3] 8 nil nil", "array int [3] 12 nil 3" },
  { "pointers.text", "pointer char * 8 nil nil", "integer int8_t 1 -8 nil" },
  { "pointers.argv", "pointer char ** 8 nil nil", "pointer char * 8 nil nil" },
  { "pointers.tail", "array int [] nil nil 0", "integer int32_t 4 -32 nil" },
  { "nested.list", "array struct header [3] 12 nil 3", "struct struct header 4 nil nil" },
  { "nested.matrix", "array int [2][3] 24 nil 2", "array int [3] 12 nil 3" },
  { "nested.nodes", "array struct node *[2] 16 nil 2", "pointer struct node * 8 nil nil" },
  { "nested.own", "struct struct node 32 nil nil", "" },
  { "scalars.b", "boolean bool 1 nil nil", "" },
  { "scalars.color", "integer enum color 4 32 nil", "" },
  { "scalars.sign", "integer enum sign 4 -32 nil", "" },
  { "scalars.f", "other float 4 nil nil", "" },
  { "scalars.d", "other double 8 nil nil", "" },
}
for _, case in ipairs(expected) do
  local name, field = case[1]:match "(.-)%.(.*)"
  local handle = follow("struct " .. name, field)
  tap.is(told(handle), case[2], case[1])
  if case[3] ~= "" then
    local element, why = ctype.element(handle)
    tap.is(element and told(element) or "nil " .. why, case[3], "  … its element")
  end
end

tap.is(ctype.parse "const struct header *", (ctype.parse(ffi.typeof "struct header *const")),
  "qualifiers make no other type")
tap.ok(ctype.parse "struct header *" ~= ctype.parse "struct header **", "another star does")
tap.is(follow("struct nested", "own"), (ctype.parse "node_t"), "a typedef's name is the type's")
local node = ctype.parse "struct node"
tap.is(ctype.element((ctype.field(node, "next"))), node, "a struct that points to its like")
tap.is(ctype.field(node, "nothing"), nil, "no such field")
tap.is(select(2, ctype.parse "struct missing *"), "undeclared or implicit tag 'missing'", "the FFI's own message")
tap.is(select(2, ctype.parse "strct header *"), "declaration specifier expected near 'strct'",
  "the FFI's own message of a misspelling")

-- What cannot be read in a handler, and must not be looked at as if it could.
ffi.cdef [[
  typedef int four __attribute__((vector_size(16)));
  struct strange { int &reference; struct header &other; float &fraction; long double wide; _Complex double pair;
    four lanes; int (&list)[3]; };
]]
local strange = ctype.parse "struct strange"
for field, what in pairs { reference = "C++ reference", other = "C++ reference", fraction = "C++ reference",
                           list = "C++ reference", pair = "complex", lanes = "int __attribute__((vector_size(16)))" } do
  tap.is(select(2, ctype.describe((ctype.field(strange, field)))), what, "struct strange." .. field)
end
tap.is(select(2, ctype.field(strange, "wide")), "cannot convert 'long double' to 'double'", "struct strange.wide")

tap.done_testing()
