/* Offsets in the kernel's structures, by its BTF: each kernel has others. */
#include "unwind/kernel_layout.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "sys/kernel_types.h"

#define AT(member) offsetof(struct unwind_kernel, member)

/* Members of the kernel's structures that are offsets of struct unwind_kernel, and which. */
static const struct {
    const char *type, *member;
    size_t at;
} plain[] = {
    {"vm_area_struct", "vm_start", AT(vma_start)},
    {"vm_area_struct", "vm_end", AT(vma_end)},
    {"vm_area_struct", "vm_pgoff", AT(vma_offset)},
    {"vm_area_struct", "vm_file", AT(vma_file)},
    {"vm_area_struct", "vm_flags", AT(vma_flags)},
    {"vm_area_struct", "vm_mm", AT(vma_space)},
    {"mm_struct", "mm_mt", AT(space_vmas)},
    {"maple_range_64", "pivot", AT(node_pivots)},
    {"maple_range_64", "slot", AT(node_slots)},
    {"maple_arange_64", "slot", AT(gap_node_slots)},
    {"file", "f_inode", AT(file_inode)},
    {"inode", "i_ino", AT(inode_number)},
    {"inode", "i_sb", AT(inode_super)},
    {"super_block", "s_dev", AT(super_device)},
    {"task_struct", "mm", AT(task_space)},
    {"task_struct", "group_leader", AT(task_leader)},
    {"task_struct", "start_time", AT(task_start)},
    {"task_struct", "signal", AT(task_signal)},
    {"signal_struct", "live", AT(signal_live)},
    {"task_struct", "utask", AT(task_uprobes)},
    {"uprobe_task", "return_instances", AT(uprobes_returns)},
    {"uprobe_task", "xol_vaddr", AT(uprobes_copy)},
    {"uprobe_task", "vaddr", AT(uprobes_original)},
    {"return_instance", "stack", AT(return_stack)},
    {"return_instance", "orig_ret_vaddr", AT(return_original)},
    {"return_instance", "next", AT(return_next)},
};

/* Members that are added up or chosen between; needed are those before TIME. */
enum { ROOT, STATE, AREA, ADDRESS, TIME, VDSO = TIME + 4, EXECVE, OTHERS, PLAIN = sizeof plain / sizeof *plain };
static const char *const others[OTHERS][2] = {
    [ROOT] = {"maple_tree", "ma_root"},
    [STATE] = {"mm_struct", "uprobes_state"},
    [AREA] = {"uprobes_state", "xol_area"},
    [ADDRESS] = {"xol_area", "vaddr"},
    [TIME] = {"inode", "i_ctime_sec"}, /* since Linux 6.11 */
    {"inode", "i_ctime_nsec"},
    {"inode", "__i_ctime"}, /* since 6.6 */
    {"inode", "i_ctime"},
    [VDSO] = {"mm_struct", "context.vdso"},
    [EXECVE] = {"task_struct", "in_execve"},
};

/* Where the time of an inode's last change is: CHANGED are the names that it had, the newest first. */
static void write_times(struct unwind_kernel *kernel, const struct kernel_field changed[static 4])
{
    /* a struct timespec64 */
    const struct kernel_field *whole = changed[2].offset != UINT32_MAX ? &changed[2] : &changed[3];
    if (changed[0].offset != UINT32_MAX && changed[1].offset != UINT32_MAX) {
        kernel->inode_seconds = changed[0].offset;
        kernel->inode_nanoseconds = changed[1].offset;
    } else if (whole->offset != UINT32_MAX) {
        kernel->inode_seconds = whole->offset;
        kernel->inode_nanoseconds = whole->offset + (uint32_t)sizeof(uint64_t);
    }
}

/*
 * Tells the kernel's half where its kernel keeps what; where that cannot be found out, it knows only what is reported.
 */

void kernel_layout_read(struct unwind_kernel *kernel)
{
    struct kernel_field fields[PLAIN + OTHERS];
    for (size_t i = 0; i < PLAIN; i++)
        fields[i] = (struct kernel_field){plain[i].type, plain[i].member, 0, 0};
    for (size_t i = 0; i < OTHERS; i++)
        fields[PLAIN + i] = (struct kernel_field){others[i][0], others[i][1], 0, 0};
    const struct kernel_field *other = fields + PLAIN;
    int rc = kernel_btf_fields(fields, PLAIN + OTHERS);
    if (rc && rc != -ENOENT)
        return;
    for (const struct kernel_field *needed = fields; needed < other + TIME; needed++)
        if (needed->offset == UINT32_MAX)
            return;
    for (size_t i = 0; i < PLAIN; i++)
        memcpy((char *)kernel + plain[i].at, &fields[i].offset, sizeof fields[i].offset);
    write_times(kernel, other + TIME);
    if (other[VDSO].offset != UINT32_MAX)
        kernel->space_vdso = other[VDSO].offset;
    if (other[EXECVE].offset != UINT32_MAX) {
        kernel->task_execve = other[EXECVE].offset;
        kernel->task_execve_mask = 1u << other[EXECVE].bit;
    }
    kernel->space_vmas += other[ROOT].offset;
    kernel->trampoline =
        TRAMPOLINE_FIELDS(kernel->task_space, other[STATE].offset + other[AREA].offset, other[ADDRESS].offset);
}

int kernel_layout_write(int map)
{
    struct unwind_kernel *kernel = mmap(NULL, sizeof *kernel, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
    if (kernel == MAP_FAILED)
        return -errno;
    kernel_layout_read(kernel);
    munmap(kernel, sizeof *kernel);
    return 0;
}
