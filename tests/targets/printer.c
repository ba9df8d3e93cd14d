/*
 * Calls a function every 2 ms and has it print what a tracer is to print of the call.
 *
 *   printer FILE      101 times; "NUMBER UNSIGNED TEXT SIZE CALLER" to FILE: the arguments, and from where it was called
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "noinline.h"

static FILE *file;

NOINLINE void printed(int number, unsigned long large, char *text, size_t size)
{
    fprintf(file, "%d %lu %s %zu %lx\n", number, large, text, size, (unsigned long)__builtin_return_address(0));
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
