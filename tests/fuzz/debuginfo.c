/* DWARF in any ELF file, as libdw reads it from the copy that it is given. */
#include "sym/debuginfo.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stat stat;
    struct elffile elf;
    struct debuginfo *debuginfo;
    struct place places[16];
    int fd = fuzz_file(data, size, &stat);
    if (!elffile_open(&elf, fd) && !debuginfo_open(&debuginfo, &elf, NULL)) {
        for (uint64_t at = 0x1000; at < 0x1400; at += 13)
            debuginfo_lookup(debuginfo, at, places, 16);
        debuginfo_free(debuginfo);
    }
    elffile_close(&elf);
    close(fd);
    return 0;
}
