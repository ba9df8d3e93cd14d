/* Sockets that others connect to: a port of this machine, or a file. */
#pragma once

#include "base/error.h"

struct listener {
    int fd;          /* closed on exec, does not block */
    char path[108];  /* of a socket that is a file; else "" */
    char shown[128]; /* where it is, for people: "127.0.0.1:9435" */
};

/*
 * Listens at ADDRESS: "9435" or ":9435", a port of the loopback interface; "10.0.0.1:9435", "[::1]:9435", an address of
 * this machine by numbers, or 0.0.0.0 and [::] for all that it has; a path with a slash, a socket as a file, which only
 * this user and its group may connect to. Port 0 is one that is free. A file that a process has left behind is taken
 * over. 0 or a negative errno.
 */
int listener_open(struct listener *listener, const char *address, struct error *err);

/* Ends it, and removes its file. To be called once. */
void listener_close(struct listener *listener);
