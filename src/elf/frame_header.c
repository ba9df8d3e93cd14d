/* Linux Standard Base Core 5.0, 10.6: "Exception Frames"; 10.6.2 has the header, 10.6.1 the CIE and the FDE. */
#include "elf/frame_header.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "elf/bytes.h"

enum {
    HEAD_SIZE = 12,     /* version, three encodings, .eh_frame's address and the number of rows, in 4 bytes each */
    MAX_ROWS = 1 << 22, /* a browser has half a million */
    RECORD_SIZE = 64,   /* bytes of a CIE or an FDE that are looked at */
};

int frame_header_read(struct frame_header *header, const struct elf_file *elf)
{
    *header = (struct frame_header){.elf = elf};
    const Elf64_Phdr *segment = elf_file_segment(elf, PT_GNU_EH_FRAME);
    uint8_t head[HEAD_SIZE];
    if (!segment || segment->p_filesz < sizeof head || elf_file_read(elf, segment->p_offset, head, sizeof head))
        return -ENODATA;
    uint32_t count;
    memcpy(&count, head + 8, sizeof count);
    /* All linkers write it so; .eh_frame's own address, in whichever four bytes, is not needed. */
    if (head[0] != 1 || (head[1] & 0x0f & ~8) != DW_EH_PE_udata4 || head[2] != DW_EH_PE_udata4 ||
        head[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4) || !count || count > MAX_ROWS ||
        count > (segment->p_filesz - sizeof head) / sizeof *header->rows)
        return -ENODATA;
    header->address = segment->p_vaddr;
    header->rows = malloc(count * sizeof *header->rows);
    if (!header->rows)
        return -ENOMEM;
    int rc = elf_file_read(elf, segment->p_offset + sizeof head, header->rows, count * sizeof *header->rows);
    if (rc)
        frame_header_free(header);
    else
        header->count = count;
    return rc;
}

void frame_header_free(struct frame_header *header)
{
    free(header->rows);
    header->rows = NULL;
    header->count = 0;
}

/* The record at the ELF address ADDRESS, behind its length, in BUFFER; of nothing where the file does not have it. */
static struct bytes read_record(const struct elf_file *elf, uint64_t address, uint8_t buffer[static RECORD_SIZE])
{
    uint32_t length;
    const Elf64_Phdr *segment = elf_file_segment_at(elf, address, 0);
    uint64_t offset = segment ? segment->p_offset + (address - segment->p_vaddr) : 0;
    if (!segment || elf_file_read(elf, offset, &length, sizeof length) || !length || length == UINT32_MAX)
        return bytes_of(buffer, 0);
    size_t size = length < RECORD_SIZE ? length : RECORD_SIZE;
    return bytes_of(buffer, elf_file_read(elf, offset + sizeof length, buffer, size) ? 0 : size);
}

/* How the FDEs of the CIE at the ELF address ADDRESS have their addresses; POINTER_OMITTED: not known. */
static uint8_t encoding_of(const struct elf_file *elf, uint64_t address)
{
    uint8_t buffer[RECORD_SIZE];
    struct bytes bytes = read_record(elf, address, buffer);
    uint64_t is_fde = bytes_unsigned(&bytes, 4), version = bytes_unsigned(&bytes, 1);
    const char *letters = (const char *)bytes.at;
    while (bytes_unsigned(&bytes, 1))
        ;
    bytes_uleb(&bytes); /* the alignments of code … */
    bytes_sleb(&bytes); /* … and data */
    if (version == 1)
        bytes_unsigned(&bytes, 1); /* the return address */
    else
        bytes_uleb(&bytes);
    if (bytes.failed || is_fde)
        return POINTER_OMITTED;
    uint8_t encoding = DW_EH_PE_absptr;
    for (bytes_uleb(&bytes); *letters; letters++) {
        if (*letters == 'R')
            encoding = (uint8_t)bytes_unsigned(&bytes, 1);
        else if (*letters == 'L')
            bytes_unsigned(&bytes, 1);
        else if (*letters == 'P')
            bytes_pointer(&bytes, bytes_unsigned(&bytes, 1) & 0x0f, 0, 0);
    }
    return bytes.failed ? POINTER_OMITTED : encoding;
}

/* The bytes of code that the FDE at the ELF address ADDRESS describes; 0: not known. */
static uint64_t size_of(const struct elf_file *elf, uint64_t address)
{
    uint8_t buffer[RECORD_SIZE];
    struct bytes bytes = read_record(elf, address, buffer);
    uint64_t back = bytes_unsigned(&bytes, 4); /* counted from where it stands */
    uint8_t encoding = back ? encoding_of(elf, address + 4 - back) : POINTER_OMITTED;
    if (bytes.failed || encoding == POINTER_OMITTED)
        return 0;
    bytes_pointer(&bytes, encoding & 0x0f, 0, 0); /* the start, which the table has, too */
    uint64_t size = bytes_pointer(&bytes, encoding & 0x0f, 0, 0);
    return bytes.failed ? 0 : size;
}

static uint64_t start_of(const struct frame_header *header, size_t row)
{
    return header->address + (uint64_t)(int64_t)header->rows[row].start;
}

/* How many start at ADDRESS or before it. */
static size_t rows_up_to(const struct frame_header *header, uint64_t address)
{
    size_t low = 0, high = header->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (start_of(header, middle) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t frame_header_start(const struct frame_header *header, uint64_t address, uint64_t *end)
{
    size_t rows = rows_up_to(header, address);
    if (!rows)
        return UINT64_MAX;
    uint64_t start = start_of(header, rows - 1);
    uint64_t size = size_of(header->elf, header->address + (uint64_t)(int64_t)header->rows[rows - 1].fde);
    *end = start + size;
    return address - start < size ? start : UINT64_MAX;
}

uint64_t frame_header_end(const struct frame_header *header, uint64_t address)
{
    size_t rows = rows_up_to(header, address);
    uint64_t next = rows < header->count ? start_of(header, rows) : UINT64_MAX, end;
    return frame_header_start(header, address, &end) != UINT64_MAX && end < next ? end : next;
}
