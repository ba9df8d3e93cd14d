/*
 * Holding a command at its first instruction: all libraries that it is linked with are mapped there, and nothing of the
 * program has run. By ptrace(2), only until then: nobody who traces the command later notices.
 */
#pragma once

#include <sys/types.h>

/* Takes hold of the child PID, which has not executed its command yet and dies with uplua from here on. 0 or -errno. */
int entry_seize(pid_t pid);
/*
 * Lets PID, which is executing its command, run up to the program's first instruction. 0, where it stands then;
 * -ECHILD: it has ended before, *STATUS as of waitpid(2); -errno: it stands somewhere before.
 */
int entry_run(pid_t pid, int *status);
/* Lets it go on, and go. */
void entry_leave(pid_t pid);
