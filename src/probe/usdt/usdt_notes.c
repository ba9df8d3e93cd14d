/* Reads the notes of USDT probes, .note.stapsdt. */
#include "probe/usdt/usdt_notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    NT_STAPSDT = 3,
    MAX_NOTES = 1 << 26, /* bytes: a program with 100,000 probes has a sixth of it */
    WORDS = 3,           /* before the strings: the probe's address, that of .stapsdt.base, the semaphore's */
};

/* The string at *AT, which moves behind it; NULL where none ends before END. */
static const char *next_string(const char **at, const char *end)
{
    const char *start = *at, *nul = start < end ? memchr(start, '\0', (size_t)(end - start)) : NULL;
    if (!nul)
        return NULL;
    *at = nul + 1;
    return start;
}

static bool is_name(const char *name)
{
    if (!*name)
        return false;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        if (*c <= ' ' || *c >= 0x7f || *c == ':')
            return false;
    return true;
}

/* What the SIZE bytes at DESCRIPTION say. BASE: where .stapsdt.base is now, 0: nowhere. */
static bool read_note(const char *description, size_t size, uint64_t base, struct note *note)
{
    uint64_t words[WORDS];
    if (size < sizeof words)
        return false;
    memcpy(words, description, sizeof words);
    const char *at = description + sizeof words, *end = description + size;
    note->provider = next_string(&at, end);
    note->name = note->provider ? next_string(&at, end) : NULL;
    note->arguments = note->name ? next_string(&at, end) : NULL;
    if (!note->arguments || !is_name(note->provider) || !is_name(note->name))
        return false;
    /* prelink moves sections, but knows nothing of addresses in notes. */
    uint64_t moved = base && words[1] ? base - words[1] : 0;
    note->address = words[0] + moved;
    note->semaphore = words[2] ? words[2] + moved : 0;
    return true;
}

static size_t padded(size_t size)
{
    return (size + 3) & ~(size_t)3;
}

static int visit_section(const char *bytes, size_t size, uint64_t base, note_visit *visit, void *context)
{
    Elf64_Nhdr header;
    for (size_t at = 0; size - at >= sizeof header;) {
        memcpy(&header, bytes + at, sizeof header);
        at += sizeof header;
        if (header.n_namesz > size - at || padded(header.n_namesz) > size - at)
            return 0;
        const char *owner = bytes + at;
        at += padded(header.n_namesz);
        if (header.n_descsz > size - at)
            return 0;
        struct note note;
        int result = 0;
        if (header.n_type == NT_STAPSDT && header.n_namesz == sizeof "stapsdt" &&
            !memcmp(owner, "stapsdt", sizeof "stapsdt") && read_note(bytes + at, header.n_descsz, base, &note))
            result = visit(&note, context);
        if (result)
            return result;
        size_t description = padded(header.n_descsz);
        at += description < size - at ? description : size - at;
    }
    return 0;
}

int usdt_notes_visit(const struct elffile *elf, note_visit *visit, void *context)
{
    const Elf64_Shdr *base = elffile_section(elf, SHT_NULL, ".stapsdt.base");
    const Elf64_Shdr *section = elffile_section(elf, SHT_NOTE, ".note.stapsdt");
    if (!section || section->sh_size > MAX_NOTES || section->sh_size > (uint64_t)elf->stat.st_size)
        return 0;
    size_t size = (size_t)section->sh_size;
    char *bytes = malloc(size + 1);
    if (!bytes)
        return -ENOMEM;
    int result = elffile_read(elf, section->sh_offset, bytes, size);
    result = result < 0 ? 0 : visit_section(bytes, size, base ? base->sh_addr : 0, visit, context);
    free(bytes);
    return result;
}
