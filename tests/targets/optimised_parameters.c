/*
 * Functions of which compilers drop parameters, split them or replace them by constants when they optimise: each is
 * called five times, with I and 100 + I for what is left, and 777 for what nobody uses.
 */
#define NOINLINE __attribute__((noinline))
#define UNUSED __attribute__((unused))

struct pair {
    int x, y;
};
static volatile int sink;

static NOINLINE int unused_first(int unused UNUSED, int i, int j)
{
    __asm__ volatile("" : : "r"(i), "r"(j) : "memory");
    return i * j;
}
static NOINLINE int read_only(const int *p, int j)
{
    __asm__ volatile("" : : : "memory");
    return *p * j;
}
static NOINLINE int half(struct pair p, int seven, int j)
{
    __asm__ volatile("" : : : "memory");
    return p.y * seven + j;
}
static NOINLINE int changed(int i, int j)
{
    i = 7;
    __asm__ volatile("" : : "r"(j) : "memory");
    return i * j;
}
static NOINLINE int taken(int unused UNUSED, int i, int j)
{
    __asm__ volatile("" : : "r"(&i), "r"(j) : "memory");
    return i * j;
}
NOINLINE long external(long i, long unused UNUSED, long j)
{
    __asm__ volatile("" : : "r"(i), "r"(j) : "memory");
    return i + j;
}
NOINLINE int counted_up(int i, int j)
{
    i++;
    __asm__ volatile("" : : "r"(j) : "memory");
    return i * j;
}
NOINLINE int replaced(int i, int j)
{
    i = 9;
    __asm__ volatile("" : : "r"(j) : "memory");
    return i - j;
}
NOINLINE int tenth(int a, int b, int c, int d, int e, int f, signed char g, int h, long i, int j)
{
    __asm__ volatile("" : : "r"(&j) : "memory");
    return a + b + c + d + e + f + g + h + (int)i + j;
}

int main(void)
{
    for (int i = 0; i < 5; i++) {
        int j = 100 + i;
        sink += unused_first(777, i, j) + read_only(&i, j) + half((struct pair){1, i}, 7, j) + changed(i, j) +
                taken(777, i, j) + (int)external(i, 777, j) + counted_up(i, j) + replaced(i, j) +
                tenth(0, 1, 2, 3, 4, 5, (signed char)-i, 7, i, j);
    }
    return 0;
}
