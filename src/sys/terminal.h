/* Terminals: is this one, what is typed, and a second stream to it. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <termios.h>

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

/*
 * Has the terminal FD give each key as it is pressed, and not show it; Ctrl-C stays a signal, Ctrl-Z is a key. *BEFORE
 * gets the modes until then, for terminal_restore. False, with nothing changed, if FD is no terminal, or one that is
 * another process group's at present: whoever changes its modes there is stopped.
 */
bool terminal_raw(int fd, struct termios *before);
void terminal_restore(int fd, const struct termios *modes);

/* What has been typed on KEYS and not been read yet: so many of SIZE bytes, 0 if nothing, -1 at the end of input. */
int terminal_typed(int keys, char *bytes, int size);

/* A descriptor that is readable when the terminal may have another size; -1 where that cannot be had. terminal_resized
 * makes it unreadable again. It is never closed. */
int terminal_resizes(void);
void terminal_resized(void);

/* A stream of its own, with its own buffer, to where FD leads. The caller closes it. NULL with errno set on failure. */
FILE *terminal_stream(int fd);
