/* Links: what is attached, by its descriptors. */
#include "probe/attach/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "probe/attach/detach.h"
#include "sys/mmap_events.h"

int link_new(struct probe_link **link, struct error *err)
{
    *link = calloc(1, sizeof **link);
    return *link ? 0 : error_set(err, -ENOMEM, "out of memory");
}

int link_keep(struct probe_link *link, int fd)
{
    if (fd < 0)
        return fd;
    mmap_events_keep(); /* the next attachment may take its time, too */
    if (!array_room(&link->fds, link->count, &link->capacity, sizeof *link->fds) ||
        !array_room(&link->pids, link->count, &link->pid_capacity, sizeof *link->pids)) {
        close(fd);
        return -ENOMEM;
    }
    link->pids[link->count] = link->pid;
    link->fds[link->count++] = fd;
    return 0;
}

int link_take(struct probe_link *link, pid_t pid, struct probe_link **gone)
{
    bool any = false;
    for (size_t i = 0; i < link->count; i++)
        any |= link->pids[i] == pid;
    *gone = NULL;
    if (!any)
        return 0;
    if (link_new(gone, NULL) < 0)
        return -ENOMEM;
    (*gone)->fds = malloc((link->count ? link->count : 1) * sizeof *(*gone)->fds);
    if (!(*gone)->fds)
        return link_settle(gone, -ENOMEM);
    size_t left = 0;
    for (size_t i = 0; i < link->count; i++) {
        if (link->pids[i] == pid) {
            (*gone)->fds[(*gone)->count++] = link->fds[i];
            continue;
        }
        link->pids[left] = link->pids[i];
        link->fds[left++] = link->fds[i];
    }
    link->count = left;
    return 0;
}

int link_settle(struct probe_link **link, int result)
{
    if (result < 0) {
        probe_detach(*link);
        *link = NULL;
    }
    return result;
}

int link_one(struct probe_link **link, int fd)
{
    if (link_new(link, NULL) == 0)
        return link_settle(link, link_keep(*link, fd));
    if (fd >= 0)
        close(fd);
    return -ENOMEM;
}

int link_refuse(struct probe_link *link, const char *function)
{
    return array_has_string(link->refused, link->refused_count, function) /* in another process */
               ? 0
               : array_add_string(&link->refused, &link->refused_count, function);
}

const char *probe_refused(const struct probe_link *link, size_t number)
{
    return number < link->refused_count ? link->refused[number] : NULL;
}

int link_file(struct probe_link *link, const struct site *site)
{
    for (size_t i = 0; i < link->file_count; i++)
        if (!strcmp(link->files[i].path, site->path))
            return 0; /* it is attached again */
    struct probed_file *file = array_add(&link->files, &link->file_count, sizeof *file);
    if (!file)
        return -ENOMEM;
    *file = (struct probed_file){.path = strdup(site->path), .name = strdup(site->module), .stamp = site->file};
    return file->path && file->name ? 0 : -ENOMEM;
}

const char *probe_file(const struct probe_link *link, size_t number, enum stamp_change *change)
{
    if (number >= link->file_count)
        return NULL;
    const struct probed_file *file = &link->files[number];
    *change = stamp_compare(&file->stamp, file->path);
    return file->name;
}

void probe_watch_files(const struct probe_link *link, int watcher)
{
    for (size_t i = 0; i < link->file_count; i++)
        if (stamp_compare(&link->files[i].stamp, link->files[i].path) == STAMP_SAME)
            stamp_watch(watcher, link->files[i].path);
}

static void link_free(struct probe_link *link)
{
    for (size_t i = 0; i < link->file_count; i++) {
        free(link->files[i].path);
        free(link->files[i].name);
    }
    free(link->files);
    array_free_strings(link->refused, link->refused_count);
    free(link->fds);
    free(link->pids);
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
