/* What the loader is told of a file, as sections. Every address is the file's claim: it counts as far as the file goes.
 */
#include "elf/dynamic_sections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_ENTRIES = 4096,     /* of PT_DYNAMIC; real ones have some thirty */
    MAX_BUCKETS = 1 << 22,  /* of DT_GNU_HASH */
    MAX_CHAIN = 1 << 16,    /* symbols in one of them */
    MAX_NOTES = 1 << 20,    /* bytes of a segment of notes that are looked at for their owner */
    MAX_MADE = 64,          /* sections; segments of code and of notes are few */
    MAX_VERSIONS = 1 << 20, /* bytes of DT_VERDEF, whose size nothing tells */
};

/* The names, each at its offset. */
static const char names[] = "\0.dynsym\0.dynstr\0.dynamic\0.gnu.version\0.gnu.version_d\0.rela.dyn\0.rela.plt\0.note\0"
                            ".note.stapsdt\0.text";

enum { DYNSYM = 1, DYNSTR = 2 }; /* the numbers of these sections, which others refer to */

struct maker {
    const struct elf_file *elf;
    Elf64_Shdr sections[MAX_MADE];
    size_t count;
    uint64_t values[DT_NUM]; /* of the dynamic entries; 0: there is none */
    uint64_t gnu_hash, versym, verdef, verdef_count;
};

static uint32_t name_at(const char *name)
{
    size_t length = strlen(name) + 1;
    return (uint32_t)((const char *)memmem(names, sizeof names, name, length) - names);
}

/* The bytes that the file has from the ELF address ADDRESS on, as far as the segment goes; *OFFSET: where they lie. */
static uint64_t bytes_at(const struct elf_file *elf, uint64_t address, uint64_t *offset)
{
    const Elf64_Phdr *segment = elf_file_segment_at(elf, address, 0);
    if (!segment)
        return 0;
    uint64_t inside = address - segment->p_vaddr, file_size = (uint64_t)elf->stat.st_size;
    if (__builtin_add_overflow(segment->p_offset, inside, offset) || *offset >= file_size)
        return 0;
    uint64_t left = segment->p_filesz - inside;
    return left < file_size - *offset ? left : file_size - *offset;
}

static bool read_at(const struct elf_file *elf, uint64_t address, void *buffer, size_t size)
{
    uint64_t offset;
    return bytes_at(elf, address, &offset) >= size && !elf_file_read(elf, offset, buffer, size);
}

/* Adds the section NAME of TYPE, the SIZE bytes at ADDRESS; an empty one where the file does not have these. */
static Elf64_Shdr *add(struct maker *maker, const char *name, uint32_t type, uint64_t address, uint64_t size)
{
    static Elf64_Shdr none;
    if (maker->count == MAX_MADE)
        return &none;
    Elf64_Shdr *section = &maker->sections[maker->count++];
    uint64_t offset = 0;
    bool there = size && bytes_at(maker->elf, address, &offset) >= size;
    *section = (Elf64_Shdr){.sh_name = name_at(name),
                            .sh_type = there ? type : SHT_NULL,
                            .sh_flags = SHF_ALLOC,
                            .sh_addr = address,
                            .sh_offset = offset,
                            .sh_size = there ? size : 0};
    return section;
}

/* --- how many symbols there are --- */

/* Behind the last symbol of the bucket whose first is number SYMBOL: the last one's hash is odd. CHAINS: where the
 * hashes begin, that of symbol FIRST; 0: damaged. */
static uint64_t end_of_bucket(const struct elf_file *elf, uint64_t chains, uint32_t first, uint32_t symbol)
{
    uint32_t hash;
    for (unsigned steps = 0; steps < MAX_CHAIN; steps++, symbol++) {
        if (!read_at(elf, chains + (uint64_t)(symbol - first) * sizeof hash, &hash, sizeof hash))
            return 0;
        if (hash & 1)
            return (uint64_t)symbol + 1;
    }
    return 0;
}

/* By DT_GNU_HASH, which has all symbols from number HEAD.first on, sorted by their buckets. 0: damaged. */
static uint64_t count_by_gnu_hash(const struct elf_file *elf, uint64_t address)
{
    struct {
        uint32_t buckets, first, bloom_words, shift;
    } head;
    if (!read_at(elf, address, &head, sizeof head) || !head.buckets || head.buckets > MAX_BUCKETS)
        return 0;
    uint64_t buckets = address + sizeof head + (uint64_t)head.bloom_words * 8;
    size_t size = head.buckets * sizeof(uint32_t);
    uint64_t offset;
    if (bytes_at(elf, buckets, &offset) < size)
        return 0;
    uint32_t *firsts = malloc(size), last = 0;
    bool read = firsts && !elf_file_read(elf, offset, firsts, size);
    for (size_t i = 0; read && i < head.buckets; i++)
        last = firsts[i] > last ? firsts[i] : last;
    free(firsts);
    if (!read || (last && last < head.first))
        return 0;
    return last ? end_of_bucket(elf, buckets + size, head.first, last) : head.first;
}

static uint64_t count_symbols(const struct maker *maker)
{
    uint32_t head[2]; /* buckets, symbols */
    if (maker->values[DT_HASH] && read_at(maker->elf, maker->values[DT_HASH], head, sizeof head))
        return head[1];
    return maker->gnu_hash ? count_by_gnu_hash(maker->elf, maker->gnu_hash) : 0;
}

/* --- the sections --- */

static void read_dynamic(struct maker *maker, const Elf64_Phdr *segment)
{
    for (uint64_t i = 0; i < MAX_ENTRIES && (i + 1) * sizeof(Elf64_Dyn) <= segment->p_filesz; i++) {
        Elf64_Dyn entry;
        if (elf_file_read(maker->elf, segment->p_offset + i * sizeof entry, &entry, sizeof entry) ||
            entry.d_tag == DT_NULL)
            return;
        if (entry.d_tag == DT_GNU_HASH)
            maker->gnu_hash = entry.d_un.d_val;
        else if (entry.d_tag == DT_VERSYM)
            maker->versym = entry.d_un.d_val;
        else if (entry.d_tag == DT_VERDEF)
            maker->verdef = entry.d_un.d_val;
        else if (entry.d_tag == DT_VERDEFNUM)
            maker->verdef_count = entry.d_un.d_val;
        else if (entry.d_tag > 0 && entry.d_tag < DT_NUM)
            maker->values[entry.d_tag] = entry.d_un.d_val;
    }
}

/* Relocations of the SIZE bytes at ADDRESS. */
static void add_relocations(struct maker *maker, const char *name, uint64_t address, uint64_t size)
{
    Elf64_Shdr *section = add(maker, name, SHT_RELA, address, size);
    section->sh_link = DYNSYM;
    section->sh_entsize = sizeof(Elf64_Rela);
}

static void add_dynamic(struct maker *maker, const Elf64_Phdr *segment)
{
    read_dynamic(maker, segment);
    const uint64_t *values = maker->values;
    uint64_t symbols = count_symbols(maker), offset;
    symbols = symbols < UINT32_MAX ? symbols : 0;
    Elf64_Shdr *section =
        add(maker, ".dynsym", SHT_DYNSYM, values[DT_SYMTAB], values[DT_SYMTAB] ? symbols * sizeof(Elf64_Sym) : 0);
    section->sh_link = DYNSTR;
    section->sh_entsize = sizeof(Elf64_Sym);
    add(maker, ".dynstr", SHT_STRTAB, values[DT_STRTAB], values[DT_STRSZ]);
    section = add(maker, ".dynamic", SHT_DYNAMIC, segment->p_vaddr, segment->p_filesz);
    section->sh_link = DYNSTR;
    section->sh_entsize = sizeof(Elf64_Dyn);
    section = add(maker, ".gnu.version", SHT_GNU_versym, maker->versym, maker->versym ? symbols * 2 : 0);
    section->sh_link = DYNSYM;
    uint64_t versions = maker->verdef ? bytes_at(maker->elf, maker->verdef, &offset) : 0;
    section =
        add(maker, ".gnu.version_d", SHT_GNU_verdef, maker->verdef, versions < MAX_VERSIONS ? versions : MAX_VERSIONS);
    section->sh_link = DYNSTR;
    section->sh_info = maker->verdef_count < UINT16_MAX ? (uint32_t)maker->verdef_count : 0;
    add_relocations(maker, ".rela.dyn", values[DT_RELA], values[DT_RELASZ]);
    if (values[DT_PLTREL] == DT_RELA)
        add_relocations(maker, ".rela.plt", values[DT_JMPREL], values[DT_PLTRELSZ]);
}

/* A segment of notes: .note.stapsdt where it has some of that owner. */
static int add_notes(struct maker *maker, const Elf64_Phdr *segment)
{
    static const char owner[] = "stapsdt";
    size_t size = segment->p_filesz < MAX_NOTES ? (size_t)segment->p_filesz : MAX_NOTES;
    char *bytes = malloc(size + 1);
    if (!bytes)
        return -ENOMEM;
    bool found = !elf_file_read(maker->elf, segment->p_offset, bytes, size) && memmem(bytes, size, owner, sizeof owner);
    free(bytes);
    Elf64_Shdr *section = add(maker, found ? ".note.stapsdt" : ".note", SHT_NOTE, segment->p_vaddr, segment->p_filesz);
    *section = (Elf64_Shdr){.sh_name = section->sh_name,
                            .sh_type = SHT_NOTE,
                            .sh_addr = segment->p_vaddr,
                            .sh_offset = segment->p_offset,
                            .sh_size = segment->p_filesz};
    return 0;
}

int dynamic_sections_make(struct elf_file *elf)
{
    struct maker maker = {.elf = elf, .count = 1};
    const Elf64_Phdr *dynamic = elf_file_segment(elf, PT_DYNAMIC);
    int rc = 0;
    if (dynamic)
        add_dynamic(&maker, dynamic);
    for (size_t i = 0; i < elf->segment_count && !rc; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type == PT_NOTE && maker.count < MAX_MADE)
            rc = add_notes(&maker, segment);
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
            add(&maker, ".text", SHT_PROGBITS, segment->p_vaddr, segment->p_filesz)->sh_flags |= SHF_EXECINSTR;
    }
    if (rc || maker.count == 1)
        return rc;
    elf->sections = malloc(maker.count * sizeof *elf->sections);
    elf->section_names = malloc(sizeof names);
    if (!elf->sections || !elf->section_names)
        return -ENOMEM;
    memcpy(elf->sections, maker.sections, maker.count * sizeof *elf->sections);
    memcpy(elf->section_names, names, sizeof names);
    elf->section_count = maker.count;
    elf->section_names_size = sizeof names;
    elf->made_up = true;
    return 0;
}
