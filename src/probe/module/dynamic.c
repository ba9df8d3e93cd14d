/* Reads what an ELF file says to the dynamic loader. */
#include "probe/module/dynamic.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/section.h"

enum { MAX_NEEDED = 1024 };

static int read_interpreter(const struct binary *binary, struct dynamic *dynamic)
{
    const Elf64_Phdr *segment = elf_file_segment(binary_elf(binary), PT_INTERP);
    char path[PATH_MAX];
    if (!segment || segment->p_filesz == 0 || segment->p_filesz > sizeof path)
        return 0;
    size_t n = binary_read(binary, segment->p_offset, path, (size_t)segment->p_filesz);
    if (!n || path[n - 1] != '\0' || path[0] != '/')
        return 0;
    dynamic->interpreter = strdup(path);
    return dynamic->interpreter ? 0 : -ENOMEM;
}

static int read_entry(const Elf64_Dyn *entry, const char *names, size_t size, struct dynamic *dynamic)
{
    char **where;
    if (entry->d_un.d_val >= size)
        return 0;
    switch (entry->d_tag) {
    case DT_NEEDED:
        return dynamic->needed_count == MAX_NEEDED
                   ? 0
                   : array_add_string(&dynamic->needed, &dynamic->needed_count, names + entry->d_un.d_val);
    case DT_RPATH:
        where = &dynamic->rpath;
        break;
    case DT_RUNPATH:
        where = &dynamic->runpath;
        break;
    default:
        return 0;
    }
    free(*where);
    *where = strdup(names + entry->d_un.d_val);
    return *where ? 0 : -ENOMEM;
}

int dynamic_read(const struct binary *binary, struct dynamic *dynamic)
{
    memset(dynamic, 0, sizeof *dynamic);
    int result = read_interpreter(binary, dynamic);
    const struct elf_file *elf = binary_elf(binary);
    const Elf64_Shdr *section = section_find(elf, SHT_DYNAMIC, NULL);
    if (result || !section || section->sh_link >= elf->section_count)
        return result;
    size_t size, names_size;
    Elf64_Dyn *entries = section_read(elf, section, SECTION_MAX, &size);
    char *names = entries ? section_read(elf, &elf->sections[section->sh_link], SECTION_MAX, &names_size) : NULL;
    if (!names && errno == ENOMEM)
        result = -ENOMEM;
    for (size_t i = 0; names && result == 0 && i < size / sizeof *entries && entries[i].d_tag != DT_NULL; i++)
        result = read_entry(&entries[i], names, names_size, dynamic);
    free(entries);
    free(names);
    if (result < 0)
        dynamic_free(dynamic);
    return result;
}

void dynamic_free(struct dynamic *dynamic)
{
    free(dynamic->interpreter);
    array_free_strings(dynamic->needed, dynamic->needed_count);
    free(dynamic->rpath);
    free(dynamic->runpath);
    memset(dynamic, 0, sizeof *dynamic);
}

/* Length of the word $ORIGIN or ${ORIGIN} at TEXT, or 0. */
static size_t origin_word(const char *text, size_t length)
{
    static const char *const words[] = {"${ORIGIN}", "$ORIGIN"};
    for (size_t i = 0; i < 2; i++)
        if (length >= strlen(words[i]) && memcmp(text, words[i], strlen(words[i])) == 0)
            return strlen(words[i]);
    return 0;
}

bool dynamic_expand(const char *path, size_t length, const char *origin, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        const char *piece = path + i;
        size_t piece_length = 1;
        if (path[i] == '$') {
            size_t word = origin_word(path + i, length - i);
            const char *slash = word && origin ? strrchr(origin, '/') : NULL;
            if (!slash)
                return false;
            piece = origin;
            piece_length = (size_t)(slash - origin);
            i += word;
        } else {
            i++;
        }
        if (used + piece_length >= size)
            return false;
        memcpy(out + used, piece, piece_length);
        used += piece_length;
    }
    out[used] = '\0';
    return used > 0;
}
