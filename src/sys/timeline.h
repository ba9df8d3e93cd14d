/*
 * Timelines: a file of events in Chrome's JSON, an array with one event a line. uplua.timeline makes what they say;
 * this has the buffer, the numbers, and the end of a file whose disk is full. Lua calls it by FFI.
 */
#ifndef SYS_TIMELINE_H
#define SYS_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

/* What timeline_event returns of an event that is longer than its buffer, 256 KB. */
#define TIMELINE_TOO_LONG 2

struct timeline;

/* The file PATH, made anew, of SIZE bytes at most; NULL and errno where it cannot be written. */
struct timeline *timeline_open(const char *path, uint64_t size);

/*
 * Writes HEAD, which ends in "ts":, the time AT, the duration LENGTH unless it is negative, both of which are in ns,
 * and ARGS, JSON, unless its size is 0. Returns 1, or 0 where the file is as long as it may be, TIMELINE_TOO_LONG,
 * or the negative errno of the write that has failed: then and from then on nothing is added.
 */
int timeline_event(struct timeline *timeline, const char *head, size_t head_size, int64_t at, int64_t length,
                   const char *args, size_t args_size);

/* Gives to the system what is buffered. Returns 0 or the negative errno of a write that has failed. */
int timeline_flush(struct timeline *timeline);

/*
 * Ends the array, closes the file and frees all. Returns 0 or the negative errno of what has failed; *LOST: how many
 * events that timeline_event had taken are not in the file.
 */
int timeline_close(struct timeline *timeline, uint64_t *lost);

#endif
