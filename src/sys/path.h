/* Questions to the file system and the environment that the runtime asks before a script runs. */
#pragma once

#include <stdbool.h>

/* The path of the running executable, links resolved. malloc'd; NULL with errno set on failure. */
char *path_executable(void);

/* PATH without links, "." and "..". malloc'd; NULL with errno set if it does not exist. */
char *path_real(const char *path);

/* True if PATH is a file or anything else that can be read, but no folder. */
bool path_is_file(const char *path);

/* Creates the private file PATH (mode 0600) and its missing folders (mode 0700). It may exist. 0 or -errno. */
int path_create_private(const char *path);

/* The variable NAME, or NULL: also where the process has more rights than who started it (setuid, file
 * capabilities). */
const char *path_environment(const char *name);
