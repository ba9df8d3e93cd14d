/* Scans of a process's memory. */
#include "scan/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "scan/sweep.h"
#include "scan/words.h"
#include "sys/clock.h"
#include "sys/exit_hold.h"
#include "sys/kernel_pointers.h"
#include "sys/process_memory.h"
#include "sys/task_registers.h"
#include "sys/thread_stop.h"

#define THREAD_STOP_NS                                                                                                 \
    200000000 /* that a thread gets to stop, to tell its registers: it may have to wait for a CPU                      \
               */

/* 128 MB of words that are kept while the process is stopped; where there are more, it is looked at what they lead to
 * while it stands. */
#define MOST_WORDS (8u << 20)

struct scan {
    int pid;
    unsigned percent;
    uint64_t most;
    struct process_memory memory;
    bool opened;
    struct blocks blocks, free; /* FREE: chunks of glibc's heap that are free, as far as that is known */
    struct graph graph;
    struct sweep sweep;
    struct suspects suspects;
    struct groups groups;
    struct task_registers *tasks; /* NULL: they are stopped to be asked */
    struct thread_words *threads;
    size_t thread_count, thread_capacity;
    struct stopped stopped;       /* all threads, while the process is */
    const struct exit_hold *hold; /* the process has come to its end; NULL */
    bool is_stopped;
    uint64_t stopped_at, stood_at,
        deadline; /* while it is: since when it was asked to, and since when all threads are */
    bool keeps;   /* words, of this pass, until the process goes on */
    struct address_parts parts;
    struct words roots, words; /* of threads and the kernel; of memory */
    const struct map *map;     /* of this pass */
    const struct scan_layout *layout;
    uint64_t born;          /* when the first pass began */
    struct glibc_heap heap; /* of a pass over chunks */
    struct scan_totals totals;
    struct error err;
};

struct scan *scan_new(int pid, unsigned percent, uint64_t most)
{
    struct scan *scan = calloc(1, sizeof *scan);
    if (!scan)
        return NULL;
    int code;
    *scan = (struct scan){.pid = pid, .percent = percent ? percent : 1, .most = most};
    scan->tasks = task_registers_open(&code);
    return scan;
}

void scan_free(struct scan *scan)
{
    if (!scan)
        return;
    scan_go_on(scan);
    blocks_free(&scan->blocks);
    blocks_free(&scan->free);
    graph_free(&scan->graph);
    sweep_free(&scan->sweep);
    suspects_free(&scan->suspects);
    groups_free(&scan->groups);
    address_parts_free(&scan->parts);
    words_free(&scan->roots);
    words_free(&scan->words);
    task_registers_close(scan->tasks);
    if (scan->opened)
        process_memory_close(&scan->memory);
    free(scan->threads);
    free(scan);
}

const char *scan_error(const struct scan *scan)
{
    return scan->err.text;
}

/* --- the process stops --- */

static int open_memory(struct scan *scan)
{
    if (scan->opened)
        return 0;
    int code = process_memory_open(&scan->memory, scan->pid, &scan->err);
    scan->opened = !code;
    return code;
}

int scan_stop(struct scan *scan, uint64_t ns)
{
    int opened = open_memory(scan); /* before, for this takes its time, too */
    if (opened)
        return opened;
    scan->stopped_at = clock_now();
    scan->deadline = scan->stopped_at + ns;
    int code = thread_stop_all(scan->pid, scan->deadline, &scan->stopped, &scan->err);
    scan->stood_at = clock_now();
    scan->is_stopped = !code;
    return code;
}

void scan_at_end(struct scan *scan, const struct exit_hold *hold, uint64_t ns)
{
    scan->stopped_at = scan->stood_at = clock_now();
    scan->deadline = scan->stopped_at + ns;
    scan->hold = hold;
    scan->is_stopped = true;
}

void scan_go_on(struct scan *scan)
{
    if (!scan->is_stopped)
        return;
    if (!scan->hold) /* which goes on when its hold is given up */
        thread_let_go(&scan->stopped);
    scan->is_stopped = false;
    scan->totals.stopped_for += clock_now() - scan->stopped_at;
}

/* Lets a stopped process go on where CODE is an error. Returns CODE, with its text. */
static int failed(struct scan *scan, int code)
{
    scan_go_on(scan);
    if (code == -ETIMEDOUT)
        error_set(&scan->err, code, "process %d was stopped for too long, and goes on", scan->pid);
    else if (code == -EFBIG)
        error_set(&scan->err, code, "process %d has more memory than a pass reads (%llu MB)", scan->pid,
                  (unsigned long long)(scan->most >> 20));
    else if (code == -ESRCH)
        error_set(&scan->err, code, "process %d has ended, or executed another program", scan->pid);
    else
        error_set(&scan->err, code, "process %d: %s", scan->pid, error_reason(code));
    return code;
}

/* --- what is found in memory, and elsewhere --- */

/* Loads the blocks, and looks at what the words lead to that are kept. */
static int look(struct scan *scan)
{
    /* What was allocated after the process stood is none of what was read; what has been freed since was not lost. */
    uint64_t last = scan->keeps ? scan->stood_at : UINT64_MAX;
    int code = 0;
    if (scan->map)
        code = blocks_load(&scan->blocks, scan->map, scan->layout, last, scan->is_stopped ? scan->deadline : 0);
    if (!code)
        code = graph_begin(&scan->graph, &scan->blocks, &scan->free);
    scan->totals.blocks = scan->blocks.count;
    if (code || !scan->keeps)
        return code;
    for (size_t i = 0; i < scan->roots.count; i++)
        graph_add_root(&scan->graph, scan->roots.items[i].word, scan->roots.items[i].at, scan->roots.items[i].rank);
    graph_add_words(&scan->graph, scan->words.items, scan->words.count);
    return 0;
}

static int take(void *context, const uint8_t *bytes, uint64_t address, size_t size, enum rank rank)
{
    struct scan *scan = context;
    if (scan->keeps) {
        if (words_add_memory(&scan->words, bytes, address, size, rank))
            return 0;
        int code = look(scan); /* there are too many */
        if (code)
            return code;
        scan->keeps = false;
    }
    graph_add_memory(&scan->graph, bytes, address, size, rank);
    return 0;
}

static void add_root(struct scan *scan, uint64_t word, uint64_t root, enum rank rank)
{
    if (scan->keeps)
        words_add_root(&scan->roots, word, root, rank);
    else
        graph_add_root(&scan->graph, word, root, rank);
}

/* Has words be kept that lead to where blocks may be: memory that is written to, or that is of no file. */
static int keep_words(struct scan *scan)
{
    int code = address_parts_begin(&scan->parts);
    for (size_t i = 0; !code && i < scan->sweep.count; i++) {
        const struct region *region = &scan->sweep.regions[i];
        if (region->writable || !region->in_file)
            address_parts_add(&scan->parts, region->start, region->end);
    }
    words_begin(&scan->roots, &scan->parts, SIZE_MAX);
    words_begin(&scan->words, &scan->parts, MOST_WORDS);
    scan->keeps = !code;
    return code;
}

/* --- threads --- */

static void add_thread(struct scan *scan, const struct thread_words *thread)
{
    if (array_room(&scan->threads, scan->thread_count, &scan->thread_capacity, sizeof *scan->threads)) {
        struct thread_words *added = &scan->threads[scan->thread_count++];
        *added = *thread;
        added->words = NULL; /* they are taken in at once */
    }
    for (size_t i = 0; i < thread->count; i++)
        add_root(scan, thread->words[i], ROOT_OF(ROOT_REGISTER, (uint64_t)thread->tid), RANK_STACK);
}

static void visit_stopped(void *context, const struct thread_words *thread)
{
    struct scan *scan = context;
    scan->totals.stopped++;
    add_thread(scan, thread);
}

/* A thread that does not sleep is stopped for a moment. */
static void ask_thread(struct scan *scan, pid_t tid)
{
    struct stopped one;
    int code = thread_stop(scan->pid, tid, clock_now() + THREAD_STOP_NS, &one, NULL);
    if (!code)
        code = thread_stop_registers(&one, visit_stopped, scan);
    thread_let_go(&one);
    scan->totals.unseen += code && code != -ESRCH;
}

static void visit_sleeping(void *context, const struct thread_words *thread)
{
    struct scan *scan = context;
    if (!thread->words) {
        ask_thread(scan, thread->tid);
        return;
    }
    scan->totals.asleep++;
    add_thread(scan, thread);
}

/* Where the kernel tells of no registers, all threads are stopped one moment for them. */
static int ask_all(struct scan *scan)
{
    struct stopped all;
    int code = thread_stop_all(scan->pid, clock_now() + THREAD_STOP_NS, &all, &scan->err);
    if (!code)
        code = thread_stop_registers(&all, visit_stopped, scan);
    thread_let_go(&all);
    return code;
}

static int read_threads(struct scan *scan)
{
    scan->thread_count = 0;
    scan->totals.asleep = scan->totals.stopped = scan->totals.unseen = 0;
    if (scan->is_stopped && scan->hold) {
        visit_stopped(scan, exit_hold_words(scan->hold));
        return 0;
    }
    if (scan->is_stopped)
        return thread_stop_registers(&scan->stopped, visit_stopped, scan);
    int code = scan->tasks ? task_registers_read(scan->tasks, scan->pid, visit_sleeping, scan) : -ENOSYS;
    return code && code != -ENOMEM ? ask_all(scan) : code;
}

static void visit_kernel(void *context, enum kernel_pointer kind, unsigned number, uint64_t word)
{
    struct scan *scan = context;
    uint64_t root = kind == KERNEL_POINTER_EPOLL ? ROOT_OF(ROOT_EPOLL, number) : ROOT_OF(ROOT_TIMER, number);
    add_root(scan, word, root, RANK_VARIABLE);
}

/* --- free memory --- */

/* Whether there is time to read which chunks are free: reading them takes some 2 ns a byte of the time that is left. */
static bool has_time_for_free(const struct scan *scan)
{
    uint64_t bytes = 0, now = clock_now();
    for (size_t i = 0; i < scan->sweep.count; i++)
        if (glibc_heap_may_be(&scan->sweep.regions[i]))
            bytes += scan->sweep.regions[i].resident;
    return now < scan->deadline && bytes < (scan->deadline - now) / 8;
}

/*
 * Finds out which memory of glibc's heap is free, where the process is stopped and there is time for that. A program
 * leaves pointers in what it frees, which keep nothing. Of a process that runs this cannot be known: memory that was
 * free a moment ago may have a pointer now that was moved there. 0, or -ETIMEDOUT.
 */
static int find_free(struct scan *scan)
{
    struct glibc_heap heap;
    struct error none;
    size_t kept = 0;
    blocks_free(&scan->free);
    scan->totals.free_known = false;
    if (!scan->is_stopped || !has_time_for_free(scan))
        return 0;
    int code = glibc_heap_read(&scan->memory, scan->sweep.regions, scan->sweep.count, &scan->free, &heap, &none);
    for (size_t i = 0; !code && i < scan->free.count; i++)
        if (CHUNK_KIND(scan->free.items[i].stack) != CHUNK_USED)
            scan->free.items[kept++] = scan->free.items[i];
    scan->free.count = kept;
    scan->totals.free_known = !code && !heap.damages && !blocks_index(&scan->free);
    if (!scan->totals.free_known)
        blocks_free(&scan->free);
    return code == -ETIMEDOUT ? code : 0;
}

/* --- a pass --- */

static int begin(struct scan *scan, const struct map *map, const struct scan_layout *layout)
{
    int code = open_memory(scan);
    if (code) {
        scan_go_on(scan);
        return code;
    }
    uint64_t began = clock_now();
    scan->memory.until = scan->is_stopped ? scan->deadline : 0;
    scan->map = map;
    scan->layout = layout;
    scan->keeps = false;
    code = sweep_begin(&scan->sweep, &scan->memory, scan->is_stopped ? 100 : scan->percent, scan->most);
    if (!code && !map) {
        code = glibc_heap_read(&scan->memory, scan->sweep.regions, scan->sweep.count, &scan->blocks, &scan->heap,
                               &scan->err);
        if (code && code != -ETIMEDOUT) {
            scan_go_on(scan);
            return code;
        }
    }
    if (!code && map)
        code = find_free(scan);
    if (!code)
        code = scan->is_stopped ? keep_words(scan) : look(scan);
    if (!code)
        code = read_threads(scan);
    if (code)
        return failed(scan, code);
    if (!scan->totals.passes)
        scan->born = began;
    sweep_set_stacks(&scan->sweep, scan->pid, scan->threads, scan->thread_count);
    code = kernel_pointers_visit(scan->pid, scan->memory.until, visit_kernel, scan);
    return code ? failed(scan, code) : 0;
}

int scan_begin(struct scan *scan, const struct map *map, const struct scan_layout *layout)
{
    return begin(scan, map, layout);
}

int scan_begin_chunks(struct scan *scan)
{
    return begin(scan, NULL, NULL);
}

const struct glibc_heap *scan_chunks(const struct scan *scan)
{
    return &scan->heap;
}

int scan_step(struct scan *scan, uint64_t ns)
{
    uint64_t until = clock_now() + ns;
    if (scan->is_stopped && scan->deadline < until)
        until = scan->deadline;
    int code = sweep_step(&scan->sweep, take, scan, until);
    if (!code && scan->is_stopped && clock_now() >= scan->deadline)
        code = -ETIMEDOUT;
    return code < 0 ? failed(scan, code) : code;
}

static void read_again(void *context, uint32_t i)
{
    struct scan *scan = context;
    const struct scan_block *block = &scan->blocks.items[i];
    if (scan->keeps) {
        size_t count;
        const struct graph_word *words =
            words_between(&scan->words, block->address, block->address + block->bytes, &count);
        graph_add_words(&scan->graph, words, count);
    } else {
        sweep_again(&scan->sweep, take, scan, block->address, block->bytes);
    }
}

int scan_finish(struct scan *scan)
{
    bool exact = scan->is_stopped;
    int code = 0;
    if (!exact) /* what has been moved to registers meanwhile */
        read_threads(scan);
    if (exact && (scan->keeps || !scan->graph.cut))
        scan_go_on(scan); /* all that is to be known of it is known */
    if (scan->keeps)
        code = look(scan);
    if (code)
        return failed(scan, code);
    graph_finish(&scan->graph, read_again, scan);
    scan_go_on(scan);
    if (!process_memory_is_same(&scan->memory))
        return failed(scan, -ESRCH);
    if (exact)
        code = suspects_begin(&scan->suspects, &scan->graph, UINT64_MAX);
    else if (!scan->totals.passes)
        code = suspects_begin(&scan->suspects, &scan->graph, scan->born);
    else
        suspects_keep(&scan->suspects, &scan->graph);
    scan->totals.passes++;
    scan->totals.exact = exact;
    scan->totals.suspects = scan->suspects.count;
    scan->totals.read = scan->sweep.read;
    scan->totals.unread = scan->sweep.unread;
    scan->totals.watched = scan->sweep.watched;
    scan->totals.device = scan->sweep.device;
    return code ? failed(scan, code) : 0;
}

int scan_confirm(struct scan *scan, const struct map *map, const struct scan_layout *layout)
{
    struct blocks blocks = {0};
    int code = blocks_load(&blocks, map, layout, UINT64_MAX, 0);
    if (!code)
        suspects_confirm(&scan->suspects, &blocks);
    blocks_free(&blocks);
    scan->totals.suspects = scan->suspects.count;
    return code ? failed(scan, code) : 0;
}

/* --- results --- */

const struct scan_totals *scan_totals(const struct scan *scan)
{
    return &scan->totals;
}

int64_t scan_groups(struct scan *scan, const struct scan_group **groups)
{
    int code = groups_make(&scan->groups, &scan->graph, &scan->suspects, scan->totals.exact ? UINT64_MAX : scan->born);
    *groups = scan->groups.items;
    return code ? code : (int64_t)scan->groups.count;
}

int64_t scan_holders(const struct scan *scan, const struct scan_holder **holders)
{
    *holders = scan->groups.holders;
    return (int64_t)scan->groups.holder_count;
}

const struct scan_block *scan_block_at(const struct scan *scan, uint32_t block)
{
    return block < scan->blocks.count ? &scan->blocks.items[block] : NULL;
}

uint32_t scan_from(const struct scan *scan, uint32_t block)
{
    return block < scan->blocks.count ? scan->graph.from[block] : NO_BLOCK;
}

int64_t scan_link(struct scan *scan, uint32_t from, uint32_t to)
{
    uint64_t words[512];
    const struct scan_block *block = &scan->blocks.items[from], *target = &scan->blocks.items[to];
    for (uint64_t at = 0; at < block->bytes; at += sizeof words) {
        uint64_t left = block->bytes - at;
        ssize_t got = process_memory_read(&scan->memory, NULL, block->address + at, words,
                                          left < sizeof words ? (size_t)left : sizeof words);
        for (size_t i = 0; got > 0 && i < (size_t)got / sizeof *words; i++)
            if ((words[i] & 0x0000fffffffffff8ull) - target->address <= target->bytes)
                return (int64_t)(at + i * sizeof *words);
    }
    return -ENOENT;
}

int scan_thread_at(const struct scan *scan, uint64_t address)
{
    const struct thread_words *best = NULL;
    for (size_t i = 0; i < scan->thread_count; i++) {
        const struct thread_words *thread = &scan->threads[i];
        bool in_stack = thread->stack_pointer <= address + 128 && address < thread->thread_pointer;
        bool in_variables = address - (thread->thread_pointer - 4096) < 8192; /* with those of the C library */
        if ((in_variables || in_stack) && (!best || thread->stack_pointer > best->stack_pointer))
            best = thread;
    }
    return best && sweep_same_region(&scan->sweep, best->thread_pointer, address) ? best->tid : 0;
}

bool scan_suspects(const struct scan *scan, uint64_t address, uint64_t at)
{
    struct scan_block block = {.address = address, .at = at};
    return suspects_has(&scan->suspects, &block);
}
