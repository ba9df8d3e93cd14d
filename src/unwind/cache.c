/* Unwind tables on disk. */
#include "unwind/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "sys/state_folder.h"

enum {
    MOST_FILES = 1024,
    USED_EVERY = 24 * 60 * 60, /* seconds: how exact the time of the last use is */
    ABANDONED = 60,            /* seconds after which a file that is not finished will never be */
};
#define MOST_BYTES (INT64_C(64) << 20) /* of all files */
#define VERSION 6                      /* of the format, of bpf/unwind.h's rules and chunks, and of what makes rules */

/* How a file begins; its rules and chunks follow, whose rows have the numbers of these rules. */
struct cache_header {
    char magic[8];
    uint64_t checksum; /* of all that follows */
    uint64_t version;
    struct unwind_identity file;
    uint64_t start;
    uint32_t block_count, row_count, function_count, damaged, unknown, rule_count;
};

static const char magic[8] = "uplua u";

/* --- one file
 * -------------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

/*
 * SIZE is a multiple of 8: a hash for accidents, not for attacks, which the folder's owner keeps away. Lanes do not
 * wait for each other's multiplications.
 */
static uint64_t checksum(uint64_t hash, const void *bytes, size_t size)
{
    enum { LANES = 8 };
    const uint8_t *at = bytes, *end = at + size;
    uint64_t lanes[LANES] = {0}, word;
    for (; end - at >= (ptrdiff_t)sizeof lanes; at += sizeof lanes)
        for (size_t i = 0; i < LANES; i++) {
            memcpy(&word, at + i * sizeof word, sizeof word);
            lanes[i] = mix(lanes[i], word);
        }
    for (; at < end; at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = mix(hash, word);
    }
    for (size_t i = 0; i < LANES; i++)
        hash = mix(hash, lanes[i]);
    return hash;
}

struct unwind_identity unwind_identity_of(const struct stat *stat)
{
    return (struct unwind_identity){
        .device = stat->st_dev,
        .inode = stat->st_ino,
        .size = (uint64_t)stat->st_size,
        .modified = {(uint64_t)stat->st_mtim.tv_sec, (uint64_t)stat->st_mtim.tv_nsec},
        .changed = {(uint64_t)stat->st_ctim.tv_sec, (uint64_t)stat->st_ctim.tv_nsec},
    };
}

static struct cache_header header_of(const struct elf_file *elf)
{
    struct cache_header header = {.version = VERSION, .file = unwind_identity_of(&elf->stat)};
    memcpy(header.magic, magic, sizeof magic);
    return header;
}

/* What all files have in common in which a table of the same ELF file is. */
enum {
    IDENTITY = offsetof(struct cache_header, version),
    IDENTITY_SIZE = offsetof(struct cache_header, start) - IDENTITY
};

static void name_of(const struct elf_file *elf, const struct cache_header *header, char name[static UNWIND_CACHE_NAME])
{
    uint8_t id[BUILD_ID_MAX];
    int length = notes_build_id(elf, id), used = 0;
    for (int i = 0; i < length; i++)
        used += snprintf(name + used, 3, "%02x", id[i]);
    snprintf(name + used, UNWIND_CACHE_NAME - (size_t)used, "-%016llx",
             (unsigned long long)checksum(0, (const char *)header + IDENTITY, IDENTITY_SIZE));
}

static uint64_t checksum_of(const struct cache_header *header, const uint64_t *rules, const struct unwind_table *table)
{
    size_t from = offsetof(struct cache_header, version);
    uint64_t hash = checksum(0, (const char *)header + from, sizeof *header - from);
    hash = checksum(hash, rules, header->rule_count * sizeof *rules);
    return checksum(hash, table->chunks, unwind_table_chunks(table) * sizeof *table->chunks);
}

static uint32_t offset_of(const struct unwind_table *table, uint32_t number)
{
    return UNWIND_ROW_OFFSET(unwind_table_read(table, number));
}

/* How many rows of TABLE begin a block and not behind the row before them; UINT32_MAX where its index is none. */
static uint32_t count_descents(const struct unwind_table *table)
{
    uint32_t first, after = unwind_table_before(table, 0), count = 0;
    if (after || !unwind_table_before(table, 1) || offset_of(table, 0))
        return UINT32_MAX;
    for (uint32_t block = 0; block < table->block_count; block++) {
        first = after;
        after = unwind_table_before(table, block + 1);
        if (after < first || after > table->row_count)
            return UINT32_MAX;
        if (first && first < after)
            count += offset_of(table, first) <= offset_of(table, first - 1);
    }
    return after == table->row_count ? count : UINT32_MAX;
}

/* What renumber() has seen of a table's rows. */
struct rows_seen {
    uint32_t last;     /* offset */
    uint32_t descents; /* rows that did not begin behind the one before them */
    uint32_t largest;  /* number of a rule */
};

static inline struct rows_seen renumber_chunk(struct unwind_chunk *chunk, uint32_t rows,
                                              const uint16_t numbers[static RULE_NUMBERS], struct rows_seen seen)
{
    uint8_t *at = chunk->rows;
    for (uint32_t i = 0; i < rows; i++, at += UNWIND_ROW_SIZE) {
        uint32_t row;
        memcpy(&row, at, sizeof row);
        uint32_t rule = UNWIND_ROW_RULE(row), offset = UNWIND_ROW_OFFSET(row);
        seen.descents += offset <= seen.last;
        seen.last = offset;
        seen.largest = rule > seen.largest ? rule : seen.largest;
        uint16_t low = (uint16_t)(row - rule + numbers[rule]); /* has the whole rule */
        memcpy(at, &low, sizeof low);
    }
    return seen;
}

/*
 * Gives each row of TABLE instead of its rule's number N the number numbers[N]. False if N is not below COUNT, if the
 * index is not one, or if rows do not ascend in each block, so that a search would fail. In the last case, more rows
 * than those that begin a block do not begin behind the row before them. This way no row needs a branch, which takes a
 * third of the time.
 */
static bool renumber(struct unwind_table *table, const uint16_t numbers[static RULE_NUMBERS], uint32_t count)
{
    struct unwind_chunk *chunk = table->chunks + UNWIND_INDEX_CHUNKS(table->block_count);
    struct rows_seen seen = {.last = 0};
    uint32_t descents = count_descents(table), rows = table->row_count;
    if (descents == UINT32_MAX)
        return false;
    for (; rows > UNWIND_CHUNK_ROWS; rows -= UNWIND_CHUNK_ROWS)
        seen = renumber_chunk(chunk++, UNWIND_CHUNK_ROWS, numbers, seen);
    seen = renumber_chunk(chunk, rows, numbers, seen);
    return seen.descents == descents + 1 && seen.largest < count; /* the first row begins at 0, which is not behind 0 */
}

/*
 * Reads what follows HEADER in FD, a file of SIZE bytes, which has exactly that: rules, for all of which RULES has
 * room, and the chunks of TABLE, which have room for SIZE bytes.
 */
static bool read_table(int fd, size_t size, const struct cache_header *header, uint64_t *rules,
                       struct unwind_table *table)
{
    table->start = header->start;
    table->block_count = header->block_count;
    table->row_count = header->row_count;
    table->function_count = header->function_count;
    table->damaged = header->damaged;
    table->unknown = header->unknown;
    if (!table->block_count || table->block_count > UNWIND_MAX_BLOCKS || !table->row_count ||
        table->row_count > UNWIND_MAX_ROWS)
        return false;
    struct iovec parts[] = {{rules, header->rule_count * sizeof *rules},
                            {table->chunks, unwind_table_chunks(table) * sizeof *table->chunks}};
    return size == sizeof *header + parts[0].iov_len + parts[1].iov_len &&
           preadv(fd, parts, 2, sizeof *header) == (ssize_t)(size - sizeof *header) &&
           checksum_of(header, rules, table) == header->checksum;
}

/* Opens the file NAME of the folder and reads its header and its size in bytes; -1 where it is none of ours. */
static int open_entry(int cache, const char *name, struct cache_header *header, size_t *size)
{
    struct stat stat;
    int fd = state_folder_read(cache, name, &stat);
    if (fd >= 0 && pread(fd, header, sizeof *header, 0) == sizeof *header &&
        !memcmp(header->magic, magic, sizeof magic) && header->version == VERSION &&
        header->rule_count <= RULE_NUMBERS) {
        *size = (size_t)stat.st_size;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* The table of FD, of SIZE bytes, which begins with HEADER, with the numbers of RULES; false where it is damaged. */
static bool read_entry(int fd, size_t size, const struct cache_header *header, struct unwind_rules *rules,
                       struct unwind_table *table)
{
    uint64_t *own = malloc((header->rule_count + 1) * sizeof *own);
    uint16_t *numbers = calloc(RULE_NUMBERS, sizeof *numbers);
    bool good = own && numbers && read_table(fd, size, header, own, table);
    for (uint32_t i = 0; good && i < header->rule_count; i++)
        numbers[i] = (uint16_t)unwind_rules_number(rules, own[i]);
    good = good && renumber(table, numbers, header->rule_count);
    free(numbers);
    free(own);
    return good;
}

bool unwind_cache_read(int cache, const struct unwind_cached *entry, struct unwind_rules *rules,
                       struct unwind_chunk *chunks, struct unwind_identity *identity, struct unwind_table *table)
{
    struct cache_header header;
    size_t size;
    int fd = open_entry(cache, entry->name, &header, &size);
    if (fd < 0)
        return false;
    *table = (struct unwind_table){.chunks = chunks};
    bool good = size <= (size_t)entry->size && read_entry(fd, size, &header, rules, table);
    *identity = header.file;
    close(fd);
    return good;
}

/* Puts off that FD is thrown away. */
static void note_use(int fd)
{
    struct stat stat;
    if (!fstat(fd, &stat) && time(NULL) - stat.st_mtim.tv_sec > USED_EVERY)
        futimens(fd, NULL);
}

bool unwind_cache_load(int cache, const struct elf_file *elf, struct unwind_rules *rules, struct unwind_table *table)
{
    char name[UNWIND_CACHE_NAME];
    struct cache_header wanted = header_of(elf), header;
    size_t size;
    name_of(elf, &wanted, name);
    int fd = open_entry(cache, name, &header, &size);
    if (fd < 0)
        return false;
    bool good = !memcmp((char *)&header + IDENTITY, (char *)&wanted + IDENTITY, IDENTITY_SIZE);
    *table = (struct unwind_table){.chunks = good ? malloc(size) : NULL};
    good = table->chunks && read_entry(fd, size, &header, rules, table);
    if (good)
        note_use(fd);
    else
        unwind_table_free(table);
    close(fd);
    return good;
}

void unwind_cache_note(int cache, const char *name)
{
    int fd = openat(cache, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        note_use(fd);
        close(fd);
    }
}

/* --- writing
 * --------------------------------------------------------------------------------------------------------- */

static int compare_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct unwind_cached *)a)->used, *y = &((const struct unwind_cached *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Whether NAME is that of a table, finished or not, and not of something else that is kept in the folder. */
static bool is_table(const char *name)
{
    return strchr(name, '-') != NULL;
}

/* The tables of the folder; those that a writer has left unfinished, or are too many to list, are removed. */
static size_t list_files(int cache, struct unwind_cached *entries, size_t room)
{
    int fd = openat(cache, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    size_t count = 0;
    if (!folder && fd >= 0)
        close(fd);
    for (struct dirent *found; folder && (found = readdir(folder));) {
        struct stat stat;
        if (!is_table(found->d_name) || fstatat(cache, found->d_name, &stat, AT_SYMLINK_NOFOLLOW) ||
            !S_ISREG(stat.st_mode))
            continue;
        bool unfinished = found->d_name[0] == '.', abandoned = time(NULL) - stat.st_mtim.tv_sec > ABANDONED;
        if ((unfinished && abandoned) || count == room || strlen(found->d_name) >= UNWIND_CACHE_NAME) {
            unlinkat(cache, found->d_name, 0);
        } else if (!unfinished) {
            struct unwind_cached *entry = &entries[count++];
            strcpy(entry->name, found->d_name);
            entry->size = stat.st_size;
            entry->used = stat.st_mtim;
        }
    }
    if (folder)
        closedir(folder);
    return count;
}

/* Removes what was not used for longest until there is room for one file of SIZE bytes. */
static void make_room(int cache, int64_t size)
{
    struct unwind_cached *entries = malloc(MOST_FILES * sizeof *entries);
    if (!entries)
        return;
    size_t count = list_files(cache, entries, MOST_FILES - 1);
    int64_t bytes = size;
    for (size_t i = 0; i < count; i++)
        bytes += entries[i].size;
    if (bytes > MOST_BYTES)
        qsort(entries, count, sizeof *entries, compare_use);
    for (size_t i = 0; i < count && bytes > MOST_BYTES; i++)
        if (!unlinkat(cache, entries[i].name, 0))
            bytes -= entries[i].size;
    free(entries);
}

static int compare_size(const void *a, const void *b)
{
    const struct unwind_cached *x = a, *y = b;
    return (x->size > y->size) - (x->size < y->size);
}

size_t unwind_cache_list(int cache, int64_t bytes, struct unwind_cached **list)
{
    struct unwind_cached *files = *list = malloc(MOST_FILES * sizeof *files);
    size_t count = files ? list_files(cache, files, MOST_FILES) : 0, kept = 0;
    if (count)
        qsort(files, count, sizeof *files, compare_use);
    for (size_t i = count; i-- > 0 && bytes >= files[i].size; kept++)
        bytes -= files[i].size;
    if (kept) {
        memmove(files, files + count - kept, kept * sizeof *files);
        qsort(files, kept, sizeof *files, compare_size);
    }
    return kept;
}

static void write_file(int cache, const char *name, const struct cache_header *header, const uint64_t *rules,
                       const struct unwind_table *table)
{
    struct cache_header copy = *header;
    struct iovec parts[] = {{&copy, sizeof copy},
                            {(void *)(uintptr_t)rules, header->rule_count * sizeof *rules},
                            {table->chunks, unwind_table_chunks(table) * sizeof *table->chunks}};
    make_room(cache, (int64_t)(parts[0].iov_len + parts[1].iov_len + parts[2].iov_len));
    state_folder_write(cache, name, parts, 3);
}

void unwind_cache_store(int cache, const struct elf_file *elf, const struct unwind_rules *rules,
                        const struct unwind_table *table)
{
    /* What a debug file says, or does not say yet, changes with that file; with all numbers given away, rules are
     * missing. */
    if (table->searched || rules->count == RULE_NUMBERS)
        return;
    char name[UNWIND_CACHE_NAME];
    struct cache_header header = header_of(elf);
    name_of(elf, &header, name);
    size_t chunks_size = unwind_table_chunks(table) * sizeof *table->chunks;
    struct unwind_table copy = *table;
    uint64_t *own = malloc(RULE_NUMBERS * sizeof *own);
    uint16_t *numbers = malloc(RULE_NUMBERS * sizeof *numbers); /* in the file, plus 1; 0: not yet */
    copy.chunks = malloc(chunks_size);
    if (own && numbers && copy.chunks) {
        memset(numbers, 0, RULE_NUMBERS * sizeof *numbers);
        for (uint32_t i = 0; i < table->row_count; i++) {
            uint32_t number = UNWIND_ROW_RULE(unwind_table_read(table, i));
            if (!numbers[number]) {
                own[header.rule_count++] = rules->items[number];
                numbers[number] = (uint16_t)header.rule_count;
            }
        }
        for (size_t i = 0; i < RULE_NUMBERS; i++)
            numbers[i] -= numbers[i] != 0;
        memcpy(copy.chunks, table->chunks, chunks_size);
        renumber(&copy, numbers, RULE_NUMBERS);
        header.start = table->start;
        header.block_count = table->block_count;
        header.row_count = table->row_count;
        header.function_count = table->function_count;
        header.damaged = table->damaged;
        header.unknown = table->unknown;
        header.checksum = checksum_of(&header, own, &copy);
        write_file(cache, name, &header, own, &copy);
    }
    free(copy.chunks);
    free(numbers);
    free(own);
}
