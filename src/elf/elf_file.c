/* Opens ELF files and checks what they say of themselves. */
#include "elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "elf/dynamic_sections.h"

enum {
    MAX_SEGMENTS = 4096,
    MAX_SECTIONS = 1 << 17, /* real shared objects have below 100, -ffunction-sections programs some thousand */
    MAX_SECTION_NAMES = 1 << 24,
};

int elf_file_read(const struct elf_file *elf, uint64_t offset, void *buffer, size_t size)
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

/* Stores COUNT entries of SIZE bytes at OFFSET in *TABLE, NULL where the file does not have them; 0, or -ENOMEM. */
static int read_table(const struct elf_file *elf, uint64_t offset, size_t count, size_t size, void **table)
{
    *table = NULL;
    if (!count || count * size > (uint64_t)elf->stat.st_size)
        return 0;
    *table = calloc(count, size);
    if (!*table)
        return -ENOMEM;
    if (elf_file_read(elf, offset, *table, count * size)) {
        free(*table);
        *table = NULL;
    }
    return 0;
}

/* A damaged section table is no error: mappings can still be translated with the segments alone. 0, or -ENOMEM. */
static int read_sections(struct elf_file *elf, const Elf64_Ehdr *header)
{
    if (header->e_shentsize != sizeof(Elf64_Shdr) || !header->e_shoff)
        return 0;
    uint64_t count = header->e_shnum;
    uint32_t names = header->e_shstrndx;
    if (!count || names == SHN_XINDEX) { /* too large for the header: section 0 has the numbers (ELF specification) */
        Elf64_Shdr first;
        if (elf_file_read(elf, header->e_shoff, &first, sizeof first))
            return 0;
        count = count ? count : first.sh_size;
        names = names == SHN_XINDEX ? first.sh_link : names;
    }
    if (count > MAX_SECTIONS)
        return 0;
    void *table;
    int rc = read_table(elf, header->e_shoff, (size_t)count, sizeof(Elf64_Shdr), &table);
    elf->sections = table;
    if (!elf->sections)
        return rc;
    elf->section_count = (size_t)count;
    if (names >= count || elf->sections[names].sh_type != SHT_STRTAB ||
        elf->sections[names].sh_size > MAX_SECTION_NAMES)
        return 0;
    size_t size = (size_t)elf->sections[names].sh_size;
    rc = read_table(elf, elf->sections[names].sh_offset, size, 1, &table);
    elf->section_names = table;
    if (elf->section_names) {
        elf->section_names[size - 1] = '\0';
        elf->section_names_size = size;
    }
    return rc;
}

int elf_file_open(struct elf_file *elf, int fd)
{
    *elf = (struct elf_file){.fd = fd};
    if (fstat(fd, &elf->stat))
        return -errno;
    Elf64_Ehdr header;
    int rc = elf_file_read(elf, 0, &header, sizeof header);
    if (rc)
        return rc == -ENODATA ? -ENOEXEC : rc;
    unsigned char order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != order)
        return -ENOEXEC;
    elf->machine = header.e_machine;
    elf->entry = header.e_entry;
    elf->fixed = header.e_type == ET_EXEC;
    if (header.e_phentsize == sizeof(Elf64_Phdr) && header.e_phnum <= MAX_SEGMENTS) {
        void *table;
        rc = read_table(elf, header.e_phoff, header.e_phnum, sizeof(Elf64_Phdr), &table);
        elf->segments = table;
        elf->segment_count = elf->segments ? header.e_phnum : 0;
    }
    rc = rc ? rc : read_sections(elf, &header);
    if (!rc && !elf->section_count && elf->segment_count)
        rc = dynamic_sections_make(elf);
    if (rc)
        elf_file_close(elf);
    return rc;
}

void elf_file_close(struct elf_file *elf)
{
    free(elf->section_names);
    free(elf->sections);
    free(elf->segments);
    *elf = (struct elf_file){.fd = -1};
}

const Elf64_Phdr *elf_file_segment(const struct elf_file *elf, uint32_t type)
{
    for (size_t i = 0; i < elf->segment_count; i++)
        if (elf->segments[i].p_type == type)
            return &elf->segments[i];
    return NULL;
}

const Elf64_Phdr *elf_file_segment_at(const struct elf_file *elf, uint64_t address, uint32_t flags)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz)
            return segment;
    }
    return NULL;
}

int elf_file_open_path(int root, const char *path)
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
