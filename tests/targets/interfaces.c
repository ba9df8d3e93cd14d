/*
 * interfaces: 23 times getppid by the 64-bit interface of system calls, 101 times getpid by the 32-bit one, whose
 * number, 20, is that of writev in the other. Status 1 where the kernel has but one.
 */
#include <unistd.h>

static long by_32_bits(long number)
{
#ifdef __x86_64__
    __asm__ volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10", "r11");
    return number;
#else
    return -number;
#endif
}

int main(void)
{
    for (int i = 0; i < 23; i++)
        getppid();
    long own = getpid();
    for (int i = 0; i < 101; i++)
        if (by_32_bits(20) != own)
            return 1;
    return 0;
}
