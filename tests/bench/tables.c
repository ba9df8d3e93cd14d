/*
 * tables FILE...: makes the unwind tables of ELF files; prints "FILES MILLISECONDS MEGABYTES": what takes that long and
 * that much memory. With UPLUA_CACHE=FOLDER in the environment: reads them from there, after it has put them there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sys/state_folder.h"
#include "unwind/cache.h"
#include "unwind/file.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* How long it takes to read the table of FILE from CACHE; what it took to build, BUILT, where it is not kept there. */
static double read_again(int cache, const struct unwind_file *file, double built)
{
    struct unwind_rules rules;
    struct unwind_table table;
    unwind_cache_store(cache, &file->elf, &file->rules, &file->table);
    if (unwind_rules_init(&rules))
        return built;
    double start = now();
    if (unwind_cache_load(cache, &file->elf, &rules, &table)) {
        built = now() - start;
        unwind_table_free(&table);
    }
    unwind_rules_free(&rules);
    return built;
}

int main(int argc, char **argv)
{
    int cache = getenv("UPLUA_CACHE") ? state_folder_open() : -1;
    double milliseconds = 0, bytes = 0;
    int made = 0;
    for (int i = 1; i < argc; i++) {
        struct unwind_file file = {0};
        struct error err;
        double start = now();
        if (unwind_file_open(&file, argv[i], &err) < 0)
            continue;
        double took = now() - start;
        milliseconds += cache >= 0 ? read_again(cache, &file, took) : took;
        bytes += (double)unwind_table_chunks(&file.table) * sizeof *file.table.chunks;
        made++;
        unwind_file_close(&file);
    }
    printf("%d %.3f %.3f\n", made, milliseconds, bytes / 1e6);
    return made == 0;
}
