/*
 * A file must be opened soon after it is mapped: the process may exit and the file be deleted. Open files are
 * descriptors, of which there are few. So only the newest PINNED_MAX files of which no name was asked are held open. An
 * older one is opened by its path when it is needed, and used if it is still the same.
 *
 * Whether a file found by its path is the one that was mapped: the inode number has to be the same. It may have been
 * given to a new file since, which the inode's generation tells where the file system has it (FS_IOC_GETVERSION), and
 * else the time of its last change; and the file may have been written to.
 */
#include "sym/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"

enum {
    MAX_VDSO = 1 << 20,   /* bytes; it has 8 KiB */
    MAX_IMAGES = 1 << 15, /* different files; beyond, files have no names */
    PINNED_MAX = 256,     /* of the 1,024 descriptors that a process has by default */
};

struct file_key {
    uint64_t device, inode; /* as the mapping has them: on some file systems stat has others */
    struct image *image;
};

int files_init(struct files *files)
{
    *files = (struct files){.debug_root = strdup(DEBUG_FILE_ROOT)};
    return files->debug_root ? 0 : -ENOMEM;
}

void files_free(struct files *files)
{
    for (size_t i = 0; i < files->image_count; i++)
        image_free(files->images[i]);
    tdestroy(files->by_inode, free);
    free(files->images);
    free(files->vdso.bytes);
    free(files->debug_root);
}

int files_set_debug_root(struct files *files, const char *directory)
{
    char *copy = strdup(directory);
    if (!copy)
        return -ENOMEM;
    free(files->debug_root);
    files->debug_root = copy;
    return 0;
}

/* Keeps the number of open files bounded: closes those that were seen first. */
static void unpin_old(struct files *files)
{
    for (; files->pinned_count >= PINNED_MAX && files->pinned_from < files->image_count; files->pinned_from++) {
        struct image *image = files->images[files->pinned_from];
        if (!image_has_path(image))
            continue;
        image_unpin(image);
        files->pinned_count--;
    }
}

/* The image of FD, which it takes over; shared with every process that maps the same file. NULL without memory. */
static struct image *image_of(struct files *files, int root, int fd, const char *module)
{
    struct stat stat;
    struct image *image = NULL;
    if (fstat(fd, &stat))
        goto out;
    for (size_t i = files->image_count; i-- > 0;) {
        if (image_is(files->images[i], &stat)) {
            image = files->images[i];
            goto out;
        }
    }
    if (files->image_count >= MAX_IMAGES ||
        !array_room(&files->images, files->image_count, &files->image_capacity, sizeof *files->images))
        goto out;
    unpin_old(files);
    struct debug_file_search search = {.root = root, .debug_root = files->debug_root, .module = module};
    image = image_new(fd, &stat, &search);
    if (image) {
        files->images[files->image_count++] = image;
        files->pinned_count++;
    }
    return image;
out:
    close(fd);
    return image;
}

static int compare_keys(const void *a, const void *b)
{
    const struct file_key *left = a, *right = b;
    if (left->inode != right->inode)
        return left->inode < right->inode ? -1 : 1;
    return left->device < right->device ? -1 : left->device > right->device;
}

static struct image *known_image(const struct files *files, const struct mapping *mapping)
{
    struct file_key wanted = {.device = mapping->device, .inode = mapping->inode};
    struct file_key **found = tfind(&wanted, &files->by_inode, compare_keys);
    return found ? (*found)->image : NULL;
}

static void remember_image(struct files *files, const struct mapping *mapping)
{
    struct file_key *key = malloc(sizeof *key);
    if (!key)
        return;
    *key = (struct file_key){.device = mapping->device, .inode = mapping->inode, .image = mapping->image};
    struct file_key **found = tsearch(key, &files->by_inode, compare_keys);
    if (found && *found != key)
        (*found)->image = mapping->image;
    if (!found || *found != key)
        free(key);
}

static bool after(const struct timespec *time, uint64_t ns)
{
    return (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec > ns;
}

/* True if the file FD, found by its path, is the one of MAPPING, and as it was then. */
static bool was_mapped(int fd, const struct mapping *mapping)
{
    struct stat stat;
    if (fstat(fd, &stat) || stat.st_ino != mapping->inode)
        return false;
    if (!mapping->time)
        return true;
    struct timespec real, monotonic;
    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_MONOTONIC, &monotonic);
    uint64_t then = (uint64_t)(real.tv_sec - monotonic.tv_sec) * UINT64_C(1000000000) +
                    (uint64_t)(real.tv_nsec - monotonic.tv_nsec) + mapping->time;
    long version = 0; /* the request is declared with a long, and fills an int */
    if (ioctl(fd, FS_IOC_GETVERSION, &version))
        return !after(&stat.st_ctim, then);
    uint32_t generation;
    memcpy(&generation, &version, sizeof generation);
    return generation == (uint32_t)mapping->generation && !after(&stat.st_mtim, then);
}

/* As open_file, for a path below ROOT. */
static int open_path(int root, const char *path, const struct mapping *mapping)
{
    int fd = elf_file_open_path(root, path);
    if (fd >= 0 && !was_mapped(fd, mapping)) {
        close(fd);
        fd = -ESTALE;
    }
    return fd;
}

/*
 * The file of MAPPING. map_files gives the mapped inode itself, be the path deleted, replaced or in another mount
 * namespace, but only to the privileged.
 */
static int open_file(const struct file_owner *owner, const struct mapping *mapping, const char *inside)
{
    int fd = -ENOENT;
    if (owner->pid) {
        char name[96];
        snprintf(name, sizeof name, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)owner->pid, mapping->start,
                 mapping->end);
        /* Reported mappings may be gone meanwhile, and another be in their place. */
        fd = mapping->time ? open_path(-1, name, mapping) : elf_file_open_path(-1, name);
        if (fd >= 0 || fd == -EMFILE || fd == -ENFILE || inside[0] != '/')
            return fd;
        char path[PATH_MAX + 32];
        snprintf(path, sizeof path, "/proc/%d/root%s", (int)owner->pid, inside);
        fd = open_path(-1, path, mapping);
    }
    if (fd < 0 && mapping->time && inside[0] == '/')
        fd = open_path(owner->root, inside, mapping);
    /* Mapped before its process changed its root: chroot(1). */
    if (fd < 0 && mapping->time && owner->root >= 0 && inside[0] == '/')
        fd = open_path(-1, inside, mapping);
    return fd;
}

/* The image of the vDSO at BYTES, which it takes over. */
static struct image *vdso_of(struct files *files, unsigned char *bytes, size_t size)
{
    if (files->vdso.size == size && !memcmp(files->vdso.bytes, bytes, size)) {
        free(bytes);
        return files->vdso.image;
    }
    int fd = memfd_create("vdso", MFD_CLOEXEC);
    struct image *image = NULL;
    if (fd >= 0 && write(fd, bytes, size) == (ssize_t)size)
        image = image_of(files, -1, fd, "[vdso]");
    else if (fd >= 0)
        close(fd);
    free(files->vdso.bytes);
    files->vdso.bytes = bytes;
    files->vdso.size = size;
    files->vdso.image = image;
    return image;
}

/* A copy of the process's vDSO, so that it is read like any other file; of ours, if the process has exited. */
static struct image *vdso_image(struct files *files, const struct file_owner *owner, const struct mapping *mapping)
{
    uint64_t size = mapping->end - mapping->start, start = mapping->start;
    if (size > MAX_VDSO)
        return NULL;
    if (!owner->pid && files->vdso.size == size)
        return files->vdso.image;
    if (!owner->pid)
        start = getauxval(AT_SYSINFO_EHDR);
    unsigned char *bytes = malloc((size_t)size);
    if (!bytes)
        return NULL;
    char name[32];
    snprintf(name, sizeof name, "/proc/%d/mem", (int)(owner->pid ? owner->pid : getpid()));
    int mem = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t got = mem < 0 ? -1 : pread(mem, bytes, (size_t)size, (off_t)start);
    if (mem >= 0)
        close(mem);
    if (got == (ssize_t)size)
        return vdso_of(files, bytes, (size_t)size);
    free(bytes);
    if (owner->pid)
        return vdso_image(files, &(struct file_owner){.root = -1}, mapping);
    return NULL;
}

void files_open(struct files *files, const struct file_owner *owner, struct mapping *mapping, const char *inside)
{
    mapping->tried = true;
    if (!mapping->path)
        return;
    if (!strcmp(mapping->path, "[vdso]")) {
        mapping->image = vdso_image(files, owner, mapping);
        return;
    }
    if (!mapping->inode)
        return;
    /* The number of an inode that is held open belongs to no other file. */
    struct image *known = known_image(files, mapping);
    if (known && image_is_current(known)) {
        mapping->image = known;
        return;
    }
    int fd = open_file(owner, mapping, inside);
    if (fd >= 0)
        mapping->image = image_of(files, owner->root, fd, inside);
    else if (fd == -EMFILE || fd == -ENFILE)
        mapping->tried = false; /* once more when an address falls into it: parsed files free descriptors */
    if (mapping->image)
        remember_image(files, mapping);
}

struct image *files_keep(struct files *files, const char *path)
{
    struct stat stat;
    struct mapping mapping = {0};
    char *resolved = realpath(path, NULL); /* as its mappings will name it */
    int fd = resolved ? elf_file_open_path(-1, resolved) : -1;
    if (fd >= 0 && !fstat(fd, &stat)) {
        mapping.inode = stat.st_ino;
        mapping.device = stat.st_dev;
        mapping.image = image_of(files, -1, fd, resolved);
        if (mapping.image)
            remember_image(files, &mapping);
    } else if (fd >= 0) {
        close(fd);
    }
    free(resolved);
    return mapping.image;
}

void files_unread(const struct files *files, void (*visit)(void *context, const char *module, size_t units),
                  void *context)
{
    for (size_t i = 0; i < files->image_count; i++) {
        const char *module;
        size_t units = image_unread(files->images[i], &module);
        if (units)
            visit(context, module, units);
    }
}
