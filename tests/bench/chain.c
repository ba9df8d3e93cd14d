/*
 * chain FRAMES CALLS: calls `mark` FRAMES deep, from _start on; built with and without frame pointers. It prints "ready
 * PID" and waits for a byte on stdin; each makes CALLS calls and prints the nanoseconds of CPU time that one took. The
 * end of stdin ends it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

/* mark, repeat, main, and of libc __libc_start_call_main, __libc_start_main and _start; by frame pointers one of libc
 * is seen. */
#ifdef FRAME_POINTERS
enum { OTHERS = 4 };
#else
enum { OTHERS = 6 };
#endif

/* Begins with an instruction that the kernel need not step over. */
void mark(void);
#if defined(__x86_64__)
__asm__(".text\n.globl mark\n.type mark, @function\nmark:\n.cfi_startproc\npush %rbp\n.cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\nmov %rsp, %rbp\n.cfi_def_cfa_register %rbp\npop %rbp\n.cfi_def_cfa %rsp, 8\nret\n"
        ".cfi_endproc\n.size mark, .-mark\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n.globl mark\n.type mark, @function\nmark:\n.cfi_startproc\nnop\nret\n.cfi_endproc\n.size mark, .-mark\n");
#endif

static volatile long sink;

NOINLINE long repeat(long calls)
{
    for (long i = 0; i < calls; i++)
        mark();
    return sink;
}

/* Needs registers that it has to save, more or fewer of them by what it does last. */
NOINLINE long descend(long depth, long calls, long a, long b, long c)
{
    long sum = depth > 1 ? descend(depth - 1, calls, a + 1, b * 2, c ^ 3) : repeat(calls);
    return sum + a * b + c + depth;
}

static double cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* what others run in between is not the call's */
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    long frames = argc == 3 ? atol(argv[1]) : 0, calls = argc == 3 ? atol(argv[2]) : 0;
    if (frames <= OTHERS || calls < 1)
        return 2;
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    for (char byte; read(0, &byte, 1) == 1;) {
        double start = cpu_time();
        sink = descend(frames - OTHERS, calls, 1, 2, 3) & 0;
        printf("%.1f ns per call\n", (cpu_time() - start) / (double)calls);
        fflush(stdout);
    }
    return 0;
}
