/* The ELF files that processes map: each opened once and shared, however many processes map it. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "sym/image.h"
#include "sym/maps.h"

struct files {
    char *debug_root;
    struct image **images; /* in the order in which they were first seen */
    size_t image_count, image_capacity;
    size_t pinned_from; /* the images before it are not pinned */
    size_t pinned_count;
    void *by_inode; /* tsearch tree of struct file_key */
    struct {
        unsigned char *bytes;
        size_t size;
        struct image *image;
    } vdso; /* the one last seen; a machine has one, two with 32-bit processes */
};

/* 0 or -ENOMEM. */
int files_init(struct files *files);
void files_free(struct files *files);

/* Looks for separate debug files below DIRECTORY. To be called first. 0 or -ENOMEM. */
int files_set_debug_root(struct files *files, const char *directory);

/* Whose mapping it is. */
struct file_owner {
    pid_t pid; /* 0: it has exited, or has another program now */
    int root;  /* its root directory where it differs from ours, else -1 */
};

/*
 * Sets the image of MAPPING, whose path is INSIDE as the process sees it: that of the very file that was mapped, or
 * none. mapping->tried stays false where it can be tried again.
 */
void files_open(struct files *files, const struct file_owner *owner, struct mapping *mapping, const char *inside);

/*
 * Opens the file PATH of our own root, so that it is known even if it is deleted before anybody sees it mapped. NULL
 * where it cannot be.
 */
struct image *files_keep(struct files *files, const char *path);

/* Calls VISIT(CONTEXT, MODULE, UNITS) with each file of which image_unread tells UNITS. */
void files_unread(const struct files *files, void (*visit)(void *context, const char *module, size_t units),
                  void *context);
