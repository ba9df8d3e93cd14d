/*
 * The folder where uplua keeps what later runs can use: unwind tables, what a machine's debug registers are good for.
 * Only its owner can write it. What a file there says is believed only where nobody else could have written it.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/uio.h>

/*
 * A descriptor of the folder, which is made if need be: $UPLUA_CACHE; without that /var/cache/uplua for root, else
 * $XDG_CACHE_HOME/uplua or ~/.cache/uplua. -1 where there is none to be used: $UPLUA_CACHE is empty, or somebody else
 * could write there. The caller closes it.
 */
int state_folder_open(void);

/* Opens the file NAME of FOLDER for reading, and describes it in *STAT: a descriptor, which the caller closes; -1 where
 * there is none, or somebody else could have written it. */
int state_folder_read(int folder, const char *name, struct stat *stat);

/*
 * Writes the COUNT PARTS as the file NAME of FOLDER, under another name first: whoever reads meanwhile finds the whole
 * file, the one before, or none. A failure is silent: what is not kept is found out again.
 */
void state_folder_write(int folder, const char *name, const struct iovec *parts, int count);
