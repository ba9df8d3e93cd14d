/*
 * Unwind tables on disk, so that those of large files need not be built again: one file each, in a folder that only its
 * owner can write. A file there that is damaged, of another version or of another owner is as good as none.
 *
 * The key is the build id and the file's identity (device, inode, size, times), which nobody can claim for a file of his
 * own: a build id alone would let a traced program give a system library the table that it likes.
 */
#ifndef UPLUA_UNWIND_CACHE_H
#define UPLUA_UNWIND_CACHE_H

#include "unwind/table.h"

/*
 * A descriptor of the folder, which is made if need be: $UPLUA_CACHE; without that /var/cache/uplua for root, else
 * $XDG_CACHE_HOME/uplua or ~/.cache/uplua. -1 where there is none to be used: $UPLUA_CACHE is empty, or somebody else
 * could write there. The caller closes it.
 */
int unwind_cache_open(void);

/* The table of ELF with the numbers of RULES, from the folder CACHE; false where that does not have it. The caller frees. */
bool unwind_cache_load(int cache, const struct elffile *elf, struct unwind_rules *rules, struct unwind_table *table);

/*
 * Keeps TABLE of ELF in the folder CACHE if that pays; what was not used for longest makes room. A failure is silent: the
 * table will be built again.
 */
void unwind_cache_store(int cache, const struct elffile *elf, const struct unwind_rules *rules,
                        const struct unwind_table *table);

#endif
