/*
 * Passes tracepoints of the kernel a known number of times: traced THREADS COUNT. Each thread T, COUNT times with I = 0
 * …:
 *   - renames itself to "T.I" (task:task_rename),
 *   - queues a signal of code -1 - I to itself, which is ignored (signal:signal_generate),
 *   - seeks in a bad descriptor: lseek(-1 - T, -I, 7) fails with EBADF,
 *   - connects to port 1000 + I of 127.T.I.9, where nobody listens (sock:inet_sock_set_state).
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int count;

static void queue_signal(int code)
{
    siginfo_t info = {0};
    info.si_code = code;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGUSR1, &info);
}

static void try_to_connect(int thread, int i)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(1000 + i))};
    address.sin_addr.s_addr = htonl((127u << 24) | (unsigned)thread << 16 | (unsigned)i << 8 | 9u);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    connect(fd, (struct sockaddr *)&address, sizeof address);
    close(fd);
}

static void *work(void *argument)
{
    int thread = (int)(intptr_t)argument;
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d.%d", thread, i);
        prctl(PR_SET_NAME, name);
        queue_signal(-1 - i);
        lseek(-1 - thread, -i, 7);
        try_to_connect(thread, i);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    count = argc > 2 ? atoi(argv[2]) : 23;
    pthread_t ids[64];
    signal(SIGUSR1, SIG_IGN);
    for (intptr_t i = 0; i < threads && i < 64; i++)
        if (pthread_create(&ids[i], NULL, work, (void *)i))
            return 1;
    for (int i = 0; i < threads && i < 64; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
