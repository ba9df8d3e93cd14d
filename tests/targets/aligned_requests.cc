/*
 * What C++'s operators new with an alignment are asked for, of sizes that are no multiples of it, which libstdc++
 * rounds up before it asks the C library. At the end 131 blocks are held, 14,117 bytes as they were asked for:
 *
 *   23 × 101 bytes at a multiple of 64, 23 × 211 of an array at one of 32, 23 × 1 at one of 4096
 *   11 × 301 bytes by the operator that throws nothing, at a multiple of 128
 *   13 × 0 bytes at a multiple of 64
 *    7 × 192 bytes by aligned_alloc itself, at a multiple of 64, of which nothing is rounded, 4 of them after an
 * operator of the same thread has failed 31 × 73 bytes by the operator without an alignment
 *
 * and 101 of 77 bytes are allocated and freed again. Prints "ready PID" before that and waits for a byte on stdin, then
 * the truth, and waits for another byte.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <unistd.h>

#include "noinline.h"

static char output[4096];
static void *volatile kept;
static unsigned blocks;
static unsigned long bytes;

NOINLINE static void keep(void *block, size_t size)
{
    if (!block)
        _exit(1);
    kept = block;
    blocks++;
    bytes += size;
}

/* No allocator can give this: the compiler must not know. */
static size_t too_much()
{
    size_t size = SIZE_MAX / 2 + 1;

    __asm__ volatile("" : "+r"(size));
    return size;
}

NOINLINE static void fail()
{
    try {
        keep(::operator new(too_much(), std::align_val_t(64)), 0);
    } catch (const std::bad_alloc &) {
        return;
    }
    _exit(1);
}

NOINLINE static void hold(bool fails)
{
    for (int i = 0; i < 23; i++) {
        keep(::operator new(101, std::align_val_t(64)), 101);
        keep(::operator new[](211, std::align_val_t(32)), 211);
        keep(::operator new(1, std::align_val_t(4096)), 1);
    }
    for (int i = 0; i < 11; i++)
        keep(::operator new(301, std::align_val_t(128), std::nothrow), 301);
    for (int i = 0; i < 13; i++)
        keep(::operator new(0, std::align_val_t(64)), 0);
    for (int i = 0; i < 7; i++) {
        if (fails && i >= 3)
            fail();
        keep(aligned_alloc(64, 192), 192);
    }
    for (int i = 0; i < 31; i++)
        keep(::operator new(73), 73);
    for (int i = 0; i < 101; i++) {
        void *block = ::operator new(77, std::align_val_t(64));

        kept = block;
        ::operator delete(block, std::align_val_t(64));
    }
}

static void wait_byte()
{
    char byte;
    ssize_t n = read(0, &byte, 1);

    if (n < 0)
        _exit(1);
}

int main(int argc, char **)
{
    setvbuf(stdout, output, _IOLBF, sizeof(output));
    hold(argc == 1); /* what exceptions need is allocated now */
    blocks = 0;
    bytes = 0;
    printf("ready %d\n", (int)getpid());
    wait_byte();
    hold(argc == 1);
    printf("leaked %u bytes %lu\n", blocks, bytes);
    wait_byte();
    _exit(0);
}
