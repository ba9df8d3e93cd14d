/* Tells of files in a folder that have been made, written, put there or removed (inotify(7)). */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* A descriptor that is readable when a file or link in FOLDER has been made, been closed after it was written, been
 * renamed to, or is there no more. -errno and *ERR where the folder cannot be watched. Owned by the caller. */
int file_watch_open(const char *folder, struct error *err);

/* Calls VISIT for the name of each that has changed since the last time; one may come several times. MADE: it has come
 * to be there, perhaps to be written later. False where the kernel had no room and dropped some. *GONE: the folder is
 * at its path no more. */
bool file_watch_read(int fd, bool *gone, void (*visit)(const char *name, bool made, void *context), void *context);
