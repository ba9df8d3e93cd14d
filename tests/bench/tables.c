/* tables FILE...: makes the unwind tables of ELF files; prints "FILES MILLISECONDS MEGABYTES": what takes that long and that much memory. */
#include <stdio.h>
#include <time.h>

#include "unwind/file.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    double milliseconds = 0, bytes = 0;
    int made = 0;
    for (int i = 1; i < argc; i++) {
        struct unwind_file file = {0};
        struct error err;
        double start = now();
        if (unwind_file_open(&file, argv[i], &err) < 0)
            continue;
        milliseconds += now() - start;
        bytes += (double)unwind_table_chunks(&file.table) * sizeof *file.table.chunks;
        made++;
        unwind_file_close(&file);
    }
    printf("%d %.3f %.3f\n", made, milliseconds, bytes / 1e6);
    return made == 0;
}
