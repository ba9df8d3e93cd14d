/* Reads notes and finds the build id among them. */
#include "elf/notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/section.h"

enum { MAX_NOTES = 1 << 16 }; /* bytes of one section or segment that are searched for the build id */

/* Names and descriptions are padded to 4 bytes. 64-bit sums of 32-bit sizes cannot wrap. */
static uint64_t padded(uint64_t size)
{
    return (size + 3) & ~UINT64_C(3);
}

bool notes_next(struct bytes *notes, const char *owner, uint32_t type, struct bytes *description)
{
    Elf64_Nhdr header;
    while (bytes_left(notes) >= sizeof header) {
        memcpy(&header, bytes_take(notes, sizeof header), sizeof header);
        const uint8_t *name = bytes_take(notes, padded(header.n_namesz));
        const uint8_t *text = bytes_take(notes, header.n_descsz);
        if (!name || !text)
            return false;
        uint64_t padding = padded(header.n_descsz) - header.n_descsz; /* the last note may lack it */
        bytes_take(notes, padding < bytes_left(notes) ? padding : bytes_left(notes));
        if (header.n_type == type && header.n_namesz == strlen(owner) + 1 && !memcmp(name, owner, header.n_namesz)) {
            *description = bytes_of(text, header.n_descsz);
            return true;
        }
    }
    return false;
}

static int find_build_id(const struct elf_file *elf, const Elf64_Shdr *section, uint8_t *id)
{
    struct bytes description;
    size_t size = 0;
    uint8_t *contents = section_read(elf, section, MAX_NOTES, &size);
    int length = !contents && errno == ENOMEM ? -ENOMEM : 0;
    struct bytes notes = bytes_of(contents, size);
    while (contents && !length && notes_next(&notes, "GNU", NT_GNU_BUILD_ID, &description))
        if (bytes_left(&description) >= 2 && bytes_left(&description) <= BUILD_ID_MAX) {
            length = (int)bytes_left(&description);
            memcpy(id, description.at, (size_t)length);
        }
    free(contents);
    return length;
}

int notes_build_id(const struct elf_file *elf, uint8_t id[static BUILD_ID_MAX])
{
    int length = 0;
    /* Sections first: the segments of a separate debug file keep the offsets of the file that it was made from. */
    for (size_t i = 0; i < elf->section_count && !length; i++)
        if (elf->sections[i].sh_type == SHT_NOTE)
            length = find_build_id(elf, &elf->sections[i], id);
    for (size_t i = 0; i < elf->segment_count && !length; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type == PT_NOTE)
            length = find_build_id(
                elf, &(Elf64_Shdr){.sh_type = SHT_NOTE, .sh_offset = segment->p_offset, .sh_size = segment->p_filesz},
                id);
    }
    return length;
}
