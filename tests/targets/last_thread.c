/*
 * A process whose first thread ends before another one.
 *
 *   last_thread status   0.1 s after the first thread has ended, the other ends the process with status 3
 *   last_thread execute  once the first thread has ended, the other executes `last_thread seven`
 *   last_thread seven    ends with status 7 after 0.1 s
 *   last_thread none     both threads end and nobody ends the process: the status is that of the first, 0
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static pthread_t first;
static char *program; /* /proc/self/exe goes with the first thread */

static void *last(void *word)
{
    pthread_join(first, NULL);
    usleep(100000);
    if (!strcmp(word, "status"))
        _exit(3);
    if (!strcmp(word, "execute"))
        execl(program, program, "seven", (char *)NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t id;
    if (argc < 2)
        return 1;
    if (!strcmp(argv[1], "seven")) {
        usleep(100000);
        return 7;
    }
    program = argv[0];
    first = pthread_self();
    if (pthread_create(&id, NULL, last, argv[1]))
        return 1;
    pthread_exit(NULL);
}
