/* What the fuzzers of tests/fuzz share: files with the input in them. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file in memory with the SIZE bytes of DATA, and what stat says of it. */
static inline int fuzz_file(const uint8_t *data, size_t size, struct stat *stat)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size) || fstat(fd, stat))
        abort();
    return fd;
}

/* A folder for files with names. tests/fuzz/run makes and removes it. */
static inline const char *fuzz_folder(void)
{
    const char *folder = getenv("FUZZ_FOLDER");
    if (!folder)
        abort();
    return folder;
}

/* Writes the file NAME of the folder. */
static inline void fuzz_write(const char *name, const uint8_t *data, size_t size)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size))
        abort();
    close(fd);
}
