/*
 * The memory of another process, which is read and never written to: its regions, which of their pages are there, and
 * what is in them. What nobody may touch is not read: memory of devices, and what a userfaultfd watches, where a page
 * that is not there would keep the reader until the program brings it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* A mapping, as /proc/PID/smaps has it. */
struct region {
    uint64_t start, end; /* addresses, end excluded */
    uint64_t offset;     /* in the file */
    uint64_t resident;   /* bytes, with what is in swap */
    bool readable, writable, shared;
    bool in_file;    /* it is of a file, or the zeroed variables behind one */
    bool main_stack; /* the stack of the first thread */
    bool heap;       /* what brk makes */
    bool device;     /* memory of a device */
    bool watched;    /* by a userfaultfd */
};

struct process_memory {
    pid_t pid;
    int memory, pages; /* descriptors of /proc/PID/mem, which keeps to the program of the moment, and pagemap */
    bool scans;        /* the kernel has PAGEMAP_SCAN (Linux 6.7) */
    int file;          /* of the shared region that begins at FILE_START; -1: none */
    uint64_t file_start;
    uint64_t known; /* an address that was mapped when this was opened */
    uint64_t until; /* who reads gives up by then (clock.h), with -ETIMEDOUT; 0: never */
};

/* True once it is later than MEMORY's until. */
bool process_memory_is_late(const struct process_memory *memory);

/* Opens the memory of PID, with until 0. 0, or -errno and in ERR what is missing. */
int process_memory_open(struct process_memory *memory, pid_t pid, struct error *err);
void process_memory_close(struct process_memory *memory);

/* The regions as they are now, by ascending address, into *REGIONS, freed by the caller. 0 or -errno; -ESRCH: the
 * process has ended; -ETIMEDOUT: there are many. */
int process_memory_regions(struct process_memory *memory, struct region **regions, size_t *count);

/* True while the process executes the program that it did when MEMORY was opened. */
bool process_memory_is_same(const struct process_memory *memory);

struct page_range {
    uint64_t start, end;
};

/*
 * Into RANGES, which has ROOM elements, where REGION has contents from address FROM on: pages that are in memory or in
 * swap, but for private memory not those of the file as it is, and no pages that are known to be zero. Of shared memory
 * also what the file has and this process has not mapped yet. *REACHED: the address up to which that was looked for,
 * at least a part of the region. How many there are, or -errno.
 */
int process_memory_pages(struct process_memory *memory, const struct region *region, uint64_t from,
                         struct page_range *ranges, size_t room, uint64_t *reached);

/* Reads SIZE bytes at ADDRESS, which is in REGION (NULL: in one that is readable): how many it could, or -errno. */
ssize_t process_memory_read(struct process_memory *memory, const struct region *region, uint64_t address, void *buffer,
                            size_t size);
