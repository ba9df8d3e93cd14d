/* The mappings of a process: as /proc/PID/maps has them, and as the kernel reports them one by one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct image;

/* One mapping. The last six members are the symbol cache's. */
struct mapping {
    uint64_t start, end; /* addresses, end excluded */
    uint64_t offset;     /* in the file */
    uint64_t device, inode;
    bool executable;
    char *path;          /* "/usr/bin/x", "[heap]"; NULL: anonymous. As maps has it, " (deleted)" included */
    uint64_t generation; /* of the inode, where TIME is known */
    uint64_t time;       /* ns, CLOCK_MONOTONIC: of the report; 0: read from /proc/PID/maps */
    struct image *image; /* the file's symbols, borrowed */
    const char *module;  /* borrowed */
    bool gone;           /* the process had it before, and has it no more */
    bool replaces;       /* code of another file, or of none, which lay there before */
    bool tried;          /* the file has been opened or cannot be */
};

struct maps {
    struct mapping *items; /* by ascending address, none overlaps another */
    size_t count, capacity;
    uint64_t known; /* ns, CLOCK_MONOTONIC: all that happened before is in it; the symbol cache's, too */
};

/*
 * Reads the mappings of PID. 0; -ESRCH: there is no such process, or it has exited and has none left; -EACCES, -ENOMEM,
 * …
 */
int maps_read(struct maps *maps, pid_t pid);
/* The same from a FILE of that form, which may be empty. 0, -ENOMEM. */
int maps_parse(struct maps *maps, FILE *file);
void maps_free(struct maps *maps);

/* What MAPS takes of memory, in bytes. */
size_t maps_bytes(const struct maps *maps);

/* True if MAPPING is of the file with DEVICE and INODE, which its process calls NAME. */
bool mapping_is_of(const struct mapping *mapping, uint64_t device, uint64_t inode, const char *name);

/* The mapping that contains ADDRESS, or NULL. */
struct mapping *maps_find(const struct maps *maps, uint64_t address);

/* True if MAPS has executable mappings of other files, or of none, where MAPPING is, which is executable. */
bool maps_replaces(const struct maps *maps, const struct mapping *mapping);

/*
 * Makes NOW what the process has and BEFORE had: a mapping that did not change keeps its image, and an executable one
 * that has gone stays where nothing else took its place, because stacks taken earlier still point there. Frees BEFORE.
 */
int maps_merge(struct maps *now, struct maps *before);

/*
 * Adds MAPPING, whose path is copied, in place of what it overlaps. One that is there already with the same file keeps
 * its image. In *ADDED the mapping as it is now. 0, -ENOMEM, -ENOSPC: there are absurdly many.
 */
int maps_add(struct maps *maps, const struct mapping *mapping, struct mapping **added);

/* Adds the executable mappings of FROM. 0, -ENOMEM, -ENOSPC. */
int maps_copy(struct maps *to, const struct maps *from);
