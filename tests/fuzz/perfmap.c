/* What a process writes of the code that it makes. */
#include "sym/perfmap.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int root = -1;
    if (root < 0) {
        char path[300];
        snprintf(path, sizeof path, "%s/tmp", fuzz_folder());
        mkdir(path, 0700);
        root = open(fuzz_folder(), O_PATH | O_DIRECTORY);
    }
    fuzz_write("tmp/perf-23.map", data, size);
    struct process process = {.inner_pid = 23, .uid = getuid(), .root = &(struct root){.fd = root}};
    uint64_t offset, addresses[] = {0, 1, 0x1000, 0x1010, 0x10000000, UINT64_MAX};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        const char *name = perfmap_lookup(NULL, &process, addresses[i], &offset);
        if (name && strlen(name) > 4096)
            abort();
    }
    perfmap_free(process.perfmap);
    return 0;
}
