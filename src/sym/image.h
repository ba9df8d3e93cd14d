/* One ELF file that processes map: from offsets in the file to functions. Opened when it is first seen, parsed when
 * first asked. */
#ifndef UPLUA_SYM_IMAGE_H
#define UPLUA_SYM_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "sym/debugfile.h"

struct image;

/* Takes over FD; SEARCH says where its debug file may be (copied; the root stays borrowed). NULL: no memory, FD closed.
 */
struct image *image_new(int fd, const struct stat *stat, const struct debugfile_search *search);
void image_free(struct image *image);

/* True if STAT describes the very file, unchanged, that IMAGE was made from. */
bool image_is(const struct image *image, const struct stat *stat);

/*
 * What is at OFFSET of the file, in a mapping that is EXECUTABLE or not. Returns the function's name and in *RESULT the
 * distance from its start; NULL where none is known, with *RESULT the ELF address (or OFFSET itself where the file has
 * none).
 */
const char *image_lookup(struct image *image, uint64_t offset, bool executable, uint64_t *result);

#endif
