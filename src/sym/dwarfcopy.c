/* Copies of debug sections for libdw. */
#include "sym/dwarfcopy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/section.h"

#define MAX_DEBUG (UINT64_C(1) << 30) /* bytes of a file's debug sections, uncompressed; gcc's own cc1 has 300 MB */

/* The sections that libdw reads; old compressed ones are called .zdebug_info and so on. */
static bool is_wanted(const struct elf_file *elf, const Elf64_Shdr *section, bool with_locations)
{
    static const char *const names[] = {"info",   "abbrev",   "line", "line_str", "str",      "str_offsets",
                                        "ranges", "rnglists", "addr", "types",    "loclists", "loc"};
    size_t count = sizeof names / sizeof *names - (with_locations ? 0 : 2);
    if (section->sh_type == SHT_NOBITS)
        return false;
    const char *name = section_name(elf, section);
    size_t prefix = !strncmp(name, ".debug_", 7) ? 7 : !strncmp(name, ".zdebug_", 8) ? 8 : 0;
    for (size_t i = 0; prefix && i < count; i++)
        if (!strcmp(name + prefix, names[i]))
            return true;
    return false;
}

bool dwarfcopy_is_possible(const struct elf_file *elf)
{
    const Elf64_Shdr *section = section_find(elf, SHT_NULL, ".debug_info");
    if (!section)
        section = section_find(elf, SHT_NULL, ".zdebug_info");
    return section && is_wanted(elf, section, false);
}

/* How large SECTION of ELF, which begins at BYTES, is when it is uncompressed. */
static uint64_t whole_size(const struct elf_file *elf, const Elf64_Shdr *section, const unsigned char *bytes)
{
    uint64_t whole = 0;
    if (section_header(elf, section, bytes, (size_t)section->sh_size, &whole) == -ENODATA)
        return UINT64_MAX;
    return whole > section->sh_size ? whole : section->sh_size;
}

/* Copies what libdw needs of ELF into one file in memory: header, contents, names of sections, table of sections. */
static int copy_sections(struct dwarfcopy *copy, const struct elf_file *elf, bool with_locations, size_t *size)
{
    uint64_t total = sizeof(Elf64_Ehdr);
    size_t count = 2; /* the empty section and the one of the names */
    for (size_t i = 0; i < elf->section_count; i++) {
        if (!is_wanted(elf, &elf->sections[i], with_locations))
            continue;
        if (elf->sections[i].sh_size > MAX_DEBUG)
            return -EFBIG;
        total += (elf->sections[i].sh_size + 7) & ~UINT64_C(7);
        count++;
        if (total > MAX_DEBUG || count > 64)
            return -EFBIG;
    }
    if (count == 2)
        return -ENODATA;
    if (total > (uint64_t)elf->stat.st_size + sizeof(Elf64_Ehdr) + 8 * count) /* more than the file can have */
        return -ENODATA;
    uint64_t names = total, table = (names + elf->section_names_size + 8) & ~UINT64_C(7);
    *size = (size_t)(table + count * sizeof(Elf64_Shdr));
    copy->bytes = calloc(1, *size);
    if (!copy->bytes)
        return -ENOMEM;
    Elf64_Ehdr *header = (Elf64_Ehdr *)copy->bytes;
    Elf64_Shdr *sections = (Elf64_Shdr *)(copy->bytes + table);
    memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_ident[EI_CLASS] = ELFCLASS64;
    header->e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    header->e_ident[EI_VERSION] = header->e_version = EV_CURRENT;
    header->e_type = ET_DYN;
    header->e_machine = EM_NONE;
    header->e_ehsize = sizeof *header;
    header->e_shentsize = sizeof *sections;
    header->e_shoff = table;
    header->e_shnum = (Elf64_Half)count;
    header->e_shstrndx = 1;
    memcpy(copy->bytes + names, elf->section_names, elf->section_names_size);
    sections[1] =
        (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = names, .sh_size = elf->section_names_size, .sh_addralign = 1};
    uint64_t at = sizeof *header;
    size_t next = 2;
    for (size_t i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *from = &elf->sections[i];
        if (!is_wanted(elf, from, with_locations))
            continue;
        int rc = elf_file_read(elf, from->sh_offset, copy->bytes + at, (size_t)from->sh_size);
        if (rc)
            return rc;
        uint64_t uncompressed = whole_size(elf, from, copy->bytes + at);
        if (uncompressed > MAX_DEBUG - copy->whole)
            return -EFBIG;
        copy->whole += uncompressed;
        sections[next++] = (Elf64_Shdr){.sh_name = from->sh_name,
                                        .sh_type = SHT_PROGBITS,
                                        .sh_flags = from->sh_flags & SHF_COMPRESSED,
                                        .sh_offset = at,
                                        .sh_size = from->sh_size,
                                        .sh_addralign = 8};
        at += (from->sh_size + 7) & ~UINT64_C(7);
    }
    return 0;
}

/* Notes the sections that libdw has uncompressed as it opened COPY. */
static void find_sections(struct dwarfcopy *copy)
{
    const struct {
        const char *name;
        struct dwarfcost_section *section;
    } wanted[] = {
        {"info", &copy->cost.info}, {"types", &copy->cost.types},       {"abbrev", &copy->cost.abbrev},
        {"line", &copy->cost.line}, {"line_str", &copy->cost.line_str}, {"str", &copy->cost.str},
        {"loclists", &copy->lists}, {"loc", &copy->old_lists},          {"addr", &copy->addresses},
    };
    Elf_Scn *scn = NULL;
    while ((scn = elf_nextscn(copy->elf, scn))) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(scn, &header) ? elf_strptr(copy->elf, 1, header.sh_name) : NULL;
        Elf_Data *data = name ? elf_getdata(scn, NULL) : NULL;
        size_t prefix = !name ? 0 : !strncmp(name, ".debug_", 7) ? 7 : !strncmp(name, ".zdebug_", 8) ? 8 : 0;
        for (size_t i = 0; prefix && data && i < sizeof wanted / sizeof *wanted; i++)
            if (!strcmp(name + prefix, wanted[i].name) && !wanted[i].section->bytes)
                *wanted[i].section = (struct dwarfcost_section){data->d_buf, data->d_size};
    }
}

int dwarfcopy_open(struct dwarfcopy *copy, const struct elf_file *elf, bool with_locations)
{
    size_t size = 0;
    int rc = copy_sections(copy, elf, with_locations, &size);
    if (rc)
        return rc;
    elf_version(EV_CURRENT);
    copy->elf = elf_memory((char *)copy->bytes, size);
    if (copy->elf)
        copy->dwarf = dwarf_begin_elf(copy->elf, DWARF_C_READ, NULL);
    if (!copy->dwarf)
        return -ENODATA;
    find_sections(copy);
    return dwarfcost_abbreviations(&copy->cost) ? 0 : -EFBIG;
}

void dwarfcopy_close(struct dwarfcopy *copy)
{
    dwarf_end(copy->dwarf);
    elf_end(copy->elf);
    free(copy->bytes);
}
