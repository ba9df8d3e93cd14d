#include "probe/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/detach.h"

int link_keep(struct probe_link *link, int fd)
{
    if (link->count == link->capacity) {
        size_t capacity = link->capacity ? link->capacity * 2 : 4;
        int *fds = realloc(link->fds, capacity * sizeof *fds);
        if (!fds) {
            close(fd);
            return -ENOMEM;
        }
        link->fds = fds;
        link->capacity = capacity;
    }
    link->fds[link->count++] = fd;
    return 0;
}

int link_refuse(struct probe_link *link, const char *function)
{
    for (size_t i = 0; i < link->refused_count; i++)
        if (strcmp(link->refused[i], function) == 0)
            return 0; /* in another process */
    char **refused = realloc(link->refused, (link->refused_count + 1) * sizeof *refused);
    if (!refused)
        return -ENOMEM;
    link->refused = refused;
    refused[link->refused_count] = strdup(function);
    if (!refused[link->refused_count])
        return -ENOMEM;
    link->refused_count++;
    return 0;
}

const char *probe_refused(const struct probe_link *link, size_t number)
{
    return number < link->refused_count ? link->refused[number] : NULL;
}

static void link_free(struct probe_link *link)
{
    for (size_t i = 0; i < link->refused_count; i++)
        free(link->refused[i]);
    free(link->refused);
    free(link->fds);
    free(link);
}

void probe_detach_all(struct probe_link *const *links, size_t count)
{
    struct probe_link all = {0};
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += links[i] ? links[i]->count : 0;
    all.fds = total ? malloc(total * sizeof *all.fds) : NULL;
    for (size_t i = 0; i < count; i++) {
        if (!links[i])
            continue;
        if (all.fds) {
            memcpy(all.fds + all.count, links[i]->fds, links[i]->count * sizeof *all.fds);
            all.count += links[i]->count;
        } else {
            descriptors_close(links[i]->fds, links[i]->count);
        }
        link_free(links[i]);
    }
    descriptors_close(all.fds, all.count);
    free(all.fds);
}

void probe_detach(struct probe_link *link)
{
    probe_detach_all(&link, 1);
}
