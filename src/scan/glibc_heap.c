/* Chunks of glibc's heap. */
#include "scan/glibc_heap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#if defined(__x86_64__) || defined(__aarch64__)
enum {
    HEADER = 16,   /* before a block: the size of the chunk before, and the chunk's own */
    SMALLEST = 32, /* a chunk */
    ALIGNMENT = 16,
    PAGE = 4096,
    WINDOW = 1 << 20,       /* larger pieces are read faster */
    MOST_BEFORE = 64 << 10, /* that may lie before the first chunk: a static program's thread-local variables */
};
#endif

/* The lowest bits of a size. */
enum { PREVIOUS_USED = 1, MAPPED = 2, OTHER_ARENA = 4, FLAGS = 7 };

#define HEAP_MAX (64ull << 20) /* what a heap of another arena is aligned to */

/* struct malloc_state, in bytes. */
enum { FAST_BINS = 10, FAST = 16, TOP = 96, BINS = 112, BIN_COUNT = 254, NEXT = BINS + BIN_COUNT * 8 + 16 };
enum { ARENA_BYTES = NEXT + 5 * 8 };
/* struct heap_info: ar_ptr, prev, size, mprotect_size, and since 2.35 more. */
enum { INFO_ARENA = 0, INFO_PREVIOUS = 8, INFO_SIZE = 16, INFO_LEAST = 32, INFO_MOST = 64 };
/* struct tcache_perthread_struct: 64 counts of 16 bits, 64 lists. */
enum { LISTS = 64, CACHE_BYTES = LISTS * (2 + 8), CACHE_CHUNK = CACHE_BYTES + HEADER };

struct reader {
    struct process_memory *memory;
    const struct region *regions;
    size_t count;
    struct blocks *blocks;
    size_t capacity;
    struct glibc_heap *heap;
    uint64_t window; /* the address of what BYTES has, of which LENGTH were read */
    size_t length;
    uint8_t *bytes;
    int code;
};

/* --- words --- */

/* Into *WORD what is at ADDRESS, where words are asked for one after the other. False where it cannot be read. */
static bool word_at(struct reader *reader, uint64_t address, uint64_t *word)
{
    if (address - reader->window >= reader->length || reader->length - (address - reader->window) < sizeof *word) {
        if (process_memory_is_late(reader->memory))
            reader->code = -ETIMEDOUT;
        ssize_t got = reader->code ? 0 : process_memory_read(reader->memory, NULL, address, reader->bytes, WINDOW);
        reader->window = address;
        reader->length = got > 0 ? (size_t)got : 0;
        if (reader->length < sizeof *word)
            return false;
    }
    memcpy(word, reader->bytes + (address - reader->window), sizeof *word);
    return true;
}

static bool read_all(struct reader *reader, uint64_t address, void *to, size_t size)
{
    return process_memory_read(reader->memory, NULL, address, to, size) == (ssize_t)size;
}

/* The same as word_at, of a word by itself. */
static bool word_alone(struct reader *reader, uint64_t address, uint64_t *word)
{
    return read_all(reader, address, word, sizeof *word);
}

/* --- chunks --- */

static void add(struct reader *reader, uint64_t address, uint64_t bytes, enum chunk_kind kind, uint64_t size)
{
    struct blocks *blocks = reader->blocks;
    if (reader->code)
        return;
    if (blocks->count >= NO_BLOCK - 1)
        reader->code = -E2BIG;
    else if (!array_room(&blocks->items, blocks->count, &reader->capacity, sizeof *blocks->items))
        reader->code = -ENOMEM;
    else
        blocks->items[blocks->count++] =
            (struct scan_block){.address = address, .bytes = bytes, .stack = CHUNK_STACK(kind, size)};
}

static void add_chunk(struct reader *reader, uint64_t address, uint64_t size, bool mapped, enum chunk_kind kind)
{
    /* With the first word of the next one, if there is one. */
    add(reader, address + HEADER, size - (mapped ? HEADER : HEADER / 2), kind, size);
}

static void damage(struct reader *reader, uint64_t address)
{
    if (!reader->heap->damages++)
        reader->heap->damaged = address;
}

/*
 * Takes the chunks from START on. Where they come to their end: TOP, or the last one before END where that is 0, or
 * what marks the end of an arena's heap that is not its last. 0 where they do not: *STUCK is the last one, not taken.
 */
static uint64_t follow(struct reader *reader, uint64_t start, uint64_t end, uint64_t top, uint64_t *stuck)
{
    uint64_t address = start, size, next;
    while (word_at(reader, address + 8, &size)) {
        uint64_t bytes = size & ~(uint64_t)FLAGS;
        if (address == top)
            return address;
        if (bytes == HEADER && top) /* a fence */
            return address;
        if (bytes < SMALLEST || bytes % ALIGNMENT || size & MAPPED || bytes > end - address)
            break;
        if (!top && bytes == end - address)
            return address;
        if (!word_at(reader, address + bytes + 8, &next))
            break;
        add_chunk(reader, address, bytes, false, next & PREVIOUS_USED ? CHUNK_USED : CHUNK_FREE);
        address += bytes;
    }
    *stuck = address;
    return 0;
}

/* The block at ADDRESS, or NULL. */
static struct scan_block *block_at(struct reader *reader, uint64_t address)
{
    size_t before = array_up_to(reader->blocks->items, reader->blocks->count, sizeof(struct scan_block), address);
    struct scan_block *last = before ? &reader->blocks->items[before - 1] : NULL;
    return last && last->address == address ? last : NULL;
}

static uint64_t size_of(const struct scan_block *block)
{
    return CHUNK_SIZE(block->stack);
}

/* --- lists of chunks that look as if they were given away --- */

/*
 * The block that the one at ADDRESS has as its next in a list. Since 2.32 the link is mangled by its own place; before
 * that it was plain. 0: it is the last; 1: it leads nowhere.
 */
static uint64_t next_in_list(struct reader *reader, uint64_t address, uint64_t offset)
{
    uint64_t word;
    if (!word_alone(reader, address, &word))
        return 1;
    uint64_t mangled = word ^ address >> 12;
    if (!mangled || !word)
        return 0;
    if (block_at(reader, mangled + offset))
        return mangled + offset;
    return block_at(reader, word + offset) ? word + offset : 1;
}

/* Has the blocks of the list that begins at ADDRESS, of chunks of SIZE bytes (0: of any), be of KIND, MOST of them. */
static bool mark_list(struct reader *reader, uint64_t address, uint64_t size, uint64_t offset, size_t most,
                      enum chunk_kind kind)
{
    for (size_t i = 0; address > 1 && i < most; i++) {
        struct scan_block *block = block_at(reader, address);
        if (!block || (size && size_of(block) != size) || CHUNK_KIND(block->stack) != CHUNK_USED)
            return false;
        block->stack = CHUNK_STACK(kind, size_of(block));
        address = next_in_list(reader, address, offset);
    }
    return address == 0;
}

/* Whether what is in a chunk is a thread's cache: its lists are of blocks of their sizes, as many as it counts. */
static bool is_cache(struct reader *reader, const uint16_t counts[LISTS], const uint64_t lists[LISTS])
{
    for (int i = 0; i < LISTS; i++) {
        struct scan_block *first = lists[i] ? block_at(reader, lists[i]) : NULL;
        if (!counts[i] != !lists[i] || (lists[i] && !first))
            return false;
        if (first && size_of(first) != (uint64_t)i * ALIGNMENT + SMALLEST)
            return false;
    }
    return true;
}

/* Marks what the caches of threads keep. These are blocks of their own, in whichever arena. */
static void mark_caches(struct reader *reader)
{
    struct {
        uint16_t counts[LISTS];
        uint64_t lists[LISTS];
    } cache;
    for (size_t i = 0; i < reader->blocks->count; i++) {
        const struct scan_block *block = &reader->blocks->items[i];
        if (block->stack != CHUNK_STACK(CHUNK_USED, CACHE_CHUNK) ||
            !read_all(reader, block->address, &cache, sizeof cache) || !is_cache(reader, cache.counts, cache.lists))
            continue;
        reader->heap->caches++;
        for (int n = 0; n < LISTS; n++)
            if (cache.lists[n] && !mark_list(reader, cache.lists[n], (uint64_t)n * ALIGNMENT + SMALLEST, 0,
                                             cache.counts[n], CHUNK_CACHED))
                damage(reader, cache.lists[n]);
    }
}

/* Marks what the fast bins of the arena at ADDRESS keep. */
static void mark_fast(struct reader *reader, uint64_t address)
{
    uint64_t bins[FAST_BINS];
    if (!read_all(reader, address + FAST, bins, sizeof bins)) {
        damage(reader, address);
        return;
    }
    for (int i = 0; i < FAST_BINS; i++)
        if (bins[i] && !mark_list(reader, bins[i] + HEADER, (uint64_t)i * ALIGNMENT + SMALLEST, HEADER,
                                  reader->blocks->count, CHUNK_FAST))
            damage(reader, bins[i]);
}

/* --- arenas --- */

/* True if at ADDRESS is an arena of which TOP is the last chunk. */
static bool is_arena(struct reader *reader, uint64_t address, uint64_t top)
{
    uint64_t found, first, next;
    return word_alone(reader, address + TOP, &found) && found == top && word_alone(reader, address + BINS, &first) &&
           first && first % 8 == 0 && word_alone(reader, address + NEXT, &next) && next && next % 8 == 0;
}

/* Where the first arena is, among the variables of a library or program; 0: not to be found. */
static uint64_t find_main_arena(struct reader *reader, uint64_t top)
{
    for (size_t i = 0; i < reader->count; i++) {
        const struct region *region = &reader->regions[i];
        if (!region->in_file || !region->writable || region->shared || region->device || region->watched)
            continue;
        uint64_t word;
        for (uint64_t at = region->start; at + 8 <= region->end; at += 8)
            if (word_at(reader, at, &word) && word == top && is_arena(reader, at - TOP, top))
                return at - TOP;
    }
    return 0;
}

/* The heap that brk makes. 0, or -errno; *ARENA: the arena that it is of. */
static int read_main(struct reader *reader, const struct region *region, uint64_t *arena)
{
    uint64_t start = region->start, most = start + MOST_BEFORE, top = 0, size, stuck;
    for (; start < most && start + SMALLEST < region->end; start += ALIGNMENT) {
        size_t before = reader->blocks->count;
        if (!word_at(reader, start + 8, &size))
            break;
        if (size & PREVIOUS_USED && (top = follow(reader, start, region->end, 0, &stuck)))
            break;
        if (size & PREVIOUS_USED &&
            (size & ~(uint64_t)FLAGS) == CACHE_CHUNK) { /* it begins so, and is damaged behind */
            damage(reader, stuck);
            reader->heap->arenas++;
            return 0;
        }
        reader->blocks->count = before;
    }
    if (!top)
        return -ENOENT;
    add_chunk(reader, top, region->end - top, false, CHUNK_TOP);
    reader->heap->arenas++;
    *arena = find_main_arena(reader, top);
    return 0;
}

bool glibc_heap_may_be(const struct region *region)
{
    return region->heap || (region->start % HEAP_MAX == 0 && region->writable && !region->shared && !region->in_file &&
                            !region->device && !region->watched);
}

/* A heap of another arena at the begin of REGION, if there is one: *ARENA is the arena if that lies in it. */
static bool read_other(struct reader *reader, const struct region *region, uint64_t *arena)
{
    uint64_t info[INFO_SIZE / 8 + 1], top;
    if (region->heap || !glibc_heap_may_be(region) || !read_all(reader, region->start, info, sizeof info))
        return false;
    uint64_t at = info[INFO_ARENA / 8], previous = info[INFO_PREVIOUS / 8], size = info[INFO_SIZE / 8];
    uint64_t offset = at % HEAP_MAX;
    bool first = at - region->start < HEAP_MAX;
    if (size < PAGE || size % PAGE || size > HEAP_MAX || size > region->end - region->start || offset < INFO_LEAST ||
        offset > INFO_MOST || previous % HEAP_MAX || !previous != first || !word_alone(reader, at + TOP, &top))
        return false;
    if (first && !is_arena(reader, at, top))
        return false;
    /* The arena, or nothing, then the first chunk, whose block is aligned. */
    uint64_t start = region->start + offset + (first ? ARENA_BYTES : 0);
    start = (start + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint64_t stuck, end = follow(reader, start, region->start + size, top - region->start < HEAP_MAX ? top : 1, &stuck);
    if (!end)
        damage(reader, stuck);
    if (end == top)
        add_chunk(reader, top, region->start + size - top, false, CHUNK_TOP);
    *arena = first ? at : 0;
    reader->heap->arenas += first;
    return true;
}

/* Chunks that are mapped by themselves, from the begin of REGION on. */
static void read_mapped(struct reader *reader, const struct region *region)
{
    if (!region->writable || region->shared || region->in_file || region->device || region->watched ||
        region->main_stack || !region->resident)
        return;
    uint64_t head[2];
    for (uint64_t at = region->start; at < region->end && read_all(reader, at, head, sizeof head);) {
        uint64_t bytes = head[1] & ~(uint64_t)FLAGS;
        if ((head[1] & FLAGS) != MAPPED || !bytes || (bytes + head[0]) % PAGE || head[0] >= PAGE ||
            bytes > region->end - at)
            return;
        add_chunk(reader, at, bytes, true, CHUNK_USED);
        reader->heap->mapped++;
        at += bytes;
    }
}

static void sum_up(struct reader *reader)
{
    _Static_assert(sizeof reader->heap->chunks / sizeof *reader->heap->chunks == CHUNK_KINDS, "a sum for each kind");
    struct glibc_heap *heap = reader->heap;
    for (size_t i = 0; i < reader->blocks->count; i++) {
        enum chunk_kind kind = CHUNK_KIND(reader->blocks->items[i].stack);
        heap->chunks[kind]++;
        heap->bytes[kind] += reader->blocks->items[i].bytes;
    }
}

/* Reads all heaps; *ARENAS gets COUNT arenas. */
static int read_heaps(struct reader *reader, uint64_t **arenas, size_t *count)
{
    size_t capacity = 0;
    uint64_t library = 0;
    bool found = false;
    for (size_t i = 0; i < reader->count && !reader->code; i++) {
        const struct region *region = &reader->regions[i];
        uint64_t arena = 0;
        if (region->heap) {
            int code = read_main(reader, region, &arena);
            if (code || reader->code)
                return reader->code ? reader->code : code;
            if (!arena)
                return reader->heap->damages ? 0 : -ENOTSUP;
            found = true;
        } else if (!read_other(reader, region, &arena)) {
            read_mapped(reader, region);
        }
        if (arena && !array_room(arenas, *count, &capacity, sizeof **arenas))
            return -ENOMEM;
        if (arena)
            (*arenas)[(*count)++] = arena;
        /* By ascending address, which saves sorting: the main arena is a variable of the C library. */
        if (arena >= region->end)
            library = arena;
        else if (arena || library - region->start < region->end - region->start)
            add(reader, arena ? arena : library, ARENA_BYTES, CHUNK_ARENA, ARENA_BYTES);
    }
    return reader->code ? reader->code : found ? 0 : -ENOENT;
}

static int refuse(struct error *err, int pid, int code)
{
    if (code == -ENOENT)
        return error_set(err, code, "process %d has no heap of glibc's malloc", pid);
    if (code == -ENOTSUP)
        return error_set(err, code,
                         "the heap of process %d is not known well enough: it is one of glibc 2.30 to 2.41 with caches "
                         "of threads that is read",
                         pid);
    return error_set(err, code, "the heap of process %d cannot be read: %s", pid, error_reason(code));
}

int glibc_heap_read(struct process_memory *memory, const struct region *regions, size_t count, struct blocks *blocks,
                    struct glibc_heap *heap, struct error *err)
{
    *heap = (struct glibc_heap){0};
    blocks_free(blocks);
    struct reader reader = {
        .memory = memory, .regions = regions, .count = count, .blocks = blocks, .heap = heap, .bytes = malloc(WINDOW)};
    uint64_t *arenas = NULL;
    size_t arena_count = 0;
    int code = reader.bytes ? read_heaps(&reader, &arenas, &arena_count) : -ENOMEM;
    blocks->capacity = reader.capacity;
    if (!code)
        code = blocks_index(blocks);
    if (!code) {
        mark_caches(&reader);
        for (size_t i = 0; i < arena_count; i++)
            mark_fast(&reader, arenas[i]);
        /* Without its caches, what these keep would look given away. */
        if (!heap->caches && !heap->damages)
            code = -ENOTSUP;
        sum_up(&reader);
        blocks->chunks = true;
        code = process_memory_is_late(memory) ? -ETIMEDOUT : code;
    }
    free(arenas);
    free(reader.bytes);
    return code && code != -ETIMEDOUT ? refuse(err, (int)memory->pid, code) : code;
}
