/*
 * Unwind tables on disk, so that those of large files need not be built again: one file each, in the folder of
 * sys/state_folder.h, whose descriptor is CACHE below. A file there that is damaged, of another version or of another
 * owner is as good as none.
 *
 * The key is the build id and the file's identity (device, inode, size, times), which another file cannot have. With a
 * build id alone, a traced program could give a system library a table of its own.
 */
#pragma once

#include <time.h>

#include "elf/notes.h"
#include "unwind/table.h"

/* A file's identity: device, inode number, size in bytes, times (seconds and nanoseconds). */
struct unwind_identity {
    uint64_t device, inode, size, modified[2], changed[2];
};

/* Of the file that STAT describes. */
struct unwind_identity unwind_identity_of(const struct stat *stat);

/* bytes of a file's name in the folder, with its NUL */
enum { UNWIND_CACHE_NAME = 2 * BUILD_ID_MAX + 1 + 16 + 1 };

/* A file of the folder. */
struct unwind_cached {
    char name[UNWIND_CACHE_NAME];
    int64_t size; /* bytes */
    struct timespec used;
};

/* The table of ELF with the numbers of RULES, from the folder CACHE; false where that does not have it. The caller
 * frees. */
bool unwind_cache_load(int cache, const struct elf_file *elf, struct unwind_rules *rules, struct unwind_table *table);

/*
 * The files of the folder CACHE that were used last, as many as have BYTES together, the small ones first, in *LIST,
 * which the caller frees: their number.
 */
size_t unwind_cache_list(int cache, int64_t bytes, struct unwind_cached **list);

/*
 * The table of the folder's file ENTRY with the numbers of RULES, and in *IDENTITY whose it is; false where it is none.
 * The table's chunks are put into CHUNKS, the caller's, which have room for entry->size bytes.
 */
bool unwind_cache_read(int cache, const struct unwind_cached *entry, struct unwind_rules *rules,
                       struct unwind_chunk *chunks, struct unwind_identity *identity, struct unwind_table *table);

/* The file NAME of the folder CACHE, which was read by its name, was used. */
void unwind_cache_note(int cache, const char *name);

/*
 * Keeps TABLE of ELF in the folder CACHE; what was not used for longest makes room. A failure is silent: the table will
 * be built again.
 */
void unwind_cache_store(int cache, const struct elf_file *elf, const struct unwind_rules *rules,
                        const struct unwind_table *table);
