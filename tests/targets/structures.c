/* System calls whose arguments lead to structures of several pieces, each a few times: for their lines. With an
 * argument it then waits in read, of its standard input. */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { MANY = 40 }; /* descriptors: more than are shown */

static void waits(void)
{
    int pair[2], high[2];
    if (pipe(pair) || pipe(high) || dup2(high[1], 100) != 100)
        exit(1);
    for (int i = 0; i < 2; i++) {
        fd_set in, out, except;
        FD_ZERO(&in);
        FD_ZERO(&out);
        FD_ZERO(&except);
        FD_SET(pair[0], &in);
        FD_SET(high[0], &in);
        FD_SET(pair[1], &out);
        FD_SET(100, &out);
        FD_SET(pair[0], &except);
        struct timeval wait = {5, 23};
        select(101, &in, &out, &except, &wait);
        FD_ZERO(&in);
        FD_SET(pair[0], &in);
        struct timespec nap = {0, 1000};
        sigset_t mask;
        sigemptyset(&mask);
        sigaddset(&mask, SIGUSR1);
        pselect(pair[0] + 1, &in, NULL, NULL, &nap, &mask);
        if (write(pair[1], "x", 1) != 1)
            exit(1);
        select(-1, &in, NULL, NULL, NULL);
        select(pair[0] + 1, (fd_set *)8, NULL, NULL, NULL);
    }
    struct pollfd polled[MANY];
    for (int i = 0; i < MANY; i++)
        polled[i] = (struct pollfd){.fd = i % 2 ? dup(pair[0]) : -1 - i, .events = POLLIN};
    poll(polled, MANY, 0);
    struct timespec while_not = {2, 0};
    sigset_t none;
    sigemptyset(&none);
    ppoll(polled, 3, &while_not, &none);
}

static void messages(void)
{
    int ends[2], on = 1;
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) || setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on))
        exit(1);
    char control[CMSG_SPACE(2 * sizeof(int))] = {0}, got[256], first[] = "hello ", second[] = "world";
    struct iovec parts[] = {{first, strlen(first)}, {second, strlen(second)}};
    struct msghdr sent = {.msg_iov = parts, .msg_iovlen = 2, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *head = CMSG_FIRSTHDR(&sent);
    *head = (struct cmsghdr){.cmsg_len = CMSG_LEN(2 * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(head), ends, sizeof ends);
    sendmsg(ends[0], &sent, 0);
    head->cmsg_len = 3; /* it lies */
    sendmsg(ends[0], &sent, 0);
    char room[16], name[64];
    struct iovec into[] = {{room, sizeof room}};
    struct msghdr received = {.msg_name = name,
                              .msg_namelen = sizeof name,
                              .msg_iov = into,
                              .msg_iovlen = 1,
                              .msg_control = got,
                              .msg_controllen = sizeof got};
    recvmsg(ends[1], &received, 0);
    recvmsg(ends[1], &received, MSG_DONTWAIT);
    struct mmsghdr several[3] = {{.msg_hdr = {.msg_iov = parts, .msg_iovlen = 2}},
                                 {.msg_hdr = {.msg_iov = parts + 1, .msg_iovlen = 1}},
                                 {.msg_hdr = {.msg_iov = parts, .msg_iovlen = 1}}};
    sendmmsg(ends[0], several, 3, MSG_DONTWAIT);
    struct mmsghdr back[2];
    char rooms[2][16];
    struct iovec intos[2] = {{rooms[0], 16}, {rooms[1], 16}};
    for (int i = 0; i < 2; i++)
        back[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = intos + i, .msg_iovlen = 1}};
    struct timespec most = {1, 0};
    recvmmsg(ends[1], back, 2, 0, &most);
    recvmmsg(ends[1], back, 2, MSG_DONTWAIT, NULL);
    recvmmsg(ends[1], back, 2, MSG_DONTWAIT, NULL);
}

static void attributes(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        exit(1);
    char value[64];
    setxattr(path, "user.text", "a value\n", 9, 0);
    fsetxattr(fileno(file), "user.long", "0123456789012345678901234567890123456789", 40, XATTR_CREATE);
    getxattr(path, "user.text", value, sizeof value);
    getxattr(path, "user.long", value, sizeof value);
    getxattr(path, "user.none", value, sizeof value);
    getxattr(path, "user.text", NULL, 0);
    listxattr(path, value, sizeof value);
    fclose(file);
    remove(path);
}

static void handled(int signal)
{
    (void)signal;
}

int main(int argc, char **argv)
{
    signal(SIGUSR1, handled);
    struct sigaction with_mask = {.sa_handler = handled};
    sigaddset(&with_mask.sa_mask, SIGTERM);
    sigaction(SIGUSR2, &with_mask, NULL);
    raise(SIGUSR1);
    raise(SIGUSR2);
    waits();
    messages();
    attributes(argc > 1 ? argv[1] : "structures.tmp");
    char byte;
    return argc > 2 && read(0, &byte, 1) < 0;
}
