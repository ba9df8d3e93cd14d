/* Opens ELF files and checks what they say of themselves. */
#include "elf/elffile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    MAX_SEGMENTS = 4096,
    MAX_SECTIONS = 1 << 17, /* real shared objects have below 100, -ffunction-sections programs some thousand */
    MAX_SECTION_NAMES = 1 << 24,
    MAX_NOTES = 1 << 16, /* bytes of one note segment that are searched for the build id */
};

int elffile_read(const struct elffile *elf, uint64_t offset, void *buffer, size_t size)
{
    uint64_t file_size = (uint64_t)elf->stat.st_size;
    if (offset > file_size || size > file_size - offset)
        return -ENODATA;
    for (char *to = buffer; size;) {
        ssize_t got = pread(elf->fd, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -ENODATA;
        to += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return 0;
}

/* COUNT entries of SIZE bytes at OFFSET, or NULL where the file does not have them. */
static void *read_table(const struct elffile *elf, uint64_t offset, size_t count, size_t size)
{
    if (!count || count * size > (uint64_t)elf->stat.st_size)
        return NULL;
    void *table = calloc(count, size);
    if (table && elffile_read(elf, offset, table, count * size)) {
        free(table);
        table = NULL;
    }
    return table;
}

/* A damaged section table is no error: mappings can still be translated with the segments alone. */
static void read_sections(struct elffile *elf, const Elf64_Ehdr *header)
{
    if (header->e_shentsize != sizeof(Elf64_Shdr) || !header->e_shoff)
        return;
    uint64_t count = header->e_shnum;
    uint32_t names = header->e_shstrndx;
    if (!count || names == SHN_XINDEX) { /* too large for the header: section 0 has the numbers (ELF specification) */
        Elf64_Shdr first;
        if (elffile_read(elf, header->e_shoff, &first, sizeof first))
            return;
        count = count ? count : first.sh_size;
        names = names == SHN_XINDEX ? first.sh_link : names;
    }
    if (count > MAX_SECTIONS)
        return;
    elf->sections = read_table(elf, header->e_shoff, (size_t)count, sizeof(Elf64_Shdr));
    if (!elf->sections)
        return;
    elf->section_count = (size_t)count;
    if (names >= count || elf->sections[names].sh_type != SHT_STRTAB ||
        elf->sections[names].sh_size > MAX_SECTION_NAMES)
        return;
    size_t size = (size_t)elf->sections[names].sh_size;
    elf->section_names = read_table(elf, elf->sections[names].sh_offset, size, 1);
    if (elf->section_names) {
        elf->section_names[size - 1] = '\0';
        elf->section_names_size = size;
    }
}

int elffile_open(struct elffile *elf, int fd)
{
    *elf = (struct elffile){.fd = fd};
    if (fstat(fd, &elf->stat))
        return -errno;
    Elf64_Ehdr header;
    int rc = elffile_read(elf, 0, &header, sizeof header);
    if (rc)
        return rc == -ENODATA ? -ENOEXEC : rc;
    unsigned char order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != order)
        return -ENOEXEC;
    elf->machine = header.e_machine;
    elf->entry = header.e_entry;
    if (header.e_phentsize == sizeof(Elf64_Phdr) && header.e_phnum <= MAX_SEGMENTS) {
        elf->segments = read_table(elf, header.e_phoff, header.e_phnum, sizeof(Elf64_Phdr));
        elf->segment_count = elf->segments ? header.e_phnum : 0;
    }
    read_sections(elf, &header);
    return 0;
}

void elffile_close(struct elffile *elf)
{
    free(elf->section_names);
    free(elf->sections);
    free(elf->segments);
    *elf = (struct elffile){.fd = -1};
}

const Elf64_Shdr *elffile_section(const struct elffile *elf, uint32_t type, const char *name)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (type != SHT_NULL && section->sh_type != type)
            continue;
        if (!name ||
            (section->sh_name < elf->section_names_size && !strcmp(elf->section_names + section->sh_name, name)))
            return section;
    }
    return NULL;
}

/* The build id among the notes at OFFSET. */
static size_t search_notes(const struct elffile *elf, uint64_t offset, uint64_t size, uint8_t *id)
{
    if (size < sizeof(Elf64_Nhdr) || size > MAX_NOTES)
        return 0;
    size_t found = 0;
    uint8_t *notes = read_table(elf, offset, (size_t)size, 1);
    for (uint64_t at = 0; notes && at + sizeof(Elf64_Nhdr) <= size;) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof note);
        /* 64-bit sums of 32-bit sizes: they cannot wrap. Names and descriptors are padded to 4 bytes. */
        uint64_t name = at + sizeof note, text = name + ((note.n_namesz + UINT64_C(3)) & ~UINT64_C(3));
        uint64_t end = text + note.n_descsz;
        if (end > size)
            break;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(notes + name, "GNU", 4) &&
            note.n_descsz >= 2 && note.n_descsz <= ELFFILE_BUILD_ID_MAX) {
            memcpy(id, notes + text, note.n_descsz);
            found = note.n_descsz;
            break;
        }
        at = (end + 3) & ~UINT64_C(3);
    }
    free(notes);
    return found;
}

size_t elffile_build_id(const struct elffile *elf, uint8_t id[static ELFFILE_BUILD_ID_MAX])
{
    size_t length = 0;
    /* Sections first: the segments of a separate debug file keep the offsets of the file that it was made from. */
    for (size_t i = 0; i < elf->section_count && !length; i++)
        if (elf->sections[i].sh_type == SHT_NOTE)
            length = search_notes(elf, elf->sections[i].sh_offset, elf->sections[i].sh_size, id);
    for (size_t i = 0; i < elf->segment_count && !length; i++)
        if (elf->segments[i].p_type == PT_NOTE)
            length = search_notes(elf, elf->segments[i].p_offset, elf->segments[i].p_filesz, id);
    return length;
}

int elffile_open_path(int root, const char *path)
{
    int handle;
    if (root < 0) {
        handle = open(path, O_PATH | O_CLOEXEC);
    } else {
        struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
        handle = (int)syscall(SYS_openat2, root, path, &how, sizeof how); /* Linux 5.6 */
    }
    if (handle < 0)
        return -errno;
    struct stat stat;
    int fd = -EINVAL;
    if (!fstat(handle, &stat) && S_ISREG(stat.st_mode)) {
        char self[32];
        snprintf(self, sizeof self, "/proc/self/fd/%d", handle);
        fd = open(self, O_RDONLY | O_CLOEXEC);
        fd = fd < 0 ? -errno : fd;
    }
    close(handle);
    return fd;
}
