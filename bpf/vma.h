/*
 * Where an address of the current process is mapped, by the kernel's own account.
 *
 * bpf_find_vma would tell, but not while somebody changes the mappings: another thread, or the kernel itself, which
 * sets each probe in all processes that map the file; either may lose its CPU for milliseconds. So the vmas are read
 * without their lock. They are in a tree (Linux 6.1, lib/maple_tree.c), made for such readers: a writer replaces nodes,
 * and frees the old ones later. The result counts only if it is a vma of this process that has the address.
 */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "trampoline.h"
#include "unwind.h"

enum { VMA_EXECUTABLE = 4 }; /* VM_EXEC */

/* A way down the tree to the vma that has ADDRESS. */
struct vma_search {
    struct unwind_kernel *kernel;
    __u64 space, address;
    __u64 entry, slot; /* the node's address with its type, 0: at the root; how far it was looked at */
    __u64 vma;         /* the struct vm_area_struct, 0: not found */
};

static __always_inline int is_vma(const struct vma_search *search, __u64 vma)
{
    const struct unwind_kernel *kernel = search->kernel;
    return kernel_word(vma + kernel->vma_space) == search->space &&
           kernel_word(vma + kernel->vma_start) <= search->address &&
           kernel_word(vma + kernel->vma_end) > search->address;
}

/*
 * One step: to the node's next slot, or down from the one that has the address; from what is no vma, as the tree was
 * changed, to the root.
 */
static long search_vma(__u32 step __attribute__((unused)), struct vma_search *search)
{
    enum { TYPE_SHIFT = 3, TYPE_MASK = 15, LEAF = 1, WITH_GAPS = 3, NODE_MASK = 255 }; /* enum maple_type */
    struct unwind_kernel *kernel = search->kernel;
    __u64 entry = search->entry ? search->entry : kernel_word(search->space + kernel->space_vmas);
    __u64 node = entry & ~(__u64)NODE_MASK, type = entry >> TYPE_SHIFT & TYPE_MASK;
    __u64 slots = type == WITH_GAPS ? kernel->gap_node_slots : kernel->node_slots;
    __u64 at = kernel->node_pivots + search->slot * 8, last = at < slots ? kernel_word(node + at) : 0;
    search->entry = entry;
    if (last && last < search->address) { /* 0: it goes as far as the node does */
        search->slot++;
        return 0;
    }
    search->entry = kernel_word(node + slots + search->slot * 8);
    search->slot = 0;
    if (type != LEAF)
        return 0;
    if (is_vma(search, search->entry))
        search->vma = search->entry;
    __u64 nothing = !search->entry;
    search->entry = 0;
    return nothing || search->vma;
}

/* Finds the struct vm_area_struct that has ADDRESS in SPACE, a struct mm_struct; 0: nothing is mapped there. */
static __always_inline __u64 find_vma(struct unwind_kernel *kernel, __u64 space, __u64 address)
{
    enum { STEPS = 2048 }; /* 16 slots of 5 nodes, many times over */
    struct vma_search search = {.kernel = kernel, .space = space, .address = address};
    bpf_loop(STEPS, search_vma, &search, 0);
    return search.vma;
}
