/*
 * The kernel's [uprobes] page, which begins with the code to which functions return whose return a probe waits for. The
 * kernel maps it into a process where the first such function begins: at the highest page of user space, unless
 * something else is there, as the stack is in a program without randomized addresses. Behind that code the page has
 * copies of probed instructions, which threads execute one by one instead of those where the breakpoints are.
 */
#pragma once

#include <linux/types.h>

/*
 * Three offsets as one number, 0 where they are not known, or too large: SPACE in struct task_struct: mm; AREA in
 * struct mm_struct: uprobes_state, and there xol_area; ADDRESS in struct xol_area: vaddr (kernel/events/uprobes.c,
 * since Linux 3.10).
 */
#define TRAMPOLINE_FIELDS(space, area, address)                                                                        \
    (((space) | (area) | (address)) >> 16 ? 0 : (__u64)(space) | (__u64)(area) << 16 | (__u64)(address) << 32)

#ifdef __bpf__

#include <bpf/bpf_helpers.h>

#include "arch.h"

enum { SMALLEST_PAGE = 4096 };

static __always_inline __u64 kernel_word(__u64 address)
{
    __u64 word = 0;
    bpf_probe_read_kernel(&word, sizeof word, (void *)address);
    return word;
}

/*
 * True if ADDRESS is where such functions of the current process return to; FIELDS: as above. A thread that fork has
 * just made has their returns to wait for before it has the code, which it then gets where its parent has it.
 */
static __always_inline int is_trampoline(__u64 address, __u64 fields)
{
    if (address & (SMALLEST_PAGE - 1))
        return 0;
    __u64 space = fields ? kernel_word((__u64)bpf_get_current_task() + (fields & 0xffff)) : 0;
    __u64 area = space ? kernel_word(space + (fields >> 16 & 0xffff)) : 0;
    return area ? kernel_word(area + (fields >> 32)) == address : IS_HIGHEST_PAGE(address);
}

#endif
