-- C++ and Go by the names that people read. A name that has * ? [ in it is that function's, and no pattern; and of a
-- constructor or destructor, of which compilers make several functions, one call of what the source has is one hit.
local tap    = require "tap"
local target = require "target"
local is = tap.is

tap.compiler()

local FOLDER = target.folder() .. "-names"
os.execute("mkdir " .. FOLDER)

-- Builds SOURCE, in a file that ends in SUFFIX, by the command COMPILE, as the program NAME; nil where there is no such
-- compiler.
local function build(name, suffix, source, compile)
  if os.execute(("command -v %s >/dev/null"):format(compile:match "^%S+")) ~= 0 then return nil end
  local path = FOLDER .. "/" .. name
  local file = assert(io.open(path .. suffix, "w"))
  file:write(source)
  file:close()
  local built = target.shell(("cd %s && HOME=%s %s -o %s %s%s >\"$D/out\" 2>\"$D/err\"")
    :format(FOLDER, FOLDER, compile, path, path, suffix))
  tap.is(built.status, 0, ("%s compiles %s %s"):format(compile, name, built.err))
  return path
end

-- The hits of SPECS, which stand behind PATH and a colon, while PATH runs with ARGUMENTS; and all that it prints.
local function hits(path, specs, kind)
  local list = {}
  for i, spec in ipairs(specs) do list[i] = ("%q"):format(path .. ":" .. spec) end
  local code = ("n = count() up.%s({ %s }, function() n:inc() end) at_exit(function() print('=', n:get()) end)")
    :format(kind or "uprobe", table.concat(list, ", "))
  local r = target.uplua(("-e %s -- %s"):format(target.quote(code), path))
  -- Of return probes it may be said what exceptions do.
  is(kind and "" or r.err, "", ("nothing is said of %s"):format(table.concat(specs, ", ")))
  return tonumber(r.out:match "=\t(%d+)"), r.out
end

-- --- names with * ? [ ---

local OVERLOADS = [[
#define NOINLINE __attribute__((noinline))
#define WORK __asm__ volatile("")
struct P {
    NOINLINE void put(char *) { WORK; }
    NOINLINE void put(char) { WORK; }
    NOINLINE void put(char *, int) { WORK; }
    NOINLINE void put(const char *) { WORK; }
    NOINLINE int operator*() { WORK; return 0; }
    NOINLINE P *operator->() { WORK; return this; }
    NOINLINE int operator[](int i) { WORK; return i; }
    NOINLINE int operatorish() { WORK; return 1; }
};
namespace ns { template <class T> NOINLINE int kind(T) { WORK; return 1; } }
int main()
{
    P p;
    char c[2] = "x";
    for (int i = 0; i < 23; i++) p.put(c);
    for (int i = 0; i < 101; i++) p.put('x');
    for (int i = 0; i < 47; i++) p.put(c, i);
    for (int i = 0; i < 7; i++) p.put((const char *)c);
    for (int i = 0; i < 11; i++) *p;
    for (int i = 0; i < 13; i++) p.operator->();
    for (int i = 0; i < 17; i++) p[i];
    for (int i = 0; i < 19; i++) p.operatorish();
    for (int i = 0; i < 29; i++) ns::kind(c);
    for (int i = 0; i < 31; i++) ns::kind(&p);
    for (int i = 0; i < 37; i++) ns::kind(i);
    return 0;
}
]]
local path = build("overloads", ".cc", OVERLOADS, "c++ -O1")
if path then
  for spec, want in pairs {
    ["P::put(char*)"] = 23, ["P::put(char)"] = 101, ["P::put(char*, int)"] = 47, ["P::put(char const*)"] = 7,
    ["P::operator*()"] = 11, ["P::operator*"] = 11, ["P::operator->()"] = 13, ["P::operator[](int)"] = 17,
    ["P::operator[]"] = 17, ["int ns::kind<char*>(char*)"] = 29, ["ns::kind<char*>"] = 29, ["ns::kind<P*>"] = 31,
    ["P::put(char*)+0"] = 23, ["P::put(*)"] = 178, ["P::operat*"] = 60, ["ns::kind<*>"] = 97, ["P::p?t"] = 178,
    ["*kind<*[*]>*"] = 60,
  } do
    is(hits(path, { spec }), want, spec)
  end
  local r = target.uplua(("-e %s"):format(target.quote(('uprobe("%s:P::p*+4", function() end)'):format(path))))
  tap.like(r.err, "an offset needs one function, not a pattern", "a pattern with an offset is refused")
else
  tap.skip "there is no c++ here"
end

local METHODS = [[
package main

type T struct{ n int }
type ListT struct{ n int }

//go:noinline
func (t *T) Get() int { return t.n }

//go:noinline
func (t *ListT) Get() int { return t.n }

func main() {
	a, b, sum := &T{1}, &ListT{2}, 0
	for i := 0; i < 23; i++ { sum += a.Get() }
	for i := 0; i < 101; i++ { sum += b.Get() }
	if sum != 225 { panic("sum") }
}
]]
path = build("methods", ".go", METHODS, "go build")
if path then
  is(hits(path, { "main.(*T).Get" }), 23, "Go: a method of a pointer")
  is(hits(path, { "main.(*ListT).Get" }), 101, "Go: another one")
  is(hits(path, { "main.(*T).G*" }), 124, "Go: a pattern")
else
  tap.skip "there is no go here"
end

-- --- constructors and destructors ---

-- Its classes: D, with a virtual destructor; V, with a virtual base; N, whose destructor ends others of its kind;
-- C1 and C2, whose f look like constructors. It prints what it has counted.
local STRUCTORS = [[
#include <cstdio>
#define NOINLINE __attribute__((noinline))
static int born, dead, virtually_born, virtually_dead, nodes;
struct B { virtual ~B() {} };
struct D : B { NOINLINE D(); NOINLINE ~D() override; };
NOINLINE D::D() { born++; }
NOINLINE D::~D() { dead++; }
struct V : virtual B { NOINLINE V(); NOINLINE ~V() override; };
NOINLINE V::V() { virtually_born++; }
NOINLINE V::~V() { virtually_dead++; }
struct W : V { NOINLINE W() {} };
struct N final : B { N *next; NOINLINE N(N *n) : next(n) {} NOINLINE ~N() override { nodes++; delete next; } };
struct C2 { NOINLINE void f() { __asm__ volatile(""); } };
struct C1 { NOINLINE void f() { C2().f(); __asm__ volatile(""); } };
int main()
{
    for (int i = 0; i < 101; i++) { B *b = new D; delete b; }
    for (int i = 0; i < 7; i++) { D d; }
    for (int i = 0; i < 23; i++) { V v; }
    for (int i = 0; i < 11; i++) { B *b = new W; delete b; }
    N *n = nullptr;
    for (int i = 0; i < 29; i++) n = new N(n);
    delete n;
    for (int i = 0; i < 13; i++) { C1 one; one.f(); }
    for (int i = 0; i < 17; i++) { C2 two; two.f(); }
    std::printf("%d %d %d %d %d\n", born, dead, virtually_born, virtually_dead, nodes);
}
]]
local built = 0
for i, compile in ipairs { "g++ -O0", "g++ -O1", "g++ -O2", "g++ -Os", "g++ -O0 -fPIC -pie -Wl,-E",
                           "g++ -O1 -fPIC -fno-plt -pie -Wl,-E", "g++ -O2 -fdeclone-ctor-dtor", "clang++ -O0",
                           "clang++ -O1", "clang++ -O2" } do
  path = build("structors" .. i, ".cc", STRUCTORS, compile)
  if path then
    built = built + 1
    local _, text = hits(path, { "main" })
    is(text:match "^[^\n]*", "108 108 34 34 29", compile .. ": the program")
    is(hits(path, { "D::~D" }), 108, compile .. ": a virtual destructor")
    is(hits(path, { "D::~D()" }, "uretprobe"), 108, compile .. ": … its returns")
    is(hits(path, { "D::~*" }), 108, compile .. ": … by a pattern")
    is(hits(path, { "D::D" }), 108, compile .. ": a constructor")
    is(hits(path, { "V::~V" }), 34, compile .. ": a destructor with a virtual base")
    is(hits(path, { "V::V" }), 34, compile .. ": a constructor with a virtual base")
    is(hits(path, { "N::~N" }), 29, compile .. ": a destructor that ends others of its kind")
    is(hits(path, { "C?::f" }), 43, compile .. ": what looks like a constructor")
  end
end
tap.ok(built > 0, "compilers")

os.execute("rm -rf " .. FOLDER)
target.done()
tap.done_testing()
