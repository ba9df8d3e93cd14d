/*
 * kernel_calls THREADS COUNT [sleep]: each of the threads T from 1 on makes, for I from 1 to COUNT, these system calls:
 *
 *     openat(AT_FDCWD, "/nowhere/T-I", O_RDONLY | O_CLOEXEC)    fails with ENOENT
 *     lseek(the program's own file, T * 100000 + I, SEEK_SET)
 *
 * and with "sleep" clock_nanosleep for 20 ms. Prints the inode of the file.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static long count;
static int sleeps;

static void *work(void *argument)
{
    long thread = (long)argument;
    int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    for (long i = 1; i <= count; i++) {
        char path[64];
        snprintf(path, sizeof path, "/nowhere/%ld-%ld", thread, i);
        if (open(path, O_RDONLY | O_CLOEXEC) >= 0 || lseek(own, thread * 100000 + i, SEEK_SET) != thread * 100000 + i)
            abort();
        if (sleeps)
            clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
    }
    close(own);
    return NULL;
}

int main(int argc, char **argv)
{
    enum { MOST = 64 };
    pthread_t threads[MOST];
    long thread_count = argc > 1 ? atol(argv[1]) : 1;
    count = argc > 2 ? atol(argv[2]) : 1;
    sleeps = argc > 3 && strcmp(argv[3], "sleep") == 0;
    if (thread_count < 1 || thread_count > MOST)
        return 2;
    for (long i = 0; i < thread_count; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)))
            return 1;
    for (long i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    struct stat status;
    if (stat("/proc/self/exe", &status))
        return 1;
    printf("inode %lu\n", (unsigned long)status.st_ino);
    return 0;
}
