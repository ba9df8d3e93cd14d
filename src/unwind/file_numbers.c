/* The numbers of files, which both halves of the unwinder give. */
#include "unwind/file_numbers.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "../bpf/unwind.h"

uint32_t kernel_device(uint64_t device)
{
    return major(device) << 20 | minor(device);
}

static struct unwind_inode key_of(uint64_t device, uint64_t inode)
{
    return (struct unwind_inode){.inode = inode, .device = kernel_device(device)};
}

/* The number that the kernel's half knows FILE by as it is now; 0: none. *THERE: it has one of its inode. */
static uint32_t current(const struct file_numbers *numbers, const struct kernel_file *file, bool *there)
{
    struct unwind_inode key = key_of(file->device, file->inode);
    struct unwind_known known;
    *there = !bpf_map_lookup_elem(numbers->map, &key, &known);
    return *there && known.changed_seconds == file->changed[0] && known.changed_nanoseconds == file->changed[1]
               ? known.number
               : 0;
}

static int write_known(const struct file_numbers *numbers, const struct kernel_file *file, uint32_t number,
                       uint64_t flags)
{
    struct unwind_inode key = key_of(file->device, file->inode);
    struct unwind_known value = {
        .number = number,
        .changed_seconds = file->changed[0],
        .changed_nanoseconds = (uint32_t)file->changed[1],
        .written = UNWIND_TIME(file->written[0], file->written[1]),
    };
    return bpf_map_update_elem(numbers->map, &key, &value, flags);
}

uint32_t file_numbers_get(struct file_numbers *numbers, const struct kernel_file *file)
{
    bool there = false;
    uint32_t number = file->inode ? current(numbers, file, &there) : 0;
    if (number)
        return number;
    uint64_t taken = __atomic_add_fetch(&numbers->kernel->files, 1, __ATOMIC_SEQ_CST);
    number = taken < UNWIND_TABLES ? (uint32_t)taken : 0;
    if (number && file->inode && write_known(numbers, file, number, there ? BPF_ANY : BPF_NOEXIST) == -EEXIST)
        return current(numbers, file, &there); /* the kernel's half was faster */
    return number;
}

uint32_t file_numbers_set(struct file_numbers *numbers, const struct kernel_file *file, uint32_t number)
{
    size_t at = file->inode % FILE_NUMBERS_TOLD;
    if (!file->inode || (numbers->told[at].number == number && !memcmp(&numbers->told[at].file, file, sizeof *file)))
        return 0;
    bool there;
    uint32_t other = current(numbers, file, &there);
    if (other == number || !write_known(numbers, file, number, BPF_ANY)) {
        numbers->told[at].file = *file;
        numbers->told[at].number = number;
    }
    return other == number ? 0 : other;
}

uint32_t file_numbers_find(const struct file_numbers *numbers, uint64_t device, uint64_t inode)
{
    struct unwind_inode key = key_of(device, inode);
    struct unwind_known known;
    return bpf_map_lookup_elem(numbers->map, &key, &known) ? 0 : known.number;
}
