/*
 * Which file a code address is in, where there, and which rule unwinds its frame: process → mapping → file offset →
 * table → row → rule. 60 to 150 ns; the walk asks for each address once and keeps the answers (stack.bpf.c).
 *
 * Searches are written without branches on what is found, which the verifier would follow both ways at each step.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "arch.h"
#include "file_number.h"
#include "rule_cache.h"
#include "stack_slow.h"
#include "unwind.h"
#include "uprobes.h"
#include "vma.h"

struct slab {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
    __uint(max_entries, 1);
    __uint(key_size, sizeof(__u32)); /* not by types: clang knows those of an inner map by name only */
    __uint(value_size, sizeof(struct unwind_chunk));
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, UNWIND_SLABS);
    __type(key, __u32);
    __array(values, struct slab);
} uplua_unwind_slabs SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, UNWIND_TABLES);
    __type(key, __u32);
    __type(value, struct unwind_place);
} uplua_unwind_tables SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, RULE_NUMBERS);
    __type(key, __u32);
    __type(value, __u64);
} uplua_unwind_rules SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, UNWIND_PROCESSES);
    __type(key, __u32);
    __type(value, struct unwind_process);
} uplua_unwind_process SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct unwind_kernel);
} uplua_unwind_kernel SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, UNWIND_PROCESSES);
    __type(key, __u32);
    __type(value, struct unwind_early);
} uplua_unwind_early SEC(".maps");

/* When processes last executed a program: the time of uplua_unwind_program, for those that have since there are
 * stacks. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, UNWIND_EXECUTED);
    __type(key, __u32);
    __type(value, __u64);
} uplua_unwind_executed SEC(".maps");

/* Process ids whose mappings the user side should look at. */
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 65536);
} uplua_unwind_wanted SEC(".maps");

UNWIND_NAMES(IS_NAME)

static __always_inline struct unwind_process *process_of(__u32 tgid)
{
    return bpf_map_lookup_elem(&uplua_unwind_process, &tgid);
}

static __always_inline void want(__u32 tgid)
{
    __u32 *wanted = bpf_ringbuf_reserve(&uplua_unwind_wanted, sizeof *wanted, 0);
    if (wanted) {
        *wanted = tgid;
        bpf_ringbuf_submit(wanted, 0);
    }
}

long uplua_unwind_changes(void)
{
    __u32 none = 0;
    struct unwind_kernel *kernel = bpf_map_lookup_elem(&uplua_unwind_kernel, &none);
    return kernel ? kernel->changes : 0;
}

long uplua_unwind_code_mask(void)
{
    __u32 none = 0;
    struct unwind_kernel *kernel = bpf_map_lookup_elem(&uplua_unwind_kernel, &none);
    return kernel ? kernel->code_mask : 0;
}

long uplua_unwind_space(void)
{
    __u32 none = 0;
    struct unwind_kernel *kernel = bpf_map_lookup_elem(&uplua_unwind_kernel, &none);
    return kernel && kernel->space_state ? kernel_word((__u64)bpf_get_current_task() + kernel->task_space) : 0;
}

long uplua_unwind_state(long space)
{
    __u32 none = 0, changes = 0;
    struct unwind_kernel *kernel = bpf_map_lookup_elem(&uplua_unwind_kernel, &none);
    if (!space || !kernel)
        return 0;
    bpf_probe_read_kernel(&changes, sizeof changes, (void *)(space + kernel->space_state));
    /* While somebody changes mappings nobody executes what is new in them: an odd number counts as the even one before.
     * And 0 stands for none. */
    return changes << kernel->space_state_shift | 1;
}

long uplua_unwind_program(void)
{
    __u32 tgid = bpf_get_current_pid_tgid() >> 32, none = 0;
    struct unwind_kernel *kernel = bpf_map_lookup_elem(&uplua_unwind_kernel, &none);
    __u64 *executed = bpf_map_lookup_elem(&uplua_unwind_executed, &tgid), began = 0;
    if (kernel && kernel->task_leader)
        began = kernel_word(kernel_word((__u64)bpf_get_current_task() + kernel->task_leader) + kernel->task_start);
    /* an earlier one is of a process that had the number before */
    return executed && *executed > began ? *executed : began;
}

/* To be called where the kernel has executed a program for the current process, which has run nothing of it yet. */
__hidden long uplua_unwind_executes(void)
{
    __u32 tgid = bpf_get_current_pid_tgid() >> 32, none = 0;
    __u64 now = bpf_ktime_get_ns();
    struct unwind_kernel *kernel = bpf_map_lookup_elem(&uplua_unwind_kernel, &none);
    if (bpf_map_update_elem(&uplua_unwind_executed, &tgid, &now, BPF_ANY))
        lose(STACK_LOST_PROGRAM);
    if (kernel)
        __sync_fetch_and_add(&kernel->changes, 1);
    return 0;
}

/* To be called at the end of each thread: at the last one's there will be no more stacks of the process. */
__hidden long uplua_unwind_exits(void)
{
    __u32 tgid = bpf_get_current_pid_tgid() >> 32, none = 0;
    struct unwind_kernel *kernel = bpf_map_lookup_elem(&uplua_unwind_kernel, &none);
    if (!kernel || !kernel->task_leader)
        return 0;
    __u64 signal = kernel_word((__u64)bpf_get_current_task() + kernel->task_signal);
    if ((__u32)kernel_word(signal + kernel->signal_live))
        return 0;
    bpf_map_delete_elem(&uplua_unwind_executed, &tgid);
    __sync_fetch_and_add(&kernel->changes, 1);
    return 0;
}

static struct unwind_early nothing; /* all zeros */

/* What is known early of the process TGID, which executes PROGRAM; an account of an earlier program begins anew. */
static __always_inline struct unwind_early *early_of(__u32 tgid, __u64 program)
{
    struct unwind_early *early = bpf_map_lookup_elem(&uplua_unwind_early, &tgid);
    if (!early || early->program != program) {
        bpf_map_update_elem(&uplua_unwind_early, &tgid, &nothing, BPF_ANY);
        early = bpf_map_lookup_elem(&uplua_unwind_early, &tgid);
        if (early)
            early->program = program;
    }
    return early;
}

/* True once in PAUSE milliseconds, of which *ASKED keeps the last time. */
static __always_inline int may_ask(__u32 *asked)
{
    enum { PAUSE = 16 };
    __u32 now = bpf_ktime_get_ns() >> 20;
    if (now - *asked < PAUSE)
        return 0;
    *asked = now;
    return 1;
}

long uplua_unwind_generation(long program)
{
    __u32 tgid = bpf_get_current_pid_tgid() >> 32, none = 0;
    struct unwind_process *process = process_of(tgid);
    if (process && process->known >= (__u64)program)
        return process->generation;
    struct unwind_kernel *kernel = bpf_map_lookup_elem(&uplua_unwind_kernel, &none);
    if (!kernel || !kernel->listening)
        return -1;
    /* Most processes are over before there is an answer: one question for all their stacks. */
    struct unwind_early *early = kernel->file_inode ? early_of(tgid, program) : 0;
    if (!early || may_ask(&early->asked))
        want(tgid);
    return 0;
}

/* Asks for the mappings of PROCESS once more, but not at each of a thousand wrong addresses. */
static __always_inline void want_again(struct unwind_process *process, __u32 tgid)
{
    if (may_ask(&process->asked))
        want(tgid);
}

/* Word INDEX of the chunks from FIRST on, in *RESULT; 0 where SLAB does not have it. */
static __always_inline int read_word(void *slab, __u32 first, __u32 index, __u32 *result)
{
    __u32 key = first + index / UNWIND_CHUNK_WORDS;
    struct unwind_chunk *chunk = bpf_map_lookup_elem(slab, &key);
    if (!chunk)
        return 0;
    index %= UNWIND_CHUNK_WORDS;
    OPAQUE(index);
    *result = chunk->words[index & (UNWIND_CHUNK_WORDS - 1)];
    return 1;
}

/* The same for row INDEX, above which *RESULT has a byte of the next one. */
static __always_inline int read_row(void *slab, __u32 first, __u32 index, __u32 *result)
{
    __u32 chunk_number = UNWIND_ROW_CHUNK(index), inside = index - chunk_number * UNWIND_CHUNK_ROWS;
    __u32 key = first + chunk_number;
    struct unwind_chunk *chunk = bpf_map_lookup_elem(slab, &key);
    OPAQUE(inside);
    if (!chunk || inside >= UNWIND_CHUNK_ROWS)
        return 0;
    *result = *(__u32 *)&chunk->rows[inside * UNWIND_ROW_SIZE];
    return 1;
}

/* The row of OFFSET in the table at PLACE; 0, a row of RULE_UNKNOWN, where it has none. */
static __always_inline __u32 row_of(const struct unwind_place *place, __u64 offset)
{
    enum { STEPS = 11 }; /* halve a block of 1,024 rows, one for each byte */
    __u32 slab_number = place->slab, first = place->first, count = place->block_count;
    __u64 block = (offset >> UNWIND_BLOCK_SHIFT) - place->start_block;
    void *slab = bpf_map_lookup_elem(&uplua_unwind_slabs, &slab_number);
    if (!slab || block >= count)
        return 0;
    __u32 at, end, row, rows = first + UNWIND_INDEX_CHUNKS(count);
    if (!read_word(slab, first, block, &at) || !read_word(slab, first, block + 1, &end))
        return 0;
    __u32 left = end - at;
    __s64 wanted = offset & ((1 << UNWIND_BLOCK_SHIFT) - 1);
    for (int i = 0; i < STEPS && left; i++) {
        __u32 half = (left + 1) / 2;
        if (!read_row(slab, rows, at + half - 1, &row))
            return 0;
        __s64 below = (wanted - (__s64)UNWIND_ROW_OFFSET(row)) >> 63; /* all ones: the row begins behind OFFSET */
        at += half & ~(__u32)below;
        left -= half;
    }
    return read_row(slab, rows, at - 1, &row) ? row : 0;
}

/* The rule for the code at ADDRESS, which is OFFSET in the file NUMBER; 0: of code without a file. */
static __always_inline __u64 rule_in(__u32 number, __u64 address, __u64 offset)
{
    struct unwind_place *place = number ? bpf_map_lookup_elem(&uplua_unwind_tables, &number) : 0;
    if (!place)
        return RULE_BY_FRAME_POINTER;
    if (place->state == UNWIND_NOT_SEEN)
        return RULE_UNMAPPED;
    __u32 rule_number = UNWIND_ROW_RULE(row_of(place, offset));
    __u64 *found = rule_number ? bpf_map_lookup_elem(&uplua_unwind_rules, &rule_number) : 0;
    __u64 rule = found ? *found : RULE_UNKNOWN;
    if (rule == RULE_UNKNOWN)
        return RULE_BY_FRAME_POINTER;
    if (RULE_KIND(rule) == RULE_PLT) /* decided by the address: the answer is an ordinary rule */
        return RULE(RULE_REGISTER, DWARF_STACK_POINTER, (__s64)(address & 15) >= RULE_OFFSET(rule) ? 16 : 8, 0, -8);
    return rule;
}

/*
 * The struct inode of the code that is mapped by FILE, a struct file. On overlayfs there are two of it, that of the
 * file in its layer, and that which programs see: it depends on the kernel by which of them mappings are reported. A
 * backing file, that of the layer, is known by the path behind it, whose two parts are of one file system. By itself,
 * since with it the search for code would take more of the stack.
 */
long uplua_unwind_inode(long file)
{
    __u32 none = 0;
    struct unwind_kernel *kernel = bpf_map_lookup_elem(&uplua_unwind_kernel, &none);
    if (!kernel)
        return 0;
    __u64 inode = kernel_word(file + kernel->file_inode);
    __u64 entry = kernel->backing_entry ? kernel_word(file + kernel->backing_entry) : 0;
    __u64 super = entry ? kernel_word(entry + kernel->entry_super) : 0;
    if (!super || kernel_word(kernel_word(file + kernel->backing_mount) + kernel->mount_super) != super)
        return inode;
    __u64 seen = kernel_word(entry + kernel->entry_inode);
    struct unwind_inode key = key_of(kernel, seen);
    return bpf_map_lookup_elem(&uplua_unwind_files, &key) ? seen : inode;
}

/* What RANGE's check is, in this STATE of an address space. */
static __always_inline __u64 check_of(const struct unwind_range *range, __u64 state)
{
    return mix(mix(mix(mix(state, range->start), range->size), range->offset), range->number);
}

enum found { FOUND, NO_FILE, NO_CODE, GONE };

/*
 * Finds PLACE of the code at ADDRESS in a mapping that nobody has reported yet: in a process that has just begun, or a
 * library that has just been loaded. NO_FILE: its file is not known; NO_CODE: nothing there can be executed; GONE:
 * nothing is mapped.
 */
static __always_inline enum found place_by_file(__u32 tgid, __u64 address, struct unwind_kernel *kernel,
                                                struct scratch *scratch)
{
    struct place *place = &scratch->place;
    __u64 space = kernel_word((__u64)bpf_get_current_task() + kernel->task_space), i = 0;
    struct unwind_early *early = early_of(tgid, uplua_unwind_program()); /* 0: there is no memory for it now */
    while (early && i < UNWIND_RANGES && address - early->ranges[i].start >= early->ranges[i].size)
        i++;
    OPAQUE(i);
    if (early && i < UNWIND_RANGES && early->ranges[i].check == check_of(&early->ranges[i], scratch->state)) {
        place->number = early->ranges[i].number;
        place->offset = address - early->ranges[i].start + early->ranges[i].offset;
        return FOUND;
    }
    if (!space)
        return GONE;
    __u64 vma = find_vma(kernel, &scratch->search, space, address);
    if (!vma || !(kernel_word(vma + kernel->vma_flags) & VMA_EXECUTABLE)) /* in execve the registers may be older */
        return kernel_word((__u64)bpf_get_current_task() + kernel->task_execve) & kernel->task_execve_mask ? GONE
                                                                                                           : NO_CODE;
    __u64 mapped = kernel_word(vma + kernel->vma_file);
    __u64 start = kernel_word(vma + kernel->vma_start);
    __u32 number = 0;
    if (mapped)
        number = number_of(kernel, uplua_unwind_inode(mapped));
    else if (kernel->space_vdso && kernel_word(space + kernel->space_vdso) == start)
        number = kernel->vdso;
    place->number = number;
    if (!number) /* code that the program has made */
        return FOUND;
    if (number == UNNUMBERED)
        return NO_FILE;
    __u64 size = kernel_word(vma + kernel->vma_end) - start;
    __u64 offset = kernel_word(vma + kernel->vma_offset) << kernel->page_shift;
    if (address - start >= size) /* changed just now */
        return NO_FILE;
    place->offset = address - start + offset;
    if (!early)
        return FOUND;
    __u64 at = i < UNWIND_RANGES ? i : __sync_fetch_and_add(&early->count, 1); /* in place of what was there before */
    OPAQUE(at);
    struct unwind_range *range = &early->ranges[at & (UNWIND_RANGES - 1)];
    range->start = start;
    range->size = size;
    range->offset = offset;
    range->number = number;
    range->check = check_of(range, scratch->state);
    return FOUND;
}

/*
 * True if the kernel has MAPPING, of the current process, as it says, at ADDRESS, for which SCRATCH has its place. Then
 * it need not be asked again in this state of the address space.
 */
static __always_inline int is_mapped(struct unwind_kernel *kernel, struct unwind_mapping *mapping, __u64 address,
                                     struct scratch *scratch)
{
    __u64 space = kernel_word((__u64)bpf_get_current_task() + kernel->task_space);
    __u64 vma = find_vma(kernel, &scratch->search, space, address);
    if (!vma || !(kernel_word(vma + kernel->vma_flags) & VMA_EXECUTABLE))
        return 0;
    __u64 file = kernel_word(vma + kernel->vma_file), start = kernel_word(vma + kernel->vma_start);
    __u32 number = mapping->number;
    if (file) {
        __u64 inode = uplua_unwind_inode(file);
        struct unwind_inode key = key_of(kernel, inode);
        struct unwind_known *known = bpf_map_lookup_elem(&uplua_unwind_files, &key);
        if (number ? !known || known->number != number || !is_unwritten(kernel, inode, known)
                   : known && is_unchanged(kernel, inode, known))
            return 0;
        if (number &&
            address - start + (kernel_word(vma + kernel->vma_offset) << kernel->page_shift) != scratch->place.offset)
            return 0;
    } else if (number &&
               (number != kernel->vdso || (kernel->space_vdso && kernel_word(space + kernel->space_vdso) != start))) {
        return 0;
    }
    if (mapping->start >= start &&
        mapping->start + ((__u64)mapping->pages << UNWIND_PAGE_SHIFT) <= kernel_word(vma + kernel->vma_end))
        mapping->checked = scratch->state;
    return 1;
}

/* Finds PLACE by the mappings of PROCESS, and in *FOUND the mapping that has ADDRESS; false where none has. */
static __always_inline int place_by_mapping(struct unwind_process *process, __u64 address, struct place *place,
                                            struct unwind_mapping **found)
{
    __u32 at = 0;
#pragma unroll
    for (__u32 step = UNWIND_MAPPINGS / 2; step; step /= 2) {
        __u32 next = at + step;
        OPAQUE(next);
        next &= UNWIND_MAPPINGS - 1;
        __s64 below = (__s64)(address - process->mappings[next].start) >> 63;
        at += step & ~(__u32)below;
    }
    OPAQUE(at);
    struct unwind_mapping *mapping = *found = &process->mappings[at & (UNWIND_MAPPINGS - 1)];
    __u64 inside = address - mapping->start;
    place->number = mapping->number;
    place->offset = inside + ((__u64)mapping->offset << UNWIND_PAGE_SHIFT);
    return inside >> UNWIND_PAGE_SHIFT < mapping->pages;
}

/* The code at ADDRESS, whose rule may have RULE_GUESSED, and in SCRATCH its place. Tag 0: what is known of the process,
 * if anything, is about an earlier program. State 0: the kernel does not tell whether its mappings have changed since
 * they were reported. */
static __always_inline struct code find_code(struct scratch *scratch, __u64 address)
{
    struct place *place = &scratch->place;
    __u32 tgid = bpf_get_current_pid_tgid() >> 32, none = 0;
    struct unwind_process *process = scratch->tag ? process_of(tgid) : 0;
    struct unwind_kernel *kernel = bpf_map_lookup_elem(&uplua_unwind_kernel, &none);
    struct unwind_mapping *mapping = 0;
    int is_known = process && place_by_mapping(process, address, place, &mapping);
    if (is_known && kernel && scratch->state && mapping->checked != (__u32)scratch->state &&
        !is_mapped(kernel, mapping, address, scratch))
        is_known = 0;
    if (!is_known) {
        if (!kernel || !kernel->file_inode) /* a kernel without BTF, or nobody makes tables */
            return (struct code){RULE_BY_FRAME_POINTER, 0};
        if (process)
            want_again(process, tgid);
        enum found found = place_by_file(tgid, address, kernel, scratch);
        if (found != FOUND)
            return (struct code){found == GONE ? RULE_GONE : found == NO_CODE ? RULE_NO_CODE : RULE_UNMAPPED, 0};
    }
    struct code code = {rule_in(place->number, address, place->offset), 0};
    if (place->number && !(place->offset >> STACK_FILE_SHIFT))
        code.to_file = STACK_IN_FILE + (place->number << STACK_FILE_SHIFT) + place->offset - address;
    return code;
}

/*
 * True if LINK is where a signal's handler returns to, by the code there: that of musl and of the vDSO of aarch64
 * has no call frame information. No call stands before it.
 */
static __always_inline int is_signal_trampoline(__u64 link)
{
    __u64 code = 0;
    bpf_probe_read_user(&code, sizeof code, (void *)link);
    return code == SIGNAL_TRAMPOLINE;
}

long uplua_unwind_is_trampoline(long address)
{
    __u32 none = 0;
    struct unwind_kernel *kernel = bpf_map_lookup_elem(&uplua_unwind_kernel, &none);
    return kernel && is_trampoline(address, kernel->trampoline);
}

/* True if ADDRESS, which is in no file, is in code that the kernel has put there for uprobes. */
static __always_inline int is_of_uprobes(__u64 address)
{
    __u32 none = 0;
    struct unwind_kernel *kernel = bpf_map_lookup_elem(&uplua_unwind_kernel, &none);
    if (!kernel || !kernel->trampoline)
        return 0;
    __u64 page = address >> kernel->page_shift << kernel->page_shift;
    return is_trampoline(page, kernel->trampoline) || trampoline_at(address);
}

long uplua_unwind_code(struct rule_cache *cache, struct scratch *scratch, long link)
{
    if (!cache || !scratch)
        return 0;
    scratch->code = (struct code){RULE_BY_FRAME_POINTER, 0};
    if (uplua_unwind_is_trampoline(link)) /* whose call is not known */
        return 1;
    struct code found = find_code(scratch, link - 1);
    if ((found.rule == RULE_BY_FRAME_POINTER || found.rule & RULE_GUESSED) && is_signal_trampoline(link))
        found.rule = RULE_SIGNAL;
    /* What is no code has no caller to guess, though its file may be known as code as a whole (uplua_stack_climb). */
    if ((found.rule == RULE_BY_FRAME_POINTER || found.rule & RULE_GUESSED) && found.to_file &&
        (scratch->back || uplua_unwind_is_code(scratch, link - 1)))
        found.to_file += STACK_GUESSED;
    found.rule &= ~RULE_GUESSED;
    if (found.rule == RULE_BY_FRAME_POINTER && !found.to_file && is_of_uprobes(link - 1))
        found.rule = RULE_OF_UPROBES;
    __u64 unread = found.rule == RULE_OF_UPROBES && trampoline_at(link - 1) == UNREAD;
    if (!is_plain(found.rule) || !found.to_file)
        found.rule |= RULE_ODD;
    if (found.rule != RULE_UNMAPPED && found.rule != RULE_NO_CODE && found.rule != RULE_GONE && !unread)
        keep_code(cache, scratch->tag, link, found);
    scratch->code = found;
    return 1;
}

long uplua_unwind_is_breakpoint(long address)
{
#if BREAKPOINT_SIZE
    __u8 code = 0;
    bpf_probe_read_user(&code, sizeof code, (void *)address);
    return code == BREAKPOINT;
#else
    (void)address;
    return 0;
#endif
}

long uplua_unwind_is_code(struct scratch *scratch, long address)
{
    __u32 none = 0;
    struct unwind_kernel *kernel = bpf_map_lookup_elem(&uplua_unwind_kernel, &none);
    if (!kernel || !kernel->file_inode || !scratch)
        return 1;
    __u64 space = kernel_word((__u64)bpf_get_current_task() + kernel->task_space);
    __u64 vma = find_vma(kernel, &scratch->search, space, address);
    return vma && kernel_word(vma + kernel->vma_flags) & VMA_EXECUTABLE;
}

long uplua_unwind_return(long slot)
{
    enum { DEEPEST = 128 }; /* the kernel goes to 64 (MAX_URETPROBE_DEPTH) */
    __u32 none = 0;
    struct search search = {.kernel = bpf_map_lookup_elem(&uplua_unwind_kernel, &none), .slot = slot};
    struct unwind_kernel *kernel = search.kernel;
    if (!kernel || !kernel->return_original)
        return 0;
    __u64 uprobes = kernel_word((__u64)bpf_get_current_task() + kernel->task_uprobes);
    search.instance = uprobes ? kernel_word(uprobes + kernel->uprobes_returns) : 0;
    bpf_loop(DEEPEST, search_returns, &search, 0);
    return search.original;
}

long uplua_unwind_returned(long slot)
{
    __u32 none = 0;
    struct search search = {.kernel = bpf_map_lookup_elem(&uplua_unwind_kernel, &none), .slot = slot};
    struct unwind_kernel *kernel = search.kernel;
    if (!kernel || !kernel->uprobes_returned)
        return 0;
    __u64 uprobes = kernel_word((__u64)bpf_get_current_task() + kernel->task_uprobes);
    search.instance = uprobes ? kernel_word(uprobes + kernel->uprobes_returned) : 0;
    search_returns(0, &search);
    return search.original;
}

long uplua_unwind_leave(struct scratch *scratch)
{
    __u32 none = 0;
    struct unwind_kernel *kernel = bpf_map_lookup_elem(&uplua_unwind_kernel, &none);
    if (!scratch || !kernel)
        return 0;
    __u64 ip = scratch->ip, sp = scratch->sp;
    if (!leave_copy(kernel, &ip) && (scratch->back || !leave_trampoline(kernel, &ip, &sp)))
        return 0;
    scratch->ip = ip;
    scratch->sp = sp;
    return 1;
}

long uplua_unwind_place(long ip, long sp)
{
    __u32 none = 0;
    struct unwind_kernel *kernel = bpf_map_lookup_elem(&uplua_unwind_kernel, &none);
    __u64 at = ip, top = sp;
    if (kernel && kernel->trampoline && !leave_copy(kernel, &at))
        leave_trampoline(kernel, &at, &top);
    return at;
}
