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

#include "rule_cache.h"
#include "stack_slow.h"
#include "trampoline.h"
#include "unwind.h"

enum { VMA_EXECUTABLE = 4 }; /* VM_EXEC */

/*
 * How many of the node's slots end before the address. A slot's pivot is the last address that it has, or 0, if that
 * goes as far as the node does; so does the last slot, which has none: slots lie BYTES behind the pivots.
 */
static __always_inline __u64 slots_before(const struct vma_search *search, __u64 bytes)
{
    __u64 slot = 0;
    __s64 address = (__s64)search->address, behind = -(__s64)bytes, before = -1; /* all ones */
#pragma unroll
    for (int i = 0; i < VMA_PIVOTS; i++) {
        __s64 pivot = *(const volatile __s64 *)&search->pivots[i];
        before &= ((pivot - address) & ~pivot & -pivot & behind) >> 63;
        slot -= before;
        behind += 8;
        OPAQUE(before);
        OPAQUE(behind);
    }
    return slot;
}

/* What the steps of a search share. */
struct vma_way {
    struct unwind_kernel *kernel;
    struct vma_search *search;
};

static __always_inline int is_vma(const struct unwind_kernel *kernel, const struct vma_search *search, __u64 vma)
{
    return kernel_word(vma + kernel->vma_space) == search->space &&
           kernel_word(vma + kernel->vma_start) <= search->address &&
           kernel_word(vma + kernel->vma_end) > search->address;
}

/* One step: down from the node's slot that has the address; from what is no vma, as the tree was changed, to the root.
 */
static long search_vma(__u32 step __attribute__((unused)), struct vma_way *way)
{
    enum { TYPE_SHIFT = 3, TYPE_MASK = 15, LEAF = 1, WITH_GAPS = 3, NODE_MASK = 255 }; /* enum maple_type */
    struct unwind_kernel *kernel = way->kernel;
    struct vma_search *search = way->search;
    __u64 entry = search->entry ? search->entry : kernel_word(search->space + kernel->space_vmas);
    __u64 node = entry & ~(__u64)NODE_MASK, type = entry >> TYPE_SHIFT & TYPE_MASK;
    __u64 slots = type == WITH_GAPS ? kernel->gap_node_slots : kernel->node_slots;
    bpf_probe_read_kernel(search->pivots, sizeof search->pivots, (void *)(node + kernel->node_pivots));
    search->entry = kernel_word(node + slots + slots_before(search, slots - kernel->node_pivots) * 8);
    if (type != LEAF)
        return 0;
    if (is_vma(kernel, search, search->entry))
        search->vma = search->entry;
    __u64 nothing = !search->entry;
    search->entry = 0;
    return nothing || search->vma;
}

/* Finds the struct vm_area_struct that has ADDRESS in SPACE, a struct mm_struct; 0: nothing is mapped there. SEARCH is
 * the memory for that. */
static __always_inline __u64 find_vma(struct unwind_kernel *kernel, struct vma_search *search, __u64 space,
                                      __u64 address)
{
    enum { STEPS = 128 }; /* 5 nodes, many times over */
    struct vma_way way = {kernel, search};
    search->space = space;
    search->address = address;
    search->entry = search->vma = 0;
    if (!space) /* the process is exiting */
        return 0;
    bpf_loop(STEPS, search_vma, &way, 0);
    return search->vma;
}
