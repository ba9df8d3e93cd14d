/* Terminals: is this one, what is typed, and a second stream to it. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* True if FD is a terminal. */
bool terminal_is(int fd);

/*
 * A descriptor of the terminal FD whose reads do not block, while those of FD, which others may share, do. Where that
 * cannot be had, FD itself. It is never closed: the prompt keeps it to the end.
 */
int terminal_keys(int fd);

/* Waits for the next byte typed on KEYS, but no longer than until WAKE is readable: the byte, 0 if woken, -1 at the end
 * of input. */
int terminal_key(int keys, int wake);

/* A stream of its own, with its own buffer, to where FD leads. The caller closes it. NULL with errno set on failure. */
FILE *terminal_stream(int fd);
