/* Reads the notes of USDT probes, .note.stapsdt. */
#include "probe/usdt/usdt_notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/notes.h"
#include "elf/section.h"

enum {
    NT_STAPSDT = 3,
    MAX_NOTES = 1 << 26, /* bytes: a program with 100,000 probes has a sixth of it */
    WORDS = 3,           /* before the strings: the probe's address, that of .stapsdt.base, the semaphore's */
};

/* The next string of BYTES; NULL where none ends there. */
static const char *next_string(struct bytes *bytes)
{
    const uint8_t *nul = memchr(bytes->at, '\0', bytes_left(bytes));
    return nul ? (const char *)bytes_take(bytes, (uint64_t)(nul - bytes->at) + 1) : NULL;
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

/* What DESCRIPTION says. BASE: where .stapsdt.base is now, 0: nowhere. */
static bool read_note(struct bytes *description, uint64_t base, struct usdt_note *note)
{
    uint64_t words[WORDS];
    for (int i = 0; i < WORDS; i++)
        words[i] = bytes_unsigned(description, 8);
    note->provider = description->failed ? NULL : next_string(description);
    note->name = note->provider ? next_string(description) : NULL;
    note->arguments = note->name ? next_string(description) : NULL;
    if (!note->arguments || !is_name(note->provider) || !is_name(note->name))
        return false;
    /* prelink moves sections, but knows nothing of addresses in notes. */
    uint64_t moved = base && words[1] ? base - words[1] : 0;
    note->address = words[0] + moved;
    note->semaphore = words[2] ? words[2] + moved : 0;
    return true;
}

int usdt_notes_visit(const struct elf_file *elf, usdt_note_visit *visit, void *context)
{
    const Elf64_Shdr *base = section_find(elf, SHT_NULL, ".stapsdt.base");
    size_t size = 0;
    uint8_t *contents = section_read(elf, section_find(elf, SHT_NOTE, ".note.stapsdt"), MAX_NOTES, &size);
    struct bytes notes = bytes_of(contents, size), description;
    int result = !contents && errno == ENOMEM ? -ENOMEM : 0;
    while (contents && !result && notes_next(&notes, "stapsdt", NT_STAPSDT, &description)) {
        struct usdt_note note;
        if (read_note(&description, base ? base->sh_addr : 0, &note))
            result = visit(&note, context);
    }
    free(contents);
    return result;
}
