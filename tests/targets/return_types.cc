/* Functions of one pattern, r_*, and of one name, V::get, that return different things: each is called 23 times, and
 * leaves in the upper half of the register what its compiler likes. */
#include <stdint.h>

#include "noinline.h"

struct wide {
    long a, b, c;
};
struct small {
    int a;
};
enum mood { LOW = -3, HIGH = 7 };
enum class tiny : unsigned char { LAST = 250 };

static volatile long sink;

#define RETURNS(type, name, value)                                                                                     \
    extern "C" NOINLINE type name(int i)                                                                               \
    {                                                                                                                  \
        sink = i;                                                                                                      \
        return value;                                                                                                  \
    }

RETURNS(int8_t, r_int8, (int8_t)-i)
RETURNS(uint8_t, r_uint8, (uint8_t)-i)
RETURNS(int16_t, r_int16, (int16_t)(-200 * i))
RETURNS(uint16_t, r_uint16, (uint16_t)-i)
RETURNS(int32_t, r_int32, -100000 * i)
RETURNS(uint32_t, r_uint32, (uint32_t)-i)
RETURNS(int64_t, r_int64, INT64_C(-34359738368) * i)
RETURNS(bool, r_bool, i % 2)
RETURNS(mood, r_mood, i % 2 ? LOW : HIGH)
RETURNS(tiny, r_tiny, tiny::LAST)
RETURNS(char *, r_pointer, (char *)0x17171717L + i)
RETURNS(double, r_double, i / 2.0)
RETURNS(wide, r_wide, (wide{i, i, i}))
RETURNS(small, r_small, small{i})
RETURNS(void, r_void, (void)0)

struct V {
    NOINLINE static signed char get(signed char x)
    {
        sink = x;
        return (signed char)(x - 100);
    }
    NOINLINE static int get(int x)
    {
        sink = x;
        return x * -1000;
    }
    NOINLINE static unsigned short get(unsigned short x)
    {
        sink = x;
        return (unsigned short)-x;
    }
    NOINLINE static double get(double x)
    {
        sink = (long)x;
        return x / 2;
    }
};

int main()
{
    for (int i = 1; i <= 23; i++) {
        sink = r_int8(i) + r_uint8(i) + r_int16(i) + r_uint16(i) + r_int32(i) + r_uint32(i) + r_int64(i) + r_bool(i);
        sink = r_mood(i) + (long)r_tiny(i) + (long)r_pointer(i) + (long)r_double(i) + r_wide(i).a + r_small(i).a;
        r_void(i);
        sink = V::get((signed char)i) + V::get(i) + V::get((unsigned short)i) + (long)V::get((double)i);
    }
    return 0;
}
