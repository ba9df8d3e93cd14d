/* The numbers of files, as the walk finds them by the kernel's inodes; it gives them, too. */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "trampoline.h"
#include "unwind.h"

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, UNWIND_FILES);
    __type(key, struct unwind_inode);
    __type(value, struct unwind_known);
} uplua_unwind_files SEC(".maps");

/* True if the file of INODE, a struct inode, is still the one that KNOWN is about. */
static __always_inline int is_unchanged(struct unwind_kernel *kernel, __u64 inode, const struct unwind_known *known)
{
    return !kernel->inode_seconds ||
           (kernel_word(inode + kernel->inode_seconds) == known->changed_seconds &&
            (kernel_word(inode + kernel->inode_nanoseconds) & UNWIND_NANOSECONDS) == known->changed_nanoseconds);
}

/* The time of the last change of its contents; 0: not known. */
static __always_inline __u64 written_of(struct unwind_kernel *kernel, __u64 inode)
{
    if (!kernel->inode_written)
        return 0;
    return UNWIND_TIME(kernel_word(inode + kernel->inode_written), kernel_word(inode + kernel->inode_written_part));
}

/* The same as is_unchanged, where it may have got other names or another owner since. */
static __always_inline int is_unwritten(struct unwind_kernel *kernel, __u64 inode, const struct unwind_known *known)
{
    return is_unchanged(kernel, inode, known) || (known->written && written_of(kernel, inode) == known->written);
}

/* INODE, a struct inode, as the key of the map of files. */
static __always_inline struct unwind_inode key_of(struct unwind_kernel *kernel, __u64 inode)
{
    return (struct unwind_inode){
        .inode = kernel_word(inode + kernel->inode_number),
        .device = kernel_word(kernel_word(inode + kernel->inode_super) + kernel->super_device),
    };
}

#define UNNUMBERED (~0u)

/*
 * The number of the file of INODE, a struct inode, which gets one if nobody has seen it before; UNNUMBERED: there is
 * none left, or no memory; 0: its code is as good as in no file.
 */
static __always_inline __u32 number_of(struct unwind_kernel *kernel, __u64 inode)
{
    struct unwind_inode file = key_of(kernel, inode);
    struct unwind_known *known = bpf_map_lookup_elem(&uplua_unwind_files, &file), first = {0};
    if (known && is_unchanged(kernel, inode, known))
        return known->number;
    if (file.device == kernel->memory_device) /* mostly the process's own code, as a just-in-time compiler writes it */
        return 0;
    first.number = __sync_fetch_and_add(&kernel->files, 1) + 1;
    if (kernel->inode_seconds) {
        first.changed_seconds = kernel_word(inode + kernel->inode_seconds);
        first.changed_nanoseconds = kernel_word(inode + kernel->inode_nanoseconds) & UNWIND_NANOSECONDS;
    }
    first.written = written_of(kernel, inode);
    if (first.number < UNWIND_TABLES &&
        !bpf_map_update_elem(&uplua_unwind_files, &file, &first, known ? BPF_ANY : BPF_NOEXIST))
        return first.number;
    known = bpf_map_lookup_elem(&uplua_unwind_files, &file); /* another CPU was faster */
    return known && is_unchanged(kernel, inode, known) ? known->number : UNNUMBERED;
}
