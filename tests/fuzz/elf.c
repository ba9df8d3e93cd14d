/* Any ELF file that a process may have mapped: headers, symbol tables, notes, MiniDebugInfo, stubs, debuglink. */
#include "fuzz.h"
#include "sym/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct debug_file_search search = {
        .root = -1, .debug_root = "/nonexistent", .module = "/nonexistent/x"};
    struct stat stat;
    int fd = fuzz_file(data, size, &stat);
    struct image *image = image_new(fd, &stat, &search);
    for (uint64_t at = 0; image && at < size + 64; at += size / 64 + 1) {
        uint64_t offset;
        const char *name = image_lookup(image, at, at & 1, &offset, NULL);
        if (name && strlen(name) > 4096 + 16)
            abort();
    }
    image_free(image);
    return 0;
}
