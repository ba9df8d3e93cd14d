#include "sym/maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

enum {
    MAX_MAPPINGS = 1 << 20, /* vm.max_map_count is 65,530 by default; hosts of databases raise it to 262,144 */
    MAX_GONE = 1 << 16,     /* mappings kept that the process no longer has */
};

static int maps_push(struct maps *maps, size_t *capacity, const struct mapping *mapping)
{
    if (maps->count == *capacity) {
        size_t larger = *capacity ? *capacity * 2 : 64;
        struct mapping *items = realloc(maps->items, larger * sizeof *items);
        if (!items)
            return -ENOMEM;
        maps->items = items;
        *capacity = larger;
    }
    maps->items[maps->count++] = *mapping;
    return 0;
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

int maps_read(struct maps *maps, pid_t pid)
{
    *maps = (struct maps){0};
    char name[32];
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(name, "re");
    if (!file)
        return errno == ENOENT ? -ESRCH : -errno;
    size_t capacity = 0, line_size = 0;
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
        if (*path && !(mapping.path = decode_path(path)))
            rc = -ENOMEM;
        else if ((rc = maps_push(maps, &capacity, &mapping)))
            free(mapping.path);
    }
    free(line);
    fclose(file);
    if (!rc && !maps->count)
        rc = -ESRCH;
    if (rc)
        maps_free(maps);
    return rc;
}

void maps_free(struct maps *maps)
{
    for (size_t i = 0; i < maps->count; i++)
        free(maps->items[i].path);
    free(maps->items);
    *maps = (struct maps){0};
}

struct mapping *maps_find(const struct maps *maps, uint64_t address)
{
    size_t low = 0, high = maps->count;
    while (low < high) { /* the first that ends after ADDRESS */
        size_t middle = low + (high - low) / 2;
        if (maps->items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < maps->count && maps->items[low].start <= address ? &maps->items[low] : NULL;
}

static bool same(const struct mapping *a, const struct mapping *b)
{
    return a->start == b->start && a->end == b->end && a->offset == b->offset && a->inode == b->inode &&
           a->device == b->device && a->executable == b->executable;
}

int maps_merge(struct maps *now, struct maps *before)
{
    struct maps merged = {0};
    size_t gone = 0, i = 0, j = 0;
    merged.items = malloc((now->count + before->count + 1) * sizeof *merged.items);
    if (!merged.items)
        return -ENOMEM;
    while (i < now->count || j < before->count) {
        struct mapping *new = i < now->count ? &now->items[i] : NULL;
        struct mapping *old = j < before->count ? &before->items[j] : NULL;
        if (!new || (old && old->end <= new->start)) {
            j++;
            if (old->executable && old->image && gone < MAX_GONE) {
                gone++;
                merged.items[merged.count++] = *old;
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
            }
            j++;
        }
    }
    free(now->items);
    *now = merged;
    maps_free(before);
    return 0;
}
