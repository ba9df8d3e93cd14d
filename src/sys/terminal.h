/* Terminals: is this one, has something been typed, and a second stream to it. */
#ifndef UPLUA_SYS_TERMINAL_H
#define UPLUA_SYS_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* True if FD is a terminal. */
bool terminal_is(int fd);

/* True if a read of FD would not block. */
bool terminal_readable(int fd);

/* A stream of its own, with its own buffer, to where FD leads. The caller closes it. NULL with errno set on failure. */
FILE *terminal_stream(int fd);

#endif
