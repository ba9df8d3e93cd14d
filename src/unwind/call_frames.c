/* Linux Standard Base Core 5.0, 10.6: "Exception Frames"; DWARF 5, 6.4.1: "Structure of Call Frame Information". */
#include "unwind/call_frames.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "elf/bytes.h"

static uint64_t address_of(const struct frame_section *section, const uint8_t *at)
{
    return section->address + (uint64_t)(at - section->bytes);
}

/* The augmentation "z…" of CIE, whose data are the next bytes; false where it has a letter that nobody knows. */
static bool read_augmentation(const struct frame_section *section, struct cie *cie, const char *letters,
                              struct bytes *bytes)
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
            bytes_pointer(&values, encoding & 0x0f, address_of(section, values.at), 0);
            break;
        }
        case 'L':
            cie->handlers_encoding = (uint8_t)bytes_unsigned(&values, 1);
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

/* True if VERSION is one of the format. Version 4 of .debug_frame tells the sizes of addresses. */
static bool read_version(const struct frame_section *section, uint64_t version, struct bytes *bytes)
{
    if (!section->debug || version != 4)
        return version == 1 || version == 3;
    uint64_t address = bytes_unsigned(bytes, 1), segment = bytes_unsigned(bytes, 1);
    return address == 8 && !segment;
}

/* The CIE at POSITION of the last section. */
static int read_cie(struct call_frames *frames, uint64_t position, struct bytes bytes)
{
    uint8_t number = (uint8_t)(frames->section_count - 1);
    const struct frame_section *section = &frames->sections[number];
    struct cie cie = {.arch = frames->arch,
                      .position = position,
                      .section = number,
                      .pointer_encoding = DW_EH_PE_absptr,
                      .handlers_encoding = POINTER_OMITTED};
    uint64_t version = bytes_unsigned(&bytes, 1);
    const char *letters = (const char *)bytes.at;
    while (bytes_unsigned(&bytes, 1))
        ;
    if (bytes.failed || !read_version(section, version, &bytes) || !strncmp(letters, "eh", 2)) {
        frames->damaged++; /* "eh": gcc 2 */
        return 0;
    }
    cie.code_align = bytes_uleb(&bytes);
    cie.data_align = bytes_sleb(&bytes);
    cie.return_register = version == 1 ? bytes_unsigned(&bytes, 1) : bytes_uleb(&bytes);
    bool good = *letters == 'z' ? read_augmentation(section, &cie, letters + 1, &bytes) : !*letters;
    if (!good || bytes.failed) {
        frames->damaged++;
        return 0;
    }
    cie.code = bytes.at;
    cie.code_size = bytes_left(&bytes);
    if (!array_room(&frames->cies, frames->cie_count, &frames->cie_capacity, sizeof cie))
        return -ENOMEM;
    frames->cies[frames->cie_count++] = cie;
    return 0;
}

/* The CIE at POSITION of the last section, whose CIEs begin with number FIRST, or NULL. They all stand before their
 * FDEs. */
static const struct cie *find_cie(const struct call_frames *frames, size_t first, uint64_t position)
{
    size_t count = frames->cie_count - first;
    const struct cie *cies = count ? frames->cies + first : NULL;
    if (count && cies[count - 1].position != position)
        count = array_up_to(cies, count, sizeof *cies, position);
    return count && cies[count - 1].position == position ? &cies[count - 1] : NULL;
}

/* True if a linker has thrown away the code of this FDE: it leaves 0 or 1 as its start, lld also -1 or -2. */
static bool is_discarded(const struct frame_section *section, const struct fde *fde, uint64_t size)
{
    return !size || (section->debug && (fde->start <= 1 || fde->start >= UINT64_MAX - 1));
}

/* The augmentation data of an FDE of CIE, which come next; what they point to. */
static uint64_t read_handlers(const struct frame_section *section, const struct cie *cie, struct bytes *bytes)
{
    uint64_t size = bytes_uleb(bytes);
    const uint8_t *data = bytes_take(bytes, size);
    if (!data || cie->handlers_encoding == POINTER_OMITTED)
        return 0;
    struct bytes values = bytes_of(data, size), raw = values;
    bool none = !bytes_pointer(&raw, cie->handlers_encoding & 0x0f, 0, 0); /* relative to nothing, too */
    uint64_t address = bytes_pointer(&values, cie->handlers_encoding, address_of(section, data), 0);
    return none || values.failed ? 0 : address;
}

static int read_fde(struct call_frames *frames, const struct cie *cie, struct bytes bytes)
{
    const struct frame_section *section = &frames->sections[frames->section_count - 1];
    struct fde fde = {.cie = cie ? (uint32_t)(cie - frames->cies) : 0};
    uint64_t size = 0;
    if (cie) {
        fde.start = bytes_pointer(&bytes, cie->pointer_encoding, address_of(section, bytes.at), 0);
        size = bytes_pointer(&bytes, cie->pointer_encoding & 0x0f, 0, 0);
        if (cie->has_data)
            fde.handlers = read_handlers(section, cie, &bytes);
        if (!bytes.failed && is_discarded(section, &fde, size))
            return 0;
    }
    if (!cie || bytes.failed || size > UINT64_MAX - fde.start) {
        frames->damaged++;
        return 0;
    }
    fde.end = fde.start + size;
    fde.code = bytes.at;
    fde.code_size = (uint32_t)bytes_left(&bytes);
    if (!array_room(&frames->fdes, frames->fde_count, &frames->fde_capacity, sizeof fde))
        return -ENOMEM;
    frames->fdes[frames->fde_count++] = fde;
    return 0;
}

/* The record at POSITION of the last section, which has the SIZE bytes at BODY; WIDE: it is one of 64-bit DWARF. */
static int read_record(struct call_frames *frames, size_t first_cie, uint64_t position, const uint8_t *body,
                       uint64_t size, bool wide)
{
    const struct frame_section *section = &frames->sections[frames->section_count - 1];
    struct bytes bytes = bytes_of(body, size);
    uint64_t cie = bytes_unsigned(&bytes, section->debug && wide ? 8 : 4); /* where it is, or that this is one */
    if (bytes.failed) {
        frames->damaged++;
        return 0;
    }
    if (cie == (!section->debug ? 0 : wide ? UINT64_MAX : UINT32_MAX))
        return read_cie(frames, position, bytes);
    if (!section->debug) /* counted back from here */
        cie = (uint64_t)(body - section->bytes) - cie;
    return read_fde(frames, find_cie(frames, first_cie, cie), bytes);
}

/* Takes the last section apart, up to the first record that does not fit; in .eh_frame a length of 0 ends it. */
static int read_records(struct call_frames *frames)
{
    const struct frame_section *section = &frames->sections[frames->section_count - 1];
    struct bytes records = bytes_of(section->bytes, section->size);
    size_t first_cie = frames->cie_count;
    int rc = 0;
    while (!rc && bytes_left(&records)) {
        uint64_t position = (uint64_t)(records.at - section->bytes);
        uint64_t length = bytes_unsigned(&records, 4);
        bool wide = length == UINT32_MAX;
        if (wide)
            length = bytes_unsigned(&records, 8);
        if (!length && section->debug)
            continue;
        if (!length)
            break;
        const uint8_t *body = bytes_take(&records, length);
        if (body)
            rc = read_record(frames, first_cie, position, body, length, wide);
        else
            frames->damaged++;
    }
    return rc;
}

/* Instructions lie in the order of their section, which makes the order exact. */
static int compare(const void *a, const void *b, void *context)
{
    const struct call_frames *frames = context;
    const struct fde *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    int section = frames->cies[x->cie].section - frames->cies[y->cie].section;
    return section ? section : (x->code > y->code) - (x->code < y->code);
}

static void sort(struct call_frames *frames)
{
    size_t i = 1;
    while (i < frames->fde_count && compare(&frames->fdes[i - 1], &frames->fdes[i], frames) < 0)
        i++;
    if (i < frames->fde_count)
        qsort_r(frames->fdes, frames->fde_count, sizeof *frames->fdes, compare, frames);
}

/* Adds the records of a section that READ finds in ELF. */
static int add_section(struct call_frames *frames, const struct elf_file *elf,
                       int (*read)(struct frame_section *, const struct elf_file *, struct error *), struct error *err)
{
    int rc = read(&frames->sections[frames->section_count], elf, err);
    if (rc)
        return rc;
    frames->section_count++;
    rc = read_records(frames);
    return rc ? error_set(err, rc, "out of memory") : 0;
}

/* Bytes of code: of sections, since a segment may hold everything else too; of segments where there are no sections. */
static uint64_t code_size(const struct elf_file *elf)
{
    uint64_t size = 0;
    for (size_t i = 0; i < elf->section_count; i++)
        if (elf->sections[i].sh_flags & SHF_EXECINSTR)
            size += elf->sections[i].sh_size;
    for (size_t i = 0; i < elf->segment_count && !elf->section_count; i++)
        if (elf->segments[i].p_type == PT_LOAD && elf->segments[i].p_flags & PF_X)
            size += elf->segments[i].p_filesz;
    return size;
}

/* True if what has been read describes half of the code or more. Records that overlap, as only damaged ones do, count
 * twice. */
static bool describes_most(const struct call_frames *frames, const struct elf_file *elf)
{
    uint64_t described = 0;
    for (size_t i = 0; i < frames->fde_count; i++)
        described += frames->fdes[i].end - frames->fdes[i].start;
    return described >= code_size(elf) / 2;
}

/* The same of the debug file of ELF. */
static int add_debug_file(struct call_frames *frames, const struct elf_file *elf,
                          const struct debug_file_search *search)
{
    frames->searched = true;
    int fd = debug_file_open(elf, search);
    if (fd < 0)
        return fd == -ENOMEM ? fd : 0;
    struct elf_file debug;
    int rc = elf_file_open(&debug, fd);
    if (!rc)
        rc = add_section(frames, &debug, frame_section_read_debug, NULL);
    elf_file_close(&debug);
    close(fd);
    return rc == -ENOMEM ? rc : 0;
}

int call_frames_read(struct call_frames *frames, const struct elf_file *elf, const struct debug_file_search *search,
                     struct error *err)
{
    *frames = (struct call_frames){.arch = arch_unwind(elf->machine)};
    if (!frames->arch)
        return error_set(err, -ENODATA, "its CPU is neither x86_64 nor aarch64");
    int rc = add_section(frames, elf, frame_section_read, err), debug = 0;
    if (rc != -ENOMEM)
        debug = add_section(frames, elf, frame_section_read_debug, NULL);
    if (rc != -ENOMEM && debug != -ENOMEM && search && !describes_most(frames, elf))
        debug = add_debug_file(frames, elf, search);
    if (debug == -ENOMEM)
        rc = error_set(err, debug, "out of memory");
    else if (frames->section_count)
        rc = 0;
    if (rc)
        call_frames_free(frames);
    else
        sort(frames);
    return rc;
}

/* The SIZE bytes at ADDRESS of ELF; false where it has none. */
static bool read_at(const struct elf_file *elf, uint64_t address, void *buffer, size_t size)
{
    const Elf64_Phdr *segment = elf_file_segment_at(elf, address, 0);
    return segment && elf_file_read(elf, segment->p_offset + (address - segment->p_vaddr), buffer, size) == 0;
}

bool call_frames_catch(const struct call_frames *frames, const struct elf_file *elf)
{
    /* They begin with the encodings of a base, omitted where that is the function's start, and of the types that are
     * caught; who catches none omits these. */
    for (size_t i = 0; i < frames->fde_count; i++) {
        uint8_t encodings[2];
        if (frames->fdes[i].handlers && read_at(elf, frames->fdes[i].handlers, encodings, sizeof encodings) &&
            encodings[0] == POINTER_OMITTED && encodings[1] != POINTER_OMITTED)
            return true;
    }
    return false;
}

void call_frames_free(struct call_frames *frames)
{
    for (size_t i = 0; i < frames->section_count; i++)
        free(frames->sections[i].bytes);
    free(frames->cies);
    free(frames->fdes);
    *frames = (struct call_frames){0};
}
