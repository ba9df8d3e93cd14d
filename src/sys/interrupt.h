/*
 * Requests to stop: SIGINT (Ctrl-C), SIGTERM and SIGHUP, in two stages. The first asks the run to end and report; the
 * second ends the process at once, wherever it is. SIGPIPE, where nobody reads the output any more, is such a request
 * too, but never a second one.
 *
 * A signalfd would not do: it is read by the very loop that a script can keep from running (`while true do end`), and
 * code that LuaJIT compiled looks at no hook either. So these are plain signal handlers, which write to an eventfd for
 * the loop. All that uplua has in the kernel hangs on descriptors, so that an exit from a handler leaves nothing
 * behind.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Installs the handlers. BUSY is called from a signal handler when nobody has taken a signal for two seconds in which
 * the process computed, or for ten: it may do what is async-signal-safe, and set a Lua hook. Signals that were ignored
 * at the start (nohup) stay ignored, but for SIGPIPE.
 */
int interrupt_open(void (*busy)(void), struct error *err);

/*
 * From now on FN, too, is called from the signal handler, as soon as a signal comes, and may do the same: the prompt,
 * where a line that does not return must end at once. NULL: no more.
 */
void interrupt_at_once(void (*fn)(void));

/*
 * From now on SIGHUP, even where it was ignored at the start, asks to load the script again instead, unless it is told
 * that the terminal has gone: by the kernel, or by a shell whose terminal it was. Returns a descriptor that is readable
 * once that is asked for, owned by this module, or -errno.
 */
int interrupt_reload_by_hangup(struct error *err);
/* The script is about to be loaded again: forgets that it was asked for. */
void interrupt_take_reload(void);

/* The ns since the signal came that interrupt_signal tells of. */
int64_t interrupt_age(void);

/* Readable once a signal has come; owned by this module. */
int interrupt_fd(void);

/*
 * The signal that came first and has not been forgotten, or 0. FROM_TERMINAL (may be NULL) tells whether the terminal
 * sent it: then the other processes of the foreground group have it too.
 */
int interrupt_signal(bool *from_terminal);

/*
 * The run is about to end, or has seen the signal: BUSY is not called any more; the next signal ends the process, which
 * whoever has pressed Ctrl-C is told after three seconds of computing.
 */
void interrupt_take(void);

/* The signal has been dealt with and the session goes on (the prompt): the next one is a first one again. */
void interrupt_forget(void);

/* Keeps the present modes of the terminal FD, so that an end at once does not leave the prompt's behind. It writes
 * LEAVE, which is kept, to standard output then; NULL: nothing. */
void interrupt_keep_terminal(int fd, const char *leave);
