/* Sockets that others connect to. */
#include "sys/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 64, MOST_PORT = 65535 };

static int failed(const char *address, struct error *err)
{
    int code = -errno;
    const char *what = code == -EADDRINUSE      ? "another program listens there: end it, or choose another"
                       : code == -EADDRNOTAVAIL ? "this machine does not have that address"
                       : code == -EACCES        ? "this user may not: ports below 1024 are root's"
                                                : error_reason(code);
    return error_set(err, code, "cannot listen at %s: %s", address, what);
}

static int misspelt(const char *address, struct error *err)
{
    return error_set(err, -EINVAL,
                     "'%s' is nowhere to listen at; give a port as in 9435, an address and a port as in 0.0.0.0:9435 "
                     "or [::1]:9435, or the path of a socket as in /run/uplua.sock",
                     address);
}

/* A socket at NAME, which has SIZE bytes; -1 where there can be none, and errno. */
static int listening(const struct sockaddr *name, socklen_t size)
{
    int fd = socket(name->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int yes = 1;
    if (fd < 0)
        return -1;
    /* A port whose earlier connections have not timed out yet is free. */
    if (name->sa_family != AF_UNIX)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, name, size) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Removes the socket's file NAME where nobody listens at it any more. */
static void remove_left_behind(const struct sockaddr_un *name)
{
    struct stat stat;
    if (lstat(name->sun_path, &stat) || !S_ISSOCK(stat.st_mode))
        return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)name, sizeof *name) && errno == ECONNREFUSED)
        unlink(name->sun_path);
    close(fd);
}

static int open_file(struct listener *listener, const char *path, struct error *err)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof name.sun_path)
        return error_set(err, -ENAMETOOLONG, "cannot listen at %s: the path of a socket has at most %zu bytes", path,
                         sizeof name.sun_path - 1);
    memcpy(name.sun_path, path, strlen(path) + 1);
    remove_left_behind(&name);
    mode_t mask = umask(S_IXUSR | S_IXGRP | S_IRWXO);
    listener->fd = listening((struct sockaddr *)&name, sizeof name);
    umask(mask);
    if (listener->fd < 0)
        return failed(path, err);
    snprintf(listener->path, sizeof listener->path, "%s", path);
    snprintf(listener->shown, sizeof listener->shown, "%s", path);
    return 0;
}

/* Cuts ADDRESS into *HOST and *PORT; false if it is of another form. */
static bool cut(char *address, char **host, char **port)
{
    char *colon = strrchr(address, ':');
    size_t length = colon ? (size_t)(colon - address) : 0;
    *port = colon ? colon + 1 : address;
    *host = colon ? address : "";
    if (colon)
        *colon = '\0';
    if (**host == '[' && (*host)[length - 1] == ']') {
        (*host)[length - 1] = '\0';
        ++*host;
    } else if (strchr(*host, ':')) {
        return false;
    }
    char *end;
    unsigned long number = strtoul(*port, &end, 10);
    return **port >= '0' && **port <= '9' && !*end && number <= MOST_PORT;
}

/* Where FD listens, as people write it. */
static void show(struct listener *listener)
{
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    char host[64], port[8];
    if (getsockname(listener->fd, (struct sockaddr *)&name, &size) ||
        getnameinfo((struct sockaddr *)&name, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV))
        return;
    snprintf(listener->shown, sizeof listener->shown, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

int listener_open(struct listener *listener, const char *address, struct error *err)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    struct addrinfo *found;
    char text[128], *host, *port;
    *listener = (struct listener){.fd = -1};
    if (strchr(address, '/'))
        return open_file(listener, address, err);
    if (strlen(address) >= sizeof text)
        return misspelt(address, err);
    memcpy(text, address, strlen(address) + 1);
    if (!cut(text, &host, &port) || getaddrinfo(*host ? host : "127.0.0.1", port, &hints, &found))
        return misspelt(address, err);
    listener->fd = listening(found->ai_addr, found->ai_addrlen);
    int result = listener->fd < 0 ? failed(address, err) : 0;
    freeaddrinfo(found);
    if (!result)
        show(listener);
    return result;
}

void listener_close(struct listener *listener)
{
    if (listener->fd >= 0)
        close(listener->fd);
    if (*listener->path)
        unlink(listener->path);
    listener->fd = -1;
    *listener->path = '\0';
}
