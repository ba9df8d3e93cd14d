/*
 * Where an address of the current process is mapped, by the kernel's own account.
 *
 * bpf_find_vma would tell, but not while somebody changes the mappings: another thread, or the kernel itself, which
 * sets each probe in all processes that map the file; either may lose its CPU for milliseconds. So the areas are read
 * without their lock. They are in a tree (Linux 6.1, lib/maple_tree.c), made for such readers: a writer replaces nodes,
 * and frees the old ones later. What was read counts only if it is an area of this process that has the address.
 */
#ifndef UPLUA_BPF_AREA_H
#define UPLUA_BPF_AREA_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "trampoline.h"
#include "unwind.h"

enum { AREA_EXECUTABLE = 4 }; /* VM_EXEC */

struct area {
    struct unwind_kernel *kernel;
    __u64 space, address;                  /* the struct mm_struct, and what to look for in it */
    __u64 start, end, offset, file, flags; /* all 0: nothing is mapped there */
};

/* A way down the tree. ENTRY is a node's address with its type, or at the end an area's; SLOT how far the node was
 * looked at. */
struct descent {
    struct area *area;
    __u64 entry, slot;
    int at_end;
};

/* One step: to the node's next slot, or down from the one that has the address. */
static long descend(__u32 step __attribute__((unused)), struct descent *way)
{
    enum { TYPE_SHIFT = 3, TYPE_MASK = 15, LEAF = 1, WITH_GAPS = 3, NODE_MASK = 255 }; /* enum maple_type */
    struct unwind_kernel *kernel = way->area->kernel;
    __u64 node = way->entry & ~(__u64)NODE_MASK, type = way->entry >> TYPE_SHIFT & TYPE_MASK;
    __u64 slots = type == WITH_GAPS ? kernel->gap_node_slots : kernel->node_slots;
    __u64 at = kernel->node_pivots + way->slot * 8, last = at < slots ? kernel_word(node + at) : 0;
    if (last && last < way->area->address) { /* 0: it goes as far as the node does */
        way->slot++;
        return 0;
    }
    way->entry = kernel_word(node + slots + way->slot * 8);
    way->slot = 0;
    way->at_end = type == LEAF;
    return way->at_end;
}

/* True if AREA was read, or nothing is there; false where the tree was being changed. */
static long read_area(__u32 try __attribute__((unused)), struct area *area)
{
    enum { STEPS = 16 * 8 }; /* slots of a node, levels of the tree */
    struct unwind_kernel *kernel = area->kernel;
    struct descent way = {.area = area, .entry = kernel_word(area->space + kernel->space_areas)};
    bpf_loop(STEPS, descend, &way, 0);
    if (way.at_end && !way.entry)
        return 1;
    area->start = kernel_word(way.entry + kernel->area_start);
    area->end = kernel_word(way.entry + kernel->area_end);
    area->offset = kernel_word(way.entry + kernel->area_offset);
    area->file = kernel_word(way.entry + kernel->area_file);
    area->flags = kernel_word(way.entry + kernel->area_flags);
    if (way.at_end && kernel_word(way.entry + kernel->area_space) == area->space &&
        area->address - area->start < area->end - area->start)
        return 1;
    area->flags = 0;
    return 0;
}

/* Finds the area at ADDRESS. Takes 500 ns. */
static __always_inline struct area find_area(struct unwind_kernel *kernel, __u64 space, __u64 address)
{
    enum { TRIES = 64 };
    struct area area = {.kernel = kernel, .space = space, .address = address};
    bpf_loop(TRIES, read_area, &area, 0);
    return area;
}

#endif
