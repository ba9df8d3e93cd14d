/*
 * What a file says of its debug file, and a debug file that may be its own: the input is both, cut where its first two
 * bytes say. The debug file is offered under every name that the search can ask for.
 */
#include "elf/debug_file.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t cut = (size_t)(data[0] << 8 | data[1]);
    data += 2;
    size -= 2;
    cut = cut < size ? cut : size;
    struct stat stat;
    struct elf_file elf;
    struct debug_file_search search = {.root = -1, .debug_root = fuzz_folder(), .module = "/x"};
    char beside[300];
    snprintf(beside, sizeof beside, "%s/program", fuzz_folder());
    search.module = beside;
    int fd = fuzz_file(data, cut, &stat);
    fuzz_write("debug", data + cut, size - cut);
    if (!elf_file_open(&elf, fd)) {
        int found = debug_file_open(&elf, &search);
        if (found >= 0)
            close(found);
    }
    elf_file_close(&elf);
    close(fd);
    return 0;
}
