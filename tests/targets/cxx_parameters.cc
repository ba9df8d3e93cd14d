/*
 * Functions whose parameters and results are passed in all the ways of C++: objects by value and by address, integers of 128 bits, destructors with
 * what compilers add. Each is called once, with 12 and 13 for what stands behind what is special.
 */
#include <cstdint>
#include <memory>

#define TWIN int v; explicit Twin(int n) : v(n) {} Twin(const Twin &other) : v(other.v) {}
#include "cxx_parameters.h"

#define NOINLINE __attribute__((noinline))

namespace passed {

static volatile long sink;
static void use(long value) { sink = sink + value; }

struct Small { int x, y; };
struct Two { long x; int y; };
struct Mixed { double x; long y; };
struct Floats { double x, y; };
struct Large { long words[5]; };
struct Empty {};
struct __attribute__((packed)) Packed { char x; long y; };
struct Copied { int v; explicit Copied(int n) : v(n) {} Copied(const Copied &other) : v(other.v) {} };
struct Destroyed { int v; ~Destroyed() { use(v); } };
struct Defaulted { int v; explicit Defaulted(int n) : v(n) {} Defaulted(const Defaulted &) = default; ~Defaulted() = default; };
struct Moved { int v; explicit Moved(int n) : v(n) {} Moved(const Moved &) = delete; Moved(Moved &&) = default; };
struct Fixed { int v; explicit Fixed(int n) : v(n) {} Fixed(const Fixed &) = delete; };
struct Member { Copied copied; int w; };
struct Derived : Small { int z; };
struct Bits { unsigned a : 3; int b : 5; unsigned c : 24; };
struct NarrowBits { unsigned short version : 4, length : 4, service : 8; };
struct LateBits { int x; unsigned u : 12, v : 12, w : 8; };
struct RealBits { double x; unsigned u : 20, v : 12; };
struct __attribute__((packed)) PackedBits { unsigned long u : 60, v : 20; unsigned w : 16; };
struct Virtual { int v; virtual NOINLINE ~Virtual() { use(v); } };

enum Enum { LOW = -3, HIGH = 70000 };
enum class Byte : uint8_t { A = 200 };

NOINLINE void small(Small s, int a) { use(s.x + a); }
NOINLINE void two(Two s, int a) { use(s.x + a); }
NOINLINE void mixed(Mixed s, int a, int b) { use(s.y + a + b); }
NOINLINE void floats(Floats s, int a) { use((long)s.x + a); }
NOINLINE void large(Large s, int a) { use(s.words[1] + a); }
NOINLINE void empty(Empty, int a) { use(a); }
NOINLINE void packed(Packed s, int a) { use(s.y + a); }
NOINLINE void copied(Copied s, int a) { use(s.v + a); }
NOINLINE void destroyed(Destroyed s, int a) { use(s.v + a); }
NOINLINE void defaulted(Defaulted s, int a) { use(s.v + a); }
NOINLINE void moved(Moved s, int a) { use(s.v + a); }
NOINLINE void member(Member s, int a) { use(s.w + a); }
NOINLINE void derived(Derived s, int a) { use(s.z + a); }
NOINLINE void bits(Bits s, int a) { use(s.c + a); }
NOINLINE void narrow_bits(int x, NarrowBits s, int a) { use(x + s.service + a); }
NOINLINE void late_bits(LateBits s, int a) { use(s.v + a); }
NOINLINE void real_bits(RealBits s, int a, double, int b) { use((long)s.x + s.v + a + b); }
NOINLINE void packed_bits(PackedBits s, int a) { use(s.v + a); }
NOINLINE void owner(std::unique_ptr<int> p, int a) { use(*p + a); }
NOINLINE void wide(__int128 w, int a) { use((long)w + a); }
NOINLINE void wide_second(int x, __int128 w, int a, int b) { use(x + (long)w + a + b); }
NOINLINE void wide_sixth(int c, int d, int e, int f, int g, __int128 w, int a, int b) { use(c + d + e + f + g + (long)w + a + b); }
NOINLINE void two_sixth(int c, int d, int e, int f, int g, Two s, int a, int b) { use(c + d + e + f + g + s.x + a + b); }
NOINLINE void reals(double x, int a, float y, int b) { use((long)(x + y) + a + b); }
NOINLINE void narrow(char c, unsigned char u, bool f, short s, unsigned short t, Enum e, Byte b) { use(c + u + f + s + t + e + (int)b); }
NOINLINE void taken(int x, int a, int b) { use(x + b); asm volatile("" : : "r"(&a) : "memory"); }
NOINLINE Large give_large(int a) { Large r{}; r.words[0] = a; return r; }
NOINLINE Copied give_copied(int a) { return Copied(a); }
NOINLINE Fixed give_fixed(int a) { return Fixed(a); }
NOINLINE Defaulted give_defaulted(int a) { return Defaulted(a); }
NOINLINE Small give_small(int a) { return Small{a, a}; }
NOINLINE std::shared_ptr<int> give_shared(int a) { return std::make_shared<int>(a); }
NOINLINE short give_short(int a) { return (short)(-30000 - a + 12); }
NOINLINE double give_real(int a) { return a; }
struct Shop {
    NOINLINE std::shared_ptr<int> find(int a) { use(pieces); return std::make_shared<int>(a); }
    NOINLINE void sell(std::shared_ptr<int> p, int a) { use(pieces + *p + a); }
    int pieces = 5;
};

static void call()
{
    small({1, 2}, 12), two({1, 2}, 12), mixed({1, 2}, 12, 13), floats({1, 2}, 12), large({}, 12), empty({}, 12), packed({1, 2}, 12);
    copied(Copied(1), 12), destroyed({1}, 12), defaulted(Defaulted(1), 12), moved(Moved(1), 12), member({Copied(1), 2}, 12);
    bits({5, -7, 70000}, 12), narrow_bits(1, {4, 5, 7}, 12), late_bits({1, 2, 3, 4}, 12), real_bits({1, 2, 3}, 12, 1, 13), packed_bits({1, 2, 3}, 12);
    derived({}, 12), owner(std::make_unique<int>(1), 12);
    wide(5, 12), wide_second(1, 5, 12, 13), wide_sixth(1, 2, 3, 4, 5, 6, 12, 13), two_sixth(1, 2, 3, 4, 5, {6, 7}, 12, 13), reals(1.5, 12, 2.5f, 13);
    narrow(-1, 200, true, -4, 60000, LOW, Byte::A), taken(1, 12, 13);
    use(give_large(12).words[0] + give_copied(12).v + give_fixed(12).v + give_defaulted(12).v + give_small(12).x + *give_shared(12) + give_short(12) + (long)give_real(12));
    Shop shop;
    shop.sell(shop.find(12), 12);
    Virtual local;
    local.v = 1;
}

} // namespace passed

/* What is rarer, in a namespace of its own, since not all functions of a pattern are compared. */
namespace rare {

using passed::use;

struct Vector { int words __attribute__((vector_size(16))); };
typedef long double Real;
struct Pair { int x, y; };
struct Extended { Real x; };
struct alignas(16) Aligned { long words[4]; };
struct Three { long words[3]; };
struct Pointing { void (Elsewhere::*call)(int); long v; Pointing() : call(), v(0) {} Pointing(const Pointing &other) : call(other.call), v(other.v) {} };
template <class... T> struct Pack { static NOINLINE void rest(T... some, int b) { passed::use((some + ...) + b); } };
template <class... T> NOINLINE void behind(T... some, int b) { use((some + ...) + b); }

NOINLINE void vector(Vector v, int a) { use(v.words[0] + a); }
NOINLINE void vector_alone(int v __attribute__((vector_size(16))), int a) { use(v[0] + a); }
NOINLINE void aligned(Three t, Aligned s, int a, int c, int d, int e, int f, int g, int b) { use(t.words[0] + s.words[0] + a + c + d + e + f + g + b); }
NOINLINE void extended(Real x, int a, int c, int d, int e, int f, int g, int b) { use((long)x + a + c + d + e + f + g + b); }
NOINLINE void complex(_Complex double x, int a) { use((long)__real__ x + a); }
NOINLINE void to_member(int Pair::*p, int a) { use(Pair{1, 2}.*p + a); }
NOINLINE void to_function(void (Elsewhere::*p)(int), int a) { use((p != nullptr) + a); }
NOINLINE void nothing(std::nullptr_t n, int a) { use((n == nullptr) + a); }
NOINLINE void nowhere(Nowhere s, int a) { use(s.v + a); }
NOINLINE void elsewhere(Elsewhere s, int a) { use(s.v + a); }
NOINLINE Extended give_extended(int a) { use(a); return {1}; }
NOINLINE Real give_long(int a) { use(a); return 1; }
NOINLINE _Complex double give_complex(int a) { use(a); return 1; }
NOINLINE Pointing give_pointing(int a) { use(a); return Pointing(); }
NOINLINE int Pair::*give_member(int a) { use(a); return &Pair::y; }
NOINLINE Nowhere give_nowhere(int a) { use(a); return Nowhere(a); }
NOINLINE static Twin give_twin(int a) { use(a); return Twin(a); }
NOINLINE Elsewhere give_elsewhere(int a) { use(a); return Elsewhere(a); }

static void call()
{
    vector(Vector{}, 12), vector_alone(Vector{}.words, 12), aligned({}, {}, 12, 1, 2, 3, 4, 5, 13), extended(1, 12, 1, 2, 3, 4, 5, 13), complex(1, 12);
    to_member(&Pair::y, 12), to_function(&Elsewhere::take, 12), nothing(nullptr, 12), nowhere(Nowhere(1), 12), elsewhere(Elsewhere(1), 12), Pack<int, long>::rest(1, 2, 13), Pack<int>::rest(1, 13), behind<int, long>(1, 2, 13);
    use((long)give_extended(12).x + (long)give_long(12) + (long)__real__ give_complex(12) + (give_pointing(12).v) + Pair{1, 2}.*give_member(12));
    use(give_nowhere(12).v + give_elsewhere(12).v);
    volatile int unknown = 12; /* else compilers would leave the parameter out */
    use(give_twin(unknown).v);
    call_elsewhere(unknown, 1);
}

} // namespace rare

int main()
{
    passed::call();
    rare::call();
}
