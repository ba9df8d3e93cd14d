/*
 * Calls a function every 2 ms and has it print what a tracer is to print of the call.
 *
 *   printer FILE      101 times; "NUMBER UNSIGNED TEXT SIZE CALLER STACK" to FILE: the arguments, from where it was
 *                     called, and what the stack pointer was when it was entered
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "noinline.h"

static FILE *file;

/* On x86_64 the return address lies there, below the canonical frame address; on aarch64 it is in a register. */
#ifdef __x86_64__
#define ENTRY_STACK ((unsigned long)__builtin_dwarf_cfa() - sizeof(void *))
#else
#define ENTRY_STACK ((unsigned long)__builtin_dwarf_cfa())
#endif

NOINLINE void printed(int number, unsigned long large, char *text, size_t size)
{
    fprintf(file, "%d %lu %s %zu %lx %lx\n", number, large, text, size, (unsigned long)__builtin_return_address(0),
            ENTRY_STACK);
}

int main(int argc, char **argv)
{
    if (argc != 2 || !(file = fopen(argv[1], "w")))
        return 2;
    for (int i = 0; i < 101; i++) {
        char text[32];
        struct timespec pause = {.tv_nsec = 2000000};
        snprintf(text, sizeof text, "text-%d", i * i);
        if (i % 2)
            printed(i - 50, -1ul / (unsigned long)(i + 1), text, strlen(text));
        else
            printed(-i, (unsigned long)i, text + 5, sizeof text);
        nanosleep(&pause, NULL);
    }
    return fclose(file) != 0;
}
