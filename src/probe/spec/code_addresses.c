/* Finds the addresses of code that an ELF file's data has. */
#include "probe/spec/code_addresses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/array.h"

#ifndef DT_RELR
#define DT_RELRSZ 35
#define DT_RELR 36
#endif

enum {
    PAGE = 16 << 10,
    PAGES = 1024, /* that are kept */
    CHUNK = 1 << 20,
    SEEN_BITS = 14,
    EACH_BYTE = 4, /* addresses for each byte of a file: no file has as many, unless somebody wants to keep us busy */
};

/* Bytes of the file that are loaded and are no instructions. */
struct data_range {
    uint64_t start, size;
    uint64_t offset; /* in the file */
};

struct data_scan {
    const struct binary *binary;
    const struct elf_file *elf;
    code_address_visit *visit;
    void *context;
    uint8_t *pages; /* of the file; … */
    struct {
        uint64_t number; /* … of the first one 1, … */
        size_t size;
    } kept[PAGES];             /* … of which those are kept */
    uint64_t code, code_size;  /* addresses of code are from CODE on, so many */
    struct data_range *ranges; /* NULL: none */
    size_t range_count, range_capacity;
    uint64_t seen[1 << SEEN_BITS]; /* tables that were looked at last */
    uint64_t budget;               /* so many more addresses are looked at */
};

static bool is_code(const struct data_scan *scan, uint64_t address)
{
    return address - scan->code < scan->code_size && elf_file_segment_at(scan->elf, address, PF_X);
}

/* --- bytes by address --- */

/* Up to SIZE bytes at OFFSET of the file, within a page, into BUFFER: how many. */
static size_t read_in_page(struct data_scan *scan, uint64_t offset, void *buffer, size_t size)
{
    uint64_t number = offset / PAGE + 1;
    size_t slot = number % PAGES, inside = offset % PAGE;
    uint8_t *page = scan->pages + slot * PAGE;
    if (scan->kept[slot].number != number) {
        scan->kept[slot].number = number;
        scan->kept[slot].size = binary_read(scan->binary, offset - inside, page, PAGE);
    }
    size_t left = inside < scan->kept[slot].size ? scan->kept[slot].size - inside : 0;
    size = size < left ? size : left;
    memcpy(buffer, page + inside, size);
    return size;
}

/* Whether SIZE bytes are at OFFSET of the file: they are put into BUFFER. */
static bool read_bytes(struct data_scan *scan, uint64_t offset, void *buffer, size_t size)
{
    size_t done = 0;
    while (done < size) {
        size_t here = PAGE - (offset + done) % PAGE;
        size_t part =
            read_in_page(scan, offset + done, (uint8_t *)buffer + done, size - done < here ? size - done : here);
        if (!part)
            return false;
        done += part;
    }
    return true;
}

/* The same of those at ADDRESS. */
static bool read_at(struct data_scan *scan, uint64_t address, void *buffer, size_t size)
{
    const Elf64_Phdr *segment = elf_file_segment_at(scan->elf, address, PF_R);
    return segment && size <= segment->p_filesz - (address - segment->p_vaddr) &&
           read_bytes(scan, segment->p_offset + (address - segment->p_vaddr), buffer, size);
}

/* --- which of them are data --- */

static int add_range(struct data_scan *scan, uint64_t start, uint64_t size, uint64_t offset)
{
    if (!array_room(&scan->ranges, scan->range_count, &scan->range_capacity, sizeof *scan->ranges))
        return -ENOMEM;
    scan->ranges[scan->range_count++] = (struct data_range){start, size, offset};
    return 0;
}

/* What lies in segments that are not executed, and in the sections of others that are not. */
static int find_ranges(struct data_scan *scan)
{
    const struct elf_file *elf = scan->elf;
    int result = 0;
    for (size_t i = 0; i < elf->segment_count && result == 0; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_X) && segment->p_filesz)
            result = add_range(scan, segment->p_vaddr, segment->p_filesz, segment->p_offset);
    }
    for (size_t i = 0; i < elf->section_count && result == 0; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (section->sh_flags & SHF_ALLOC && !(section->sh_flags & SHF_EXECINSTR) && section->sh_type == SHT_PROGBITS &&
            section->sh_size && is_code(scan, section->sh_addr))
            result = add_range(scan, section->sh_addr, section->sh_size, section->sh_offset);
    }
    return result;
}

/* The data that ADDRESS is in; NULL: it is in none. */
static const struct data_range *data_at(const struct data_scan *scan, uint64_t address)
{
    for (size_t i = 0; i < scan->range_count; i++)
        if (address - scan->ranges[i].start < scan->ranges[i].size)
            return &scan->ranges[i];
    return NULL;
}

/* From the lowest to behind the highest address of code. */
static void find_code(struct data_scan *scan)
{
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t i = 0; i < scan->elf->segment_count; i++) {
        const Elf64_Phdr *segment = &scan->elf->segments[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        low = segment->p_vaddr < low ? segment->p_vaddr : low;
        high = segment->p_vaddr + segment->p_filesz > high ? segment->p_vaddr + segment->p_filesz : high;
    }
    scan->code = low;
    scan->code_size = high > low ? high - low : 0;
}

/* --- what the loader fills in --- */

static void note(struct data_scan *scan, uint64_t address)
{
    scan->budget -= scan->budget > 0;
    if (is_code(scan, address))
        scan->visit(address, scan->context);
}

static void note_relocations(struct data_scan *scan, uint64_t table, uint64_t size, uint64_t symbols)
{
    Elf64_Rela relocation;
    for (uint64_t at = 0; at + sizeof relocation <= size && scan->budget; at += sizeof relocation) {
        Elf64_Sym symbol;
        if (!read_at(scan, table + at, &relocation, sizeof relocation))
            return;
        uint64_t addend = (uint64_t)relocation.r_addend;
        if (ELF64_R_TYPE(relocation.r_info) == arch_cpu.relocation_relative)
            note(scan, addend);
        else if (ELF64_R_TYPE(relocation.r_info) == arch_cpu.relocation_address && symbols &&
                 read_at(scan, symbols + ELF64_R_SYM(relocation.r_info) * sizeof symbol, &symbol, sizeof symbol) &&
                 symbol.st_shndx != SHN_UNDEF)
            note(scan, symbol.st_value + addend);
    }
}

/* The address in the word at ADDRESS, which the loader moves. */
static void note_word(struct data_scan *scan, uint64_t address)
{
    uint64_t word;
    if (read_at(scan, address, &word, sizeof word))
        note(scan, word);
}

/* DT_RELR: an address of a word, then bits, each for one of the 63 words behind the last. */
static void note_packed_relocations(struct data_scan *scan, uint64_t table, uint64_t size)
{
    uint64_t entry, next = 0;
    for (uint64_t at = 0; at + sizeof entry <= size && scan->budget && read_at(scan, table + at, &entry, sizeof entry);
         at += sizeof entry) {
        if (!(entry & 1)) {
            note_word(scan, entry);
            next = entry + 8;
            continue;
        }
        for (unsigned i = 0; i < 63; i++)
            if (entry >> (i + 1) & 1)
                note_word(scan, next + 8 * (uint64_t)i);
        next += UINT64_C(63) * 8;
    }
}

static void follow_relocations(struct data_scan *scan)
{
    const Elf64_Phdr *dynamic = elf_file_segment(scan->elf, PT_DYNAMIC);
    Elf64_Dyn entry;
    uint64_t values[DT_RELR + 1] = {0};
    for (uint64_t at = 0; dynamic && at + sizeof entry <= dynamic->p_filesz; at += sizeof entry) {
        if (!read_at(scan, dynamic->p_vaddr + at, &entry, sizeof entry) || entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag > 0 && entry.d_tag <= DT_RELR)
            values[entry.d_tag] = entry.d_un.d_val;
    }
    note_relocations(scan, values[DT_RELA], values[DT_RELASZ], values[DT_SYMTAB]);
    note_packed_relocations(scan, values[DT_RELR], values[DT_RELRSZ]);
}

/* --- words of a program that is not moved --- */

static void note_words(struct data_scan *scan, uint8_t *chunk, const struct data_range *range)
{
    for (uint64_t done = 0, word; done < range->size;) {
        size_t wanted = range->size - done < CHUNK ? (size_t)(range->size - done) : CHUNK;
        size_t size = binary_read(scan->binary, range->offset + done, chunk, wanted);
        for (size_t at = 0; at + sizeof word <= size; at++) { /* a packed structure may have one anywhere */
            memcpy(&word, chunk + at, sizeof word);
            if (word - scan->code < scan->code_size)
                note(scan, word);
        }
        if (size < CHUNK)
            return;
        done += CHUNK - sizeof word + 1;
    }
}

/* --- what instructions mention --- */

/* code_address_visit: an instruction mentions ADDRESS, where a table of distances from there may lie. */
static void follow_place(uint64_t address, void *context)
{
    struct data_scan *scan = context;
    uint64_t *seen = &scan->seen[address * 0x9e3779b97f4a7c15 >> (64 - SEEN_BITS)]; /* a hash */
    int32_t distance;
    if (*seen == address)
        return;
    *seen = address;
    const struct data_range *range = data_at(scan, address);
    if (!range)
        note(scan, address);
    uint64_t inside = range ? address - range->start : 0;
    for (uint64_t at = inside; range && at + sizeof distance <= range->size && scan->budget; at += sizeof distance) {
        if (!read_bytes(scan, range->offset + at, &distance, sizeof distance))
            return;
        uint64_t target = address + (uint64_t)(int64_t)distance;
        if (!is_code(scan, target))
            return;
        note(scan, target);
    }
}

static void follow_places(struct data_scan *scan, const struct arch_code *arch, uint8_t *chunk)
{
    enum { LONGEST = 6 }; /* bytes that tell one */
    for (size_t i = 0; i < scan->elf->segment_count && arch->places; i++) {
        const Elf64_Phdr *segment = &scan->elf->segments[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        for (uint64_t done = 0; done < segment->p_filesz;) {
            size_t wanted = segment->p_filesz - done < CHUNK ? (size_t)(segment->p_filesz - done) : CHUNK;
            size_t size = binary_read(scan->binary, segment->p_offset + done, chunk, wanted);
            arch->places(chunk, size, segment->p_vaddr + done, follow_place, scan);
            if (size < CHUNK)
                break;
            done += CHUNK - LONGEST + 1; /* one may lie across the end */
        }
    }
}

int code_addresses_visit(const struct binary *binary, const struct arch_code *arch, code_address_visit *visit,
                         void *context)
{
    struct data_scan *scan = calloc(1, sizeof *scan);
    uint8_t *chunk = malloc(CHUNK);
    int result = -ENOMEM;
    if (!scan || !chunk)
        goto out;
    scan->binary = binary;
    scan->elf = binary_elf(binary);
    scan->visit = visit;
    scan->context = context;
    scan->budget = EACH_BYTE * (uint64_t)scan->elf->stat.st_size;
    scan->pages = malloc((size_t)PAGES * PAGE);
    find_code(scan);
    result = scan->pages ? find_ranges(scan) : -ENOMEM;
    if (result < 0)
        goto out;
    follow_relocations(scan);
    for (size_t i = 0; i < scan->range_count && scan->elf->fixed; i++)
        note_words(scan, chunk, &scan->ranges[i]);
    follow_places(scan, arch, chunk);
    result = scan->budget ? 0 : -E2BIG;
out:
    if (scan) {
        free(scan->pages);
        free(scan->ranges);
    }
    free(scan);
    free(chunk);
    return result;
}
