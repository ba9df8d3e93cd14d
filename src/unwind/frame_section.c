/* Linux Standard Base Core 5.0, 10.6: "Exception Frames"; the header of PT_GNU_EH_FRAME is 10.6.2. */
#include "unwind/frame_section.h"

#include <errno.h>
#include <string.h>

#include "elf/bytes.h"
#include "elf/section.h"

enum {
    MAX_SIZE = 1 << 28, /* bytes of a section; a browser's has 30 MB */
    HEADER_SIZE = 64,   /* of PT_GNU_EH_FRAME's contents: four bytes and two pointers */
};

/* The ELF address that the header of PT_GNU_EH_FRAME gives for .eh_frame; false without one. */
static bool header_pointer(const struct elf_file *elf, uint64_t *address)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        uint8_t header[HEADER_SIZE];
        uint64_t size = segment->p_filesz < HEADER_SIZE ? segment->p_filesz : HEADER_SIZE;
        if (segment->p_type != PT_GNU_EH_FRAME || elf_file_read(elf, segment->p_offset, header, size))
            continue;
        struct bytes bytes = bytes_of(header, size);
        uint64_t version = bytes_unsigned(&bytes, 1), encoding = bytes_unsigned(&bytes, 1);
        bytes_unsigned(&bytes, 2); /* the encodings of the search table, which is not used: it may be left out */
        *address = bytes_pointer(&bytes, (uint8_t)encoding, segment->p_vaddr + 4, segment->p_vaddr);
        if (version == 1 && !bytes.failed)
            return true;
    }
    return false;
}

/* Reads what is at WHERE, which is called NAME. */
static int read_contents(struct frame_section *section, const struct elf_file *elf, const Elf64_Shdr *where,
                         const char *name, struct error *err)
{
    int rc = section_uncompress(elf, where, MAX_SIZE, &section->bytes, &section->size);
    if (rc == -ENODATA)
        return error_set(err, rc, "damaged: its %s lies outside of the file, or cannot be uncompressed", name);
    if (rc == -EFBIG)
        return error_set(err, rc, "its %s of %llu bytes is larger than is believable", name,
                         (unsigned long long)where->sh_size);
    return rc ? error_set(err, rc, "%s cannot be read: %s", name, error_reason(rc)) : 0;
}

int frame_section_read(struct frame_section *section, const struct elf_file *elf, struct error *err)
{
    *section = (struct frame_section){0};
    const Elf64_Shdr *found = section_find(elf, SHT_NULL, ".eh_frame");
    Elf64_Shdr where = {.sh_type = SHT_PROGBITS, .sh_name = UINT32_MAX}; /* no name: not compressed */
    if (found && found->sh_type != SHT_NOBITS && found->sh_size) {
        where.sh_offset = found->sh_offset;
        where.sh_size = found->sh_size;
        section->address = found->sh_addr;
    } else if (header_pointer(elf, &section->address)) {
        /* How long it is, nobody says: a record of length 0 ends it. */
        const Elf64_Phdr *segment = elf_file_segment_at(elf, section->address, 0);
        if (!segment)
            return error_set(err, -ENODATA, "damaged: the header of .eh_frame points outside of the file");
        where.sh_offset = segment->p_offset + (section->address - segment->p_vaddr);
        where.sh_size = segment->p_filesz - (section->address - segment->p_vaddr);
    } else {
        return error_set(err, -ENODATA,
                         "no call frame information: it has neither .eh_frame nor PT_GNU_EH_FRAME nor .debug_frame");
    }
    return read_contents(section, elf, &where, ".eh_frame", err);
}

int frame_section_read_debug(struct frame_section *section, const struct elf_file *elf, struct error *err)
{
    *section = (struct frame_section){.debug = true};
    const Elf64_Shdr *found = section_find(elf, SHT_PROGBITS, ".debug_frame");
    if (!found)
        found = section_find(elf, SHT_PROGBITS, ".zdebug_frame");
    if (!found || !found->sh_size)
        return error_set(err, -ENODATA, "no .debug_frame");
    section->address = found->sh_addr;
    return read_contents(section, elf, found, ".debug_frame", err);
}
