/* One file with its unwind table, for --unwind-info. */
#include "unwind/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int unwind_file_open(struct unwind_file *file, const char *path, struct error *err)
{
    const struct debug_file_search search = {.root = -1, .debug_root = DEBUG_FILE_ROOT, .module = path};
    *file = (struct unwind_file){0};
    int fd = elf_file_open_path(-1, path);
    if (fd < 0)
        return error_set(err, fd, "%s: %s", path, fd == -EINVAL ? "it is not a regular file" : error_reason(fd));
    file->fd = fd;
    int rc = elf_file_open(&file->elf, fd);
    if (rc)
        error_set(err, rc, "%s: %s", path, rc == -ENOEXEC ? "no ELF file of this machine" : error_reason(rc));
    else if ((rc = unwind_rules_init(&file->rules)))
        error_set(err, rc, "out of memory");
    else if ((rc = unwind_table_build(&file->table, &file->elf, &search, &file->rules, err)))
        error_prefix(err, "%s: ", path);
    if (rc)
        unwind_file_close(file);
    return rc;
}

void unwind_file_close(struct unwind_file *file)
{
    if (!file->fd)
        return;
    unwind_table_free(&file->table);
    unwind_rules_free(&file->rules);
    elf_file_close(&file->elf);
    close(file->fd);
    *file = (struct unwind_file){0};
}

uint64_t unwind_file_address(const struct unwind_file *file, uint64_t offset)
{
    for (size_t i = 0; i < file->elf.segment_count; i++) {
        const Elf64_Phdr *segment = &file->elf.segments[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X && offset >= segment->p_offset &&
            offset - segment->p_offset < segment->p_filesz)
            return segment->p_vaddr + (offset - segment->p_offset);
    }
    return offset;
}
