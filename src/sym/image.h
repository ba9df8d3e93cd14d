/* One ELF file that processes map: from offsets in the file to functions. Opened when it is first seen, parsed when
 * first asked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "elf/debug_file.h"
#include "elf/elf_file.h"
#include "elf/notes.h"
#include "sym/debuginfo.h"

struct image;

/* Takes over FD; SEARCH says where its debug file may be (copied; the root stays borrowed). NULL: no memory, FD
 * closed. */
struct image *image_new(int fd, const struct stat *stat, const struct debug_file_search *search);
void image_free(struct image *image);

/* True if STAT describes the very file, unchanged, that IMAGE was made from. */
bool image_is(struct image *image, const struct stat *stat);

/* True if IMAGE holds the file open, so that it stays there and its inode number is given to no other file. */
bool image_is_pinned(const struct image *image);
/* True if the open file has not been written to since IMAGE was made. */
bool image_is_current(struct image *image);
/* Closes the file. It is opened again by its path when it is parsed, and used if it is still the same. */
void image_unpin(struct image *image);
/* True if the file can be found again by its path. */
bool image_has_path(const struct image *image);

/*
 * Calls fn(context, elf, search) with the file's headers, if it can be opened, and where its debug file may be: fn's
 * result, or -errno.
 */
int image_read(struct image *image,
               int (*fn)(void *context, const struct elf_file *elf, const struct debug_file_search *search),
               void *context);

/* The file's build id in ID; its length, 0 where there is none, or -errno. */
int image_build_id(struct image *image, uint8_t id[static BUILD_ID_MAX]);

/* Reads up to SIZE bytes at OFFSET of the file; how many there are, or -errno. */
int image_bytes(struct image *image, uint64_t offset, void *buffer, size_t size);

/* What stat says of the file; the time of its last change as it was when that was asked for last. */
const struct stat *image_stat(const struct image *image);

/* The file's number in stacks, which the unwinder gives: 0 at first, -1: none was left. */
int image_number(const struct image *image);
/* Sets it. */
void image_set_number(struct image *image, int number);

/* The file's path as the process has it that was first seen to map it; "[vdso]". IMAGE's. */
const char *image_module(const struct image *image);

/* The ELF address of OFFSET of the file; OFFSET itself where it has none there. */
uint64_t image_address(struct image *image, uint64_t offset);

/*
 * What is at OFFSET of the file, in a mapping that is EXECUTABLE or not. Returns the function's name and in *RESULT the
 * distance from its start; NULL where none is known, with *RESULT the ELF address (or OFFSET itself where the file has
 * none), and in *START, which is left as it is elsewhere, the ELF address at which the function begins, where the
 * file's call frame information tells: stripped files have that, too. START may be
 * NULL.
 */
const char *image_lookup(struct image *image, uint64_t offset, bool executable, uint64_t *result, uint64_t *start);

#define IMAGE_TOO_LARGE SIZE_MAX
#define IMAGE_NO_MEMORY (SIZE_MAX - 1)
/*
 * What of the file's debug information was asked for and is not read: of how many units the line table;
 * IMAGE_TOO_LARGE: all of it; IMAGE_NO_MEMORY: that, or some of its symbols. *MODULE: the file.
 */
size_t image_unread(const struct image *image, const char **module);

/* The places in the source of what is at OFFSET of the file: as debuginfo_lookup. */
size_t image_places(struct image *image, uint64_t offset, bool executable, struct source_line *places, size_t room);
