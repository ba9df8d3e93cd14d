/* The mappings of a process. */
#include "sym/maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/array.h"

enum {
    MAX_MAPPINGS = 1 << 20, /* vm.max_map_count is 65,530 by default; hosts of databases raise it to 262,144 */
    MAX_GONE = 1 << 16,     /* mappings kept that the process no longer has */
    MAX_ADDED = 1 << 16,    /* at so many mappings no reported one is added */
};

/* Makes room for COUNT more mappings. */
static int maps_grow(struct maps *maps, size_t count)
{
    return array_room(&maps->items, maps->count + count - 1, &maps->capacity, sizeof *maps->items) ? 0 : -ENOMEM;
}

/* maps writes a newline in a path as \012 (seq_path's escapes). */
static char *decode_path(const char *text)
{
    char *path = strdup(text), *to = path;
    for (const char *at = text; path && *at;) {
        if (!strncmp(at, "\\012", 4)) {
            *to++ = '\n';
            at += 4;
        } else {
            *to++ = *at++;
        }
    }
    if (path)
        *to = '\0';
    return path;
}

/* "7f12c000-7f12d000 r-xp 00001000 fd:00 1234   /usr/lib/x.so": false if LINE is not of this form. */
static bool parse(const char *line, struct mapping *mapping, const char **path)
{
    char mode[5];
    unsigned major, minor;
    int at = 0;
    *mapping = (struct mapping){0};
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &mapping->start, &mapping->end,
               mode, &mapping->offset, &major, &minor, &mapping->inode, &at) != 7)
        return false;
    mapping->device = makedev(major, minor);
    mapping->executable = mode[2] == 'x';
    *path = line + at;
    return mapping->start < mapping->end;
}

int maps_parse(struct maps *maps, FILE *file)
{
    *maps = (struct maps){0};
    size_t line_size = 0;
    char *line = NULL;
    int rc = 0;
    uint64_t reached = 0;
    for (ssize_t length; !rc && maps->count < MAX_MAPPINGS && (length = getline(&line, &line_size, file)) > 0;) {
        if (line[length - 1] == '\n')
            line[length - 1] = '\0';
        struct mapping mapping;
        const char *path;
        /* The process runs: between two reads of the file it may unmap, and a mapping may then come twice. */
        if (!parse(line, &mapping, &path) || mapping.start < reached)
            continue;
        reached = mapping.end;
        rc = maps_grow(maps, 1);
        if (!rc && *path && !(mapping.path = decode_path(path)))
            rc = -ENOMEM;
        if (!rc)
            maps->items[maps->count++] = mapping;
    }
    free(line);
    if (rc)
        maps_free(maps);
    return rc;
}

int maps_read(struct maps *maps, pid_t pid)
{
    *maps = (struct maps){0};
    char name[32];
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(name, "re");
    if (!file)
        return errno == ENOENT ? -ESRCH : -errno;
    int rc = maps_parse(maps, file);
    fclose(file);
    return !rc && !maps->count ? -ESRCH : rc;
}

void maps_free(struct maps *maps)
{
    for (size_t i = 0; i < maps->count; i++)
        free(maps->items[i].path);
    free(maps->items);
    *maps = (struct maps){0};
}

size_t maps_bytes(const struct maps *maps)
{
    enum { ALLOCATED = 16 }; /* what malloc adds to a text, about */
    size_t bytes = maps->capacity * sizeof *maps->items;
    for (size_t i = 0; i < maps->count; i++)
        bytes += maps->items[i].path ? strlen(maps->items[i].path) + ALLOCATED : 0;
    return bytes;
}

/* The index of the first mapping that ends after ADDRESS. */
static size_t first_after(const struct maps *maps, uint64_t address)
{
    size_t begun = array_up_to(maps->items, maps->count, sizeof *maps->items, address);
    return begun && maps->items[begun - 1].end > address ? begun - 1 : begun;
}

bool mapping_is_of(const struct mapping *mapping, uint64_t device, uint64_t inode, const char *name)
{
    /* On some file systems stat has another device than the mappings; then the path has to do. */
    return mapping->path && mapping->inode == inode && (mapping->device == device || !strcmp(mapping->path, name));
}

struct mapping *maps_find(const struct maps *maps, uint64_t address)
{
    size_t low = first_after(maps, address);
    return low < maps->count && maps->items[low].start <= address ? &maps->items[low] : NULL;
}

static bool same(const struct mapping *a, const struct mapping *b)
{
    return a->start == b->start && a->end == b->end && a->offset == b->offset && a->inode == b->inode &&
           a->device == b->device && a->executable == b->executable;
}

/* True if NEW, which lies where OLD did, has other code. */
static bool replaces(const struct mapping *new, const struct mapping *old)
{
    return new->executable &&
           (old->replaces || (old->executable && (old->inode != new->inode || old->device != new->device)));
}

bool maps_replaces(const struct maps *maps, const struct mapping *mapping)
{
    for (size_t i = first_after(maps, mapping->start); i < maps->count && maps->items[i].start < mapping->end; i++)
        if (replaces(mapping, &maps->items[i]))
            return true;
    return false;
}

int maps_merge(struct maps *now, struct maps *before)
{
    struct maps merged = {0};
    size_t gone = 0, i = 0, j = 0;
    merged.capacity = now->count + before->count + 1;
    merged.items = malloc(merged.capacity * sizeof *merged.items);
    if (!merged.items)
        return -ENOMEM;
    while (i < now->count || j < before->count) {
        struct mapping *new = i < now->count ? &now->items[i] : NULL;
        struct mapping *old = j < before->count ? &before->items[j] : NULL;
        if (!new || (old && old->end <= new->start)) {
            j++;
            if (old->executable && old->image && gone < MAX_GONE) {
                gone++;
                merged.items[merged.count] = *old;
                merged.items[merged.count++].gone = true;
                old->path = NULL;
            }
        } else if (!old || new->end <= old->start) {
            merged.items[merged.count++] = *new;
            i++;
        } else { /* they overlap: the new one counts */
            if (same(new, old)) {
                new->image = old->image;
                new->module = old->module;
                new->tried = old->tried;
                new->generation = old->generation;
                new->time = old->time;
            }
            new->replaces |= replaces(new, old);
            j++;
        }
    }
    free(now->items);
    *now = merged;
    maps_free(before);
    return 0;
}

int maps_add(struct maps *maps, const struct mapping *mapping, struct mapping **added)
{
    uint64_t start = mapping->start, end = mapping->end;
    size_t first = first_after(maps, start), last = first;
    if (first < maps->count && same(&maps->items[first], mapping)) {
        struct mapping *there = &maps->items[first];
        if (!there->time || there->generation == mapping->generation) {
            /* If its process exited when only the list of mappings was read, the file is found by its path now. */
            there->tried &= there->time || there->image;
            there->generation = mapping->generation;
            there->time = mapping->time;
            there->gone = mapping->gone;
            *added = there;
            return 0;
        }
    }
    if (maps->count >= MAX_ADDED)
        return -ENOSPC;
    struct mapping new = *mapping, rest = {0};
    new.replaces |= maps_replaces(maps, mapping);
    if (maps_grow(maps, 2) || (new.path && !(new.path = strdup(new.path))))
        return -ENOMEM;
    struct mapping *at = &maps->items[first];
    /* What is left of one that begins before, and of the last one, which may be the same. */
    bool left = first < maps->count && at->start < start;
    while (last < maps->count && maps->items[last].start < end)
        last++;
    if (last > first && maps->items[last - 1].end > end) {
        rest = maps->items[last - 1];
        if (rest.path && !(rest.path = strdup(rest.path))) {
            free(new.path);
            return -ENOMEM;
        }
        rest.offset += end - rest.start;
        rest.start = end;
    }
    size_t replaced = first + left, pieces = 1 + (rest.end > 0);
    for (size_t i = replaced; i < last; i++)
        free(maps->items[i].path);
    if (left)
        at->end = start;
    memmove(&maps->items[replaced + pieces], &maps->items[last], (maps->count - last) * sizeof *maps->items);
    maps->count = maps->count - (last - replaced) + pieces;
    maps->items[replaced] = new;
    if (rest.end)
        maps->items[replaced + 1] = rest;
    *added = &maps->items[replaced];
    return 0;
}

int maps_copy(struct maps *to, const struct maps *from)
{
    int rc = 0;
    for (size_t i = 0; i < from->count && !rc; i++) {
        struct mapping *added;
        if (from->items[i].executable && !(rc = maps_add(to, &from->items[i], &added))) {
            added->image = from->items[i].image;
            added->module = from->items[i].module;
            added->tried = from->items[i].tried;
        }
    }
    return rc;
}
