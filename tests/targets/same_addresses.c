/*
 * Two programs whose code lies at the same addresses, since nothing of them can be moved: same_addresses-small, whose
 * frames are small, executes same_addresses-large, whose frames are large, in between.
 *
 *   same_addresses-small FIFO   asks 23 times who its parent is, from three(), called by two(), one(), main(); prints
 *                               its process id, waits until somebody opens FIFO for writing, and executes what the
 *                               variable NEXT_PROGRAM names
 *   same_addresses-large        asks 23 times, from drei(), called by zwei(), eins(), main()
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "noinline.h"

enum { CALLS = 23 };

#ifdef LARGE
enum { ROOM = 640 };
#define one eins
#define two zwei
#define three drei
#else
enum { ROOM = 64 };
#endif

NOINLINE void use(volatile char *room)
{
    room[0]++;
}

NOINLINE void three(void)
{
    volatile char room[ROOM];
    use(room);
    syscall(SYS_getppid);
    use(room);
}

NOINLINE void two(void)
{
    volatile char room[ROOM];
    use(room);
    three();
    use(room);
}

NOINLINE void one(void)
{
    volatile char room[ROOM];
    use(room);
    two();
    use(room);
}

int main(int argc, char **argv)
{
    const char *program = getenv("NEXT_PROGRAM");
    for (int i = 0; i < CALLS; i++)
        one();
    if (argc < 2 || !program)
        return 0;
    if (dprintf(1, "%d\n", (int)getpid()) < 0 || open(argv[1], O_RDONLY) < 0)
        return 1;
    execl(program, program, (char *)NULL);
    return 1;
}
