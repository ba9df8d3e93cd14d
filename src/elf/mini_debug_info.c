/* MiniDebugInfo: the compressed symbol table in .gnu_debugdata. */
#include "elf/mini_debug_info.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/section.h"

enum {
    MAX_COMPRESSED = 1 << 26, /* gcc's cc1 has 1 MB */
    MAX_WHOLE = 1 << 28,
    MAX_MEMORY = 1 << 27, /* of the decoder; xz -9 needs 65 MB */
    CHUNK = 1 << 16,
};

/* Writes to FD what the SIZE bytes at INPUT become. */
static int uncompress(const uint8_t *input, size_t size, int fd)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    uint8_t *output = malloc(CHUNK);
    if (!output || lzma_stream_decoder(&stream, MAX_MEMORY, 0) != LZMA_OK) {
        free(output);
        return -ENOMEM;
    }
    stream.next_in = input;
    stream.avail_in = size;
    lzma_ret state = LZMA_OK;
    int rc = 0;
    while (!rc && state == LZMA_OK) {
        stream.next_out = output;
        stream.avail_out = CHUNK;
        state = lzma_code(&stream, LZMA_FINISH);
        size_t got = CHUNK - stream.avail_out;
        if (stream.total_out > MAX_WHOLE)
            rc = -EFBIG;
        else if (got && write(fd, output, got) != (ssize_t)got)
            rc = -ENOMEM;
    }
    if (!rc && state != LZMA_STREAM_END)
        rc = state == LZMA_MEM_ERROR ? -ENOMEM : state == LZMA_MEMLIMIT_ERROR ? -EFBIG : -ENODATA;
    lzma_end(&stream);
    free(output);
    return rc;
}

int mini_debug_info_open(const struct elf_file *elf)
{
    const Elf64_Shdr *section = section_find(elf, SHT_PROGBITS, ".gnu_debugdata");
    if (!section)
        return -ENOENT;
    if (section->sh_size > MAX_COMPRESSED || section->sh_size > (uint64_t)elf->stat.st_size)
        return -EFBIG;
    size_t size = (size_t)section->sh_size;
    uint8_t *input = malloc(size + 1);
    int fd = memfd_create("mini_debug_info", MFD_CLOEXEC);
    int rc = !input || fd < 0 ? -ENOMEM : elf_file_read(elf, section->sh_offset, input, size);
    if (!rc)
        rc = uncompress(input, size, fd);
    free(input);
    if (rc && fd >= 0)
        close(fd);
    return rc ? rc : fd;
}
