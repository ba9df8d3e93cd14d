/* Functions of one pattern that return integers of four widths. */
#include <stdio.h>
volatile long s;
__attribute__((noinline)) signed char get_char(int a)
{
    s = a;
    return (signed char)a;
}
__attribute__((noinline)) int get_int(int a)
{
    s = a;
    return a * 1000;
}
__attribute__((noinline)) long get_long(int a)
{
    s = a;
    return a * 10000000000L;
}
__attribute__((noinline)) unsigned short get_us(int a)
{
    s = a;
    return (unsigned short)a;
}
int main()
{
    for (int i = 0; i < 2; i++) {
        s = get_char(-5);
        s = get_int(-5);
        s = get_long(-5);
        s = get_us(65535);
    }
    puts("truth: get_char -5, get_int -5000, get_long -50000000000, get_us 65535");
}
