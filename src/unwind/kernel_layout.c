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
enum {
    ROOT,
    STATE,
    AREA,
    ADDRESS,
    TIME,
    WRITTEN = TIME + 4,
    VDSO = WRITTEN + 4,
    EXECVE,
    CHANGES,
    CHANGES_IN_TWO,
    RETURNED,
    BACKING,
    OTHERS = BACKING + 5,
    PLAIN = sizeof plain / sizeof *plain
};
static const char *const others[OTHERS][2] = {
    [ROOT] = {"maple_tree", "ma_root"},
    [STATE] = {"mm_struct", "uprobes_state"},
    [AREA] = {"uprobes_state", "xol_area"},
    [ADDRESS] = {"xol_area", "vaddr"},
    [TIME] = {"inode", "i_ctime_sec"}, /* since Linux 6.11 */
    {"inode", "i_ctime_nsec"},
    {"inode", "__i_ctime"}, /* since 6.6 */
    {"inode", "i_ctime"},
    [WRITTEN] = {"inode", "i_mtime_sec"},
    {"inode", "i_mtime_nsec"},
    {"inode", "__i_mtime"}, /* since 6.7 */
    {"inode", "i_mtime"},
    [VDSO] = {"mm_struct", "context.vdso"},
    [EXECVE] = {"task_struct", "in_execve"},
    [CHANGES] = {"mm_struct", "mm_lock_seq"},                 /* since 6.4, CONFIG_PER_VMA_LOCK */
    [CHANGES_IN_TWO] = {"mm_struct", "mm_lock_seq.sequence"}, /* since 6.14 */
    [RETURNED] = {"uprobe_task", "ri_pool"},                  /* since 6.14 */
    [BACKING] = {"backing_file", "user_path.mnt"},            /* since 6.7 */
    {"backing_file", "user_path.dentry"},
    {"vfsmount", "mnt_sb"},
    {"dentry", "d_sb"},
    {"dentry", "d_inode"},
};

/* Where a time of an inode is, its *SECONDS and *NANOSECONDS: NAMES are those that it had, the newest first. */
static void write_time(const struct kernel_field names[static 4], uint32_t *seconds, uint32_t *nanoseconds)
{
    /* a struct timespec64 */
    const struct kernel_field *whole = names[2].offset != UINT32_MAX ? &names[2] : &names[3];
    if (names[0].offset != UINT32_MAX && names[1].offset != UINT32_MAX) {
        *seconds = names[0].offset;
        *nanoseconds = names[1].offset;
    } else if (whole->offset != UINT32_MAX) {
        *seconds = whole->offset;
        *nanoseconds = whole->offset + (uint32_t)sizeof(uint64_t);
    }
}

/* Where a file that backs another one has the path of that: MEMBERS in the order in which they are listed. */
static void write_backing(struct unwind_kernel *kernel, const struct kernel_field members[static 5])
{
    for (int i = 0; i < 5; i++)
        if (members[i].offset == UINT32_MAX)
            return;
    kernel->backing_mount = members[0].offset;
    kernel->backing_entry = members[1].offset;
    kernel->mount_super = members[2].offset;
    kernel->entry_super = members[3].offset;
    kernel->entry_inode = members[4].offset;
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
    write_time(other + TIME, &kernel->inode_seconds, &kernel->inode_nanoseconds);
    write_time(other + WRITTEN, &kernel->inode_written, &kernel->inode_written_part);
    if (other[CHANGES].offset != UINT32_MAX) {
        kernel->space_state = other[CHANGES].offset;
        kernel->space_state_shift = other[CHANGES_IN_TWO].offset == UINT32_MAX;
    }
    if (other[VDSO].offset != UINT32_MAX)
        kernel->space_vdso = other[VDSO].offset;
    if (other[EXECVE].offset != UINT32_MAX) {
        kernel->task_execve = other[EXECVE].offset;
        kernel->task_execve_mask = 1u << other[EXECVE].bit;
    }
    if (other[RETURNED].offset != UINT32_MAX)
        kernel->uprobes_returned = other[RETURNED].offset;
    write_backing(kernel, other + BACKING);
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
