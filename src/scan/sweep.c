/* The walk over a process's memory. */
#include "scan/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sys/clock.h"

enum {
    PIECE = 64 << 10,
    LARGE_PIECE = 1 << 20, /* of a process that is stopped: reads twice as fast */
    CARRIED = 8,           /* bytes of the piece before, in which a word may begin */
    PAGE = 4096,
    CATCH_UP =
        10000000,   /* ns: of what waking up and looking at a piece has taken beyond its turn, so much is made up for */
    RED_ZONE = 128, /* below the stack pointer (System V ABI for x86-64, 3.2.2) */
};

int sweep_begin(struct sweep *sweep, struct process_memory *memory, unsigned percent, uint64_t most)
{
    uint8_t *buffer = sweep->buffer ? sweep->buffer : malloc(CARRIED + LARGE_PIECE);
    sweep->buffer = NULL;
    sweep_free(sweep);
    *sweep = (struct sweep){.memory = memory, .buffer = buffer, .percent = percent, .most = most};
    int code = buffer ? process_memory_regions(memory, &sweep->regions, &sweep->count) : -ENOMEM;
    if (code)
        return code;
    sweep->live_from = calloc(sweep->count, sizeof *sweep->live_from);
    sweep->stacks = calloc(sweep->count, sizeof *sweep->stacks);
    return sweep->live_from && sweep->stacks ? 0 : -ENOMEM;
}

void sweep_free(struct sweep *sweep)
{
    free(sweep->regions);
    free(sweep->live_from);
    free(sweep->stacks);
    free(sweep->buffer);
    *sweep = (struct sweep){0};
}

/* --- stacks --- */

static size_t region_of(const struct sweep *sweep, uint64_t address)
{
    size_t low = 0, high = sweep->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sweep->regions[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sweep->count && sweep->regions[low].start <= address ? low : sweep->count;
}

bool sweep_same_region(const struct sweep *sweep, uint64_t a, uint64_t b)
{
    size_t region = region_of(sweep, a);
    return region < sweep->count && region == region_of(sweep, b);
}

/* True if ADDRESS of another one of THREADS than I lies from START to END. */
static bool another_is_in(const struct thread_words *threads, size_t count, size_t i, uint64_t start, uint64_t end)
{
    for (size_t k = 0; k < count; k++) {
        bool pointer = threads[k].stack_pointer - start < end - start;
        bool variables = threads[k].thread_pointer - start < end - start;
        if (k != i && (pointer || variables))
            return true;
    }
    return false;
}

/*
 * True if REGION is surely the stack of thread I and nothing else, from its begin: the first thread's by its name,
 * another one's if it begins behind a guard, ends with the thread's own variables, as pthread_create makes it, and has
 * none of another thread's. A coroutine's, which may lie anywhere, is none.
 */
static bool is_stack(const struct sweep *sweep, size_t region, pid_t pid, const struct thread_words *threads,
                     size_t count, size_t i)
{
    const struct region *r = &sweep->regions[region], *before = region ? r - 1 : NULL;
    const struct thread_words *thread = &threads[i];
    if (r->main_stack)
        return thread->tid == pid;
    bool guarded = before && before->end == r->start && !before->readable && !before->writable;
    bool variables = thread->thread_pointer > thread->stack_pointer && thread->thread_pointer < r->end;
    return guarded && variables && !r->shared && !another_is_in(threads, count, i, r->start, thread->thread_pointer);
}

void sweep_set_stacks(struct sweep *sweep, pid_t pid, const struct thread_words *threads, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!threads[i].stack_pointer)
            continue;
        size_t region = region_of(sweep, threads[i].stack_pointer);
        if (region < sweep->count && is_stack(sweep, region, pid, threads, count, i)) {
            sweep->stacks[region] = true;
            sweep->live_from[region] = (threads[i].stack_pointer - RED_ZONE) & ~7ull;
        }
    }
}

/* --- pieces --- */

/* Whether REGION may have pointers; what may not be read is counted. */
static bool is_wanted(struct sweep *sweep, const struct region *region)
{
    if (region->device || region->watched) {
        uint64_t size = region->device ? region->end - region->start : region->resident; /* which devices' is not */
        *(region->device ? &sweep->device : &sweep->watched) += region->writable ? size : 0;
        return false;
    }
    /* A file that is mapped to be read only is nobody's to put pointers into. */
    return region->shared ? region->writable : region->resident > 0;
}

/* Finds the next pages. 1: there are none; 0; -errno. */
static int find_pages(struct sweep *sweep)
{
    while (sweep->next == sweep->found) {
        if (sweep->region == sweep->count)
            return 1;
        struct region *region = &sweep->regions[sweep->region];
        bool begins = !sweep->at;
        if (begins)
            sweep->at = region->start > sweep->live_from[sweep->region] ? region->start
                                                                        : sweep->live_from[sweep->region] / PAGE * PAGE;
        if (sweep->at >= region->end || (begins && !is_wanted(sweep, region))) {
            sweep->region++;
            sweep->at = 0;
            continue;
        }
        int found = process_memory_pages(sweep->memory, region, sweep->at, sweep->ranges, SWEEP_RANGES, &sweep->at);
        if (found < 0)
            return found;
        sweep->found = (size_t)found;
        sweep->next = 0;
        return 0;
    }
    return 0;
}

static enum rank rank_of(const struct sweep *sweep)
{
    const struct region *region = &sweep->regions[sweep->region];
    if (sweep->stacks[sweep->region] || region->main_stack)
        return RANK_STACK;
    return region->in_file && !region->shared ? RANK_VARIABLE : RANK_MEMORY;
}

/* Hands on SIZE bytes that have been read into the buffer, of ADDRESS. */
static int hand_on(struct sweep *sweep, sweep_take *take, void *context, uint64_t address, size_t size)
{
    uint8_t *bytes = sweep->buffer + CARRIED;
    /* A word that began in the piece before is looked at with this one. */
    size_t carried = sweep->last == address ? CARRIED / 2 : 0;
    int code = take(context, bytes - carried, address - carried, size + carried, rank_of(sweep));
    if (size >= CARRIED) {
        memcpy(sweep->buffer, bytes + size - CARRIED, CARRIED);
        sweep->last = address + size;
    }
    return code;
}

/* Reads from ADDRESS at most SIZE bytes, and hands them on: how many, or -errno. */
static ssize_t read_piece(struct sweep *sweep, sweep_take *take, void *context, uint64_t address, size_t size)
{
    const struct region *region = &sweep->regions[sweep->region];
    uint64_t begin = clock_now();
    ssize_t got = process_memory_read(sweep->memory, region, address, sweep->buffer + CARRIED, size);
    uint64_t turn = begin - sweep->may_read < CATCH_UP ? sweep->may_read : begin;
    sweep->may_read = sweep->percent < 100 ? turn + (clock_now() - begin) * 100 / sweep->percent : 0;
    if (got <= 0) { /* a page that has gone; the others of the piece come next */
        size_t page = PAGE - address % PAGE;
        size_t gone = page < size ? page : size;
        sweep->unread += gone;
        return (ssize_t)gone;
    }
    sweep->read += (size_t)got;
    int code = hand_on(sweep, take, context, address, (size_t)got & ~(size_t)3);
    return code ? code : got;
}

static size_t piece_of(const struct sweep *sweep, uint64_t size)
{
    size_t most = sweep->percent < 100 ? PIECE : LARGE_PIECE;
    return size < most ? (size_t)size : most;
}

/* Waits until the next piece may be read; false: not before DEADLINE. */
static bool wait_turn(const struct sweep *sweep, uint64_t deadline)
{
    uint64_t at = sweep->may_read;
    if (at > deadline)
        return false;
    struct timespec t = {(time_t)(at / 1000000000), (long)(at % 1000000000)};
    if (at > clock_now())
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    return clock_now() < deadline;
}

int sweep_step(struct sweep *sweep, sweep_take *take, void *context, uint64_t deadline)
{
    for (;;) {
        int code = find_pages(sweep);
        if (code)
            return code;
        if (sweep->read > sweep->most)
            return -EFBIG;
        if (!wait_turn(sweep, deadline))
            return 0;
        if (sweep->next == sweep->found)
            continue; /* none in that part of the region */
        struct page_range *range = &sweep->ranges[sweep->next];
        uint64_t live = sweep->live_from[sweep->region];
        if (range->start < live)
            range->start = live < range->end ? live : range->end;
        size_t size = piece_of(sweep, range->end - range->start);
        ssize_t done = size ? read_piece(sweep, take, context, range->start, size) : 0;
        if (done < 0)
            return (int)done;
        range->start += (size_t)done;
        sweep->next += range->start >= range->end;
    }
}

void sweep_again(struct sweep *sweep, sweep_take *take, void *context, uint64_t address, uint64_t size)
{
    size_t region = region_of(sweep, address);
    if (region == sweep->count)
        return;
    sweep->region = region;
    while (size) {
        ssize_t done = read_piece(sweep, take, context, address, piece_of(sweep, size));
        if (done < 0)
            return;
        address += (size_t)done;
        size -= (size_t)done < size ? (size_t)done : size;
    }
}
