/* The kernel's list of its symbols, in which names of BPF programs and modules were chosen by somebody. */
#include "fuzz.h"
#include "sym/kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[300];
    snprintf(path, sizeof path, "%s/kallsyms", fuzz_folder());
    fuzz_write("kallsyms", data, size);
    struct kernel *kernel = kernel_new(path);
    uint64_t offset,
        addresses[] = {UINT64_C(1) << 63, UINT64_C(0xffffffff81000000), UINT64_C(0xffffffff81000105), UINT64_MAX};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        const char *module, *name = kernel_lookup(kernel, addresses[i], &offset, &module);
        if ((name && strlen(name) > 4096) || strlen(module) > size + 8)
            abort();
    }
    kernel_free(kernel);
    return 0;
}
