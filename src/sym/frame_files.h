/* Files by the numbers that frames of stacks have (STACK_IN_FILE of bpf/stack.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct image;
struct maps;

struct frame_file {
    struct image *image; /* NULL: it could not be opened; borrowed */
    const char *module;  /* NULL: the number is not known; borrowed */
    uint64_t asked;      /* when nobody knew the number: the generation of mappings then */
};

struct frame_files {
    struct frame_file *items; /* by number */
    size_t count;
};

void frame_files_free(struct frame_files *files);

/* The file NUMBER, unknown at first, valid until the next call; NULL without memory. */
struct frame_file *frame_files_get(struct frame_files *files, uint32_t number);

/* Where OFFSET of FILE is in MAPS, which may be NULL; 0: nowhere. */
uint64_t frame_files_address(const struct frame_file *file, uint64_t offset, const struct maps *maps);
