/* What a service tells the one that has started it. */
#include "sys/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int notify_send(const char *text, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    if (!path || !*path)
        return 0;
    size_t length = strlen(path);
    if ((*path != '/' && *path != '@') || length >= sizeof address.sun_path)
        return error_set(err, -EINVAL, "$NOTIFY_SOCKET is no address: %s", path);
    memcpy(address.sun_path, path, length);
    if (*path == '@')
        address.sun_path[0] = '\0'; /* a name of its own space, no file: unix(7) */
    int socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    int code = 0;
    if (socket_fd < 0 ||
        sendto(socket_fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&address, size) < 0)
        code = -errno;
    if (socket_fd >= 0)
        close(socket_fd);
    return code ? error_set(err, code, "$NOTIFY_SOCKET, %s: %s", path, error_reason(code)) : 0;
}
