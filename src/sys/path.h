/* Questions to the file system that the runtime asks before a script runs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The path of the running executable, links resolved. malloc'd; NULL with errno set on failure. */
char *path_executable(void);

/* PATH without links, "." and "..". malloc'd; NULL with errno set if it does not exist. */
char *path_real(const char *path);

/* What the link PATH says. malloc'd; NULL with errno set if it is none. */
char *path_link_target(const char *path);

/* True if PATH is a file or anything else that can be read, but no folder. */
bool path_is_file(const char *path);

/* Creates the private file PATH (mode 0600) and its missing folders (mode 0700). It may exist. 0 or -errno. */
int path_create_private(const char *path);

/* What is left to read of FD, with a NUL behind it: malloc'd, and its length in *SIZE. NULL with errno set on failure:
 * ENOMEM also where that is far more than MOST bytes. */
char *path_read_all(int fd, size_t most, size_t *size);
