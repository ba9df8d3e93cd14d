/*
 * refused: what seccomp answers in other ways: 23 times socket(i, 7, i + 1), refused with EACCES by a thread of its
 * own; 101 times setpriority, which it says has succeeded; 3 times getpgid, for which it sends SIGSYS.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ANSWER(call, answer) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, answer)

static volatile int trapped;

static void handle(int signal)
{
    (void)signal;
    trapped++;
}

static void *ask(void *wrong)
{
    for (int i = 0; i < 23; i++)
        *(int *)wrong += socket(i, 7, i + 1) != -1 || errno != EACCES;
    return wrong;
}

int main(void)
{
    struct sigaction action = {.sa_handler = handle};
    sigaction(SIGSYS, &action, NULL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ANSWER(socket, SECCOMP_RET_ERRNO | EACCES),
        ANSWER(setpriority, SECCOMP_RET_ERRNO),
        ANSWER(getpgid, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        return 2;
    int wrong = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, ask, &wrong);
    pthread_join(thread, NULL);
    for (int i = 0; i < 101; i++)
        wrong += syscall(SYS_setpriority, PRIO_PROCESS, 0, 5) != 0;
    for (int i = 0; i < 3; i++)
        getpgid(0);
    return wrong || trapped != 3;
}
