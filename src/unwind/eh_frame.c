/* Linux Standard Base Core 5.0, 10.6: "Exception Frames"; the header of PT_GNU_EH_FRAME is 10.6.2. */
#include "unwind/eh_frame.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/bytes.h"

enum {
    MAX_SIZE = 1 << 28, /* bytes of a section; a browser's has 30 MB */
    HEADER_SIZE = 64,   /* of PT_GNU_EH_FRAME's contents: four bytes and two pointers */
};

/* Makes room for one more of *ITEMS, which have SIZE bytes each. */
static int grow(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return 0;
    size_t larger = *capacity ? *capacity * 2 : 64;
    void *grown = realloc(*(void **)items, larger * size);
    if (!grown)
        return -ENOMEM;
    *(void **)items = grown;
    *capacity = larger;
    return 0;
}

/* Where in the file ADDRESS is, and how many bytes the file has from there on; false where no segment has it. */
static bool locate(const struct elffile *elf, uint64_t address, uint64_t *offset, uint64_t *size)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        uint64_t inside = address - segment->p_vaddr;
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr && inside < segment->p_filesz) {
            *offset = segment->p_offset + inside;
            *size = segment->p_filesz - inside;
            return true;
        }
    }
    return false;
}

/* The ELF address that the header of PT_GNU_EH_FRAME gives for .eh_frame; false without one. */
static bool header_pointer(const struct elffile *elf, uint64_t *address)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        uint8_t header[HEADER_SIZE];
        uint64_t size = segment->p_filesz < HEADER_SIZE ? segment->p_filesz : HEADER_SIZE;
        if (segment->p_type != PT_GNU_EH_FRAME || elffile_read(elf, segment->p_offset, header, size))
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

static int read_section(struct eh_frame *frames, const struct elffile *elf, struct error *err)
{
    const Elf64_Shdr *section = elffile_section(elf, SHT_NULL, ".eh_frame");
    uint64_t offset, size;
    if (section && section->sh_type != SHT_NOBITS && section->sh_size) {
        offset = section->sh_offset;
        size = section->sh_size;
        frames->address = section->sh_addr;
    } else if (header_pointer(elf, &frames->address)) {
        /* How long it is, nobody says: a record of length 0 ends it. */
        if (!locate(elf, frames->address, &offset, &size))
            return error_set(err, -ENODATA, "damaged: the header of .eh_frame points outside of the file");
    } else {
        return error_set(err, -ENODATA, "no call frame information: it has neither .eh_frame nor PT_GNU_EH_FRAME");
    }
    uint64_t file_size = (uint64_t)elf->stat.st_size;
    if (offset >= file_size)
        return error_set(err, -ENODATA, "damaged: .eh_frame lies outside of the file");
    if (size > file_size - offset)
        size = file_size - offset;
    if (size > MAX_SIZE)
        return error_set(err, -EFBIG, "its .eh_frame of %llu bytes is larger than is believable",
                         (unsigned long long)size);
    frames->bytes = malloc(size);
    if (!frames->bytes)
        return error_set(err, -ENOMEM, "out of memory");
    frames->size = size;
    int rc = elffile_read(elf, offset, frames->bytes, size);
    return rc ? error_set(err, rc, ".eh_frame cannot be read: %s", strerror(-rc)) : 0;
}

static uint64_t address_of(const struct eh_frame *frames, const uint8_t *at)
{
    return frames->address + (uint64_t)(at - frames->bytes);
}

/* The augmentation "z…" of CIE, whose data are the next bytes; false where it has a letter that nobody knows. */
static bool read_augmentation(const struct eh_frame *frames, struct cie *cie, const char *letters, struct bytes *bytes)
{
    uint64_t size = bytes_uleb(bytes);
    const uint8_t *data = bytes_take(bytes, size);
    if (!data)
        return false;
    struct bytes values = bytes_of(data, size);
    cie->has_data = true;
    for (; *letters; letters++) {
        switch (*letters) {
        case 'R':
            cie->pointer_encoding = (uint8_t)bytes_unsigned(&values, 1);
            break;
        case 'P': { /* a personality routine */
            uint8_t encoding = (uint8_t)bytes_unsigned(&values, 1);
            bytes_pointer(&values, encoding & 0x0f, address_of(frames, values.at), 0);
            break;
        }
        case 'L':
            bytes_unsigned(&values, 1);
            break;
        case 'S':
            cie->signal = true;
            break;
        case 'B': /* aarch64: return addresses are signed with key B */
        case 'G': /* aarch64: memory tagging */
            break;
        default:
            return false;
        }
    }
    return !values.failed;
}

static int read_cie(struct eh_frame *frames, uint32_t position, struct bytes bytes)
{
    struct cie cie = {.position = position, .pointer_encoding = DW_EH_PE_absptr};
    uint64_t version = bytes_unsigned(&bytes, 1);
    const char *letters = (const char *)bytes.at;
    while (bytes_unsigned(&bytes, 1))
        ;
    if (bytes.failed || (version != 1 && version != 3) || !strncmp(letters, "eh", 2)) {
        frames->damaged++; /* "eh": gcc 2 */
        return 0;
    }
    cie.code_align = bytes_uleb(&bytes);
    cie.data_align = bytes_sleb(&bytes);
    cie.return_register = version == 1 ? bytes_unsigned(&bytes, 1) : bytes_uleb(&bytes);
    bool good = *letters == 'z' ? read_augmentation(frames, &cie, letters + 1, &bytes) : !*letters;
    if (!good || bytes.failed) {
        frames->damaged++;
        return 0;
    }
    cie.code = bytes.at;
    cie.code_size = bytes_left(&bytes);
    if (grow(&frames->cies, frames->cie_count, &frames->cie_capacity, sizeof cie))
        return -ENOMEM;
    frames->cies[frames->cie_count++] = cie;
    return 0;
}

/* The CIE at POSITION of the section, or NULL. They all stand before their FDEs, by ascending position. */
static const struct cie *find_cie(const struct eh_frame *frames, uint64_t position)
{
    size_t low = 0, high = frames->cie_count;
    if (high && frames->cies[high - 1].position == position)
        return &frames->cies[high - 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (frames->cies[middle].position < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low < frames->cie_count && frames->cies[low].position == position ? &frames->cies[low] : NULL;
}

static int read_fde(struct eh_frame *frames, const struct cie *cie, struct bytes bytes)
{
    struct fde fde = {.cie = cie ? (uint32_t)(cie - frames->cies) : 0};
    uint64_t size = 0;
    if (cie) {
        fde.start = bytes_pointer(&bytes, cie->pointer_encoding, address_of(frames, bytes.at), 0);
        size = bytes_pointer(&bytes, cie->pointer_encoding & 0x0f, 0, 0);
        if (cie->has_data)
            bytes_take(&bytes, bytes_uleb(&bytes));
    }
    if (!cie || bytes.failed || size > UINT64_MAX - fde.start) {
        frames->damaged++;
        return 0;
    }
    if (!size) /* code that the linker has thrown away */
        return 0;
    fde.end = fde.start + size;
    fde.code = bytes.at;
    fde.code_size = (uint32_t)bytes_left(&bytes);
    if (grow(&frames->fdes, frames->fde_count, &frames->fde_capacity, sizeof fde))
        return -ENOMEM;
    frames->fdes[frames->fde_count++] = fde;
    return 0;
}

/* Takes the section apart, up to the record of length 0 or the first one that does not fit. */
static int read_records(struct eh_frame *frames)
{
    struct bytes section = bytes_of(frames->bytes, frames->size);
    int rc = 0;
    while (!rc && bytes_left(&section)) {
        uint32_t position = (uint32_t)(section.at - frames->bytes);
        uint64_t length = bytes_unsigned(&section, 4);
        if (!length)
            break;
        if (length == UINT32_MAX)
            length = bytes_unsigned(&section, 8);
        const uint8_t *body = bytes_take(&section, length);
        if (!body) {
            frames->damaged++;
            break;
        }
        struct bytes bytes = bytes_of(body, length);
        uint64_t back = bytes_unsigned(&bytes, 4); /* from here to the CIE; 0: this is one */
        if (bytes.failed)
            frames->damaged++;
        else if (!back)
            rc = read_cie(frames, position, bytes);
        else
            rc = read_fde(frames, find_cie(frames, (uint64_t)(body - frames->bytes) - back), bytes);
    }
    return rc;
}

/* Instructions lie in the order of the section, which makes the order exact. */
static int compare(const void *a, const void *b)
{
    const struct fde *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->code > y->code) - (x->code < y->code);
}

static void sort(struct eh_frame *frames)
{
    size_t i = 1;
    while (i < frames->fde_count && compare(&frames->fdes[i - 1], &frames->fdes[i]) < 0)
        i++;
    if (i < frames->fde_count)
        qsort(frames->fdes, frames->fde_count, sizeof *frames->fdes, compare);
}

int eh_frame_read(struct eh_frame *frames, const struct elffile *elf, struct error *err)
{
    *frames = (struct eh_frame){0};
    int rc = read_section(frames, elf, err);
    if (!rc && (rc = read_records(frames)))
        error_set(err, rc, "out of memory");
    if (rc)
        eh_frame_free(frames);
    else
        sort(frames);
    return rc;
}

void eh_frame_free(struct eh_frame *frames)
{
    free(frames->bytes);
    free(frames->cies);
    free(frames->fdes);
    *frames = (struct eh_frame){0};
}
