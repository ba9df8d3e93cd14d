/* Which files a process has mapped, and by which path the kernel finds them. */
#include "probe/module/module.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

enum { MAX_MODULES = 16384, MAX_LINKS = 40 /* as the kernel's path walk */ };
#define DELETED " (deleted)"

const char *path_basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

struct module *modules_find(const struct modules *modules, dev_t device, ino_t inode)
{
    for (size_t i = 0; i < modules->count; i++)
        if (modules->items[i].device == device && modules->items[i].inode == inode)
            return &modules->items[i];
    return NULL;
}

static int add_file(struct modules *modules, const char *path, const char *name, const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return -EINVAL;
    if (modules_find(modules, st->st_dev, st->st_ino))
        return 0;
    if (modules->count >= MAX_MODULES)
        return -E2BIG;
    struct module *module = array_add(&modules->items, &modules->count, sizeof *module);
    if (!module)
        return -ENOMEM;
    *module = (struct module){.path = strdup(path), .name = strdup(name), .device = st->st_dev, .inode = st->st_ino};
    if (module->path && module->name)
        return 0;
    free(module->path);
    free(module->name);
    modules->count--;
    return -ENOMEM;
}

int modules_add(struct modules *modules, const char *path, const char *name)
{
    struct stat st;
    return stat(path, &st) < 0 ? -errno : add_file(modules, path, name, &st);
}

void modules_free(struct modules *modules)
{
    for (size_t i = 0; i < modules->count; i++) {
        free(modules->items[i].path);
        free(modules->items[i].name);
    }
    free(modules->items);
    array_free_strings(modules->unreached, modules->unreached_count);
    memset(modules, 0, sizeof *modules);
}

/* One line of /proc/PID/maps that maps a file executable. */
struct line {
    uint64_t start, end;
    char *path; /* as the kernel prints it */
};

static bool same_file(const char *path, const struct stat *wanted, struct stat *st)
{
    return stat(path, st) == 0 && st->st_dev == wanted->st_dev && st->st_ino == wanted->st_ino;
}

/* Cuts off what the kernel writes behind the name of a file that has no name any more. False: it has one. */
static bool cut_deleted(char *path)
{
    size_t length = strlen(path), suffix = strlen(DELETED);
    bool deleted = length > suffix && strcmp(path + length - suffix, DELETED) == 0;
    if (deleted)
        path[length - suffix] = '\0';
    return deleted;
}

static int add_unreached(struct modules *modules, const char *name)
{
    if (array_has_string(modules->unreached, modules->unreached_count, name))
        return 0;
    return modules->unreached_count >= MAX_MODULES
               ? -E2BIG
               : array_add_string(&modules->unreached, &modules->unreached_count, name);
}

/*
 * Adds the file mapped at LINE by a path that leads to that very file: by its name in the process's root, by its name
 * in ours (a process in a chroot: the kernel prints names as we see them), else by the mapping itself. Comparing device
 * and inode as maps prints them would not do: they differ from stat's on btrfs and overlayfs.
 */
static int add_mapped(struct modules *modules, pid_t pid, const struct line *line)
{
    char mapping[96], rooted[PATH_MAX + 32];
    snprintf(mapping, sizeof mapping, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, line->start, line->end);
    int written = snprintf(rooted, sizeof rooted, "/proc/%d/root%s", (int)pid, line->path);
    if (written < 0 || (size_t)written >= sizeof rooted)
        return 0;
    struct stat wanted, st;
    if (stat(mapping, &wanted) < 0) {
        /* Without the privilege for map_files: the name has to do. The mapping may also be gone by now. */
        if (errno != ENOENT && stat(rooted, &st) < 0 && cut_deleted(line->path))
            return add_unreached(modules, line->path);
        return stat(rooted, &st) == 0 && S_ISREG(st.st_mode) ? add_file(modules, rooted, line->path, &st) : 0;
    }
    if (!S_ISREG(wanted.st_mode))
        return 0;
    if (same_file(rooted, &wanted, &st))
        return add_file(modules, rooted, line->path, &st);
    if (same_file(line->path, &wanted, &st))
        return add_file(modules, line->path, line->path, &st);
    cut_deleted(line->path);
    return add_file(modules, mapping, line->path, &wanted);
}

/* The path of a line of maps if it maps a file executable: "START-END r-xp OFFSET MAJOR:MINOR INODE   PATH\n". */
static bool parse_line(char *text, struct line *line)
{
    char permissions[5];
    uint64_t inode;
    int at = 0;
    if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %4s %*x %*x:%*x %" SCNu64 " %n", &line->start, &line->end, permissions,
               &inode, &at) < 4 ||
        !at || permissions[2] != 'x' || text[at] != '/')
        return false;
    text[strcspn(text, "\n")] = '\0';
    line->path = text + at;
    return true;
}

/* /proc/PID/exe comes first; its name is that of its mapping, which is also right where the link is unreadable. */
static void move_program_first(struct modules *modules, pid_t pid)
{
    char exe[64];
    struct stat st;
    snprintf(exe, sizeof exe, "/proc/%d/exe", (int)pid);
    struct module *found = stat(exe, &st) < 0 ? NULL : modules_find(modules, st.st_dev, st.st_ino),
                  *first = modules->items;
    if (!found)
        return;
    struct module program = *found;
    memmove(first + 1, first, (size_t)(found - first) * sizeof program);
    *first = program;
}

int modules_of_process(pid_t pid, struct modules *modules, struct error *err)
{
    memset(modules, 0, sizeof *modules);
    char path[64], *text = NULL;
    size_t capacity = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *in = fopen(path, "re");
    if (!in) {
        int code = -errno;
        if (code == -ENOENT)
            return error_set(err, -ESRCH, "process %d has exited", (int)pid);
        return error_set(err, code, "cannot read the mappings of process %d: %s%s", (int)pid, error_reason(code),
                         code == -EACCES || code == -EPERM ? " (needs CAP_SYS_PTRACE; run uplua as root)" : "");
    }
    int result = 0;
    bool any = false;
    while (result == 0 && getline(&text, &capacity, in) > 0) {
        struct line line;
        any = true;
        if (parse_line(text, &line))
            result = add_mapped(modules, pid, &line);
    }
    free(text);
    fclose(in);
    if (result == -E2BIG)
        result = 0; /* what lies beyond the limit is not found by its name */
    if (result == 0 && !any)
        result = error_set(err, -ESRCH, "process %d has exited", (int)pid);
    else if (result < 0)
        error_set(err, result, "cannot read the mappings of process %d: %s", (int)pid, error_reason(result));
    if (result < 0)
        modules_free(modules);
    else
        move_program_first(modules, pid);
    return result;
}

/* DONE, a resolved path or "", and the component NAME, with what NAME links to in *TARGET ("": no link). */
static int step(const char *root, char *done, const char *name, size_t length, char *target)
{
    size_t have = strlen(done);
    if (length == 2 && memcmp(name, "..", 2) == 0) {
        char *slash = strrchr(done, '/');
        if (slash)
            *slash = '\0';
        target[0] = '\0';
        return 0;
    }
    if (have + 1 + length >= PATH_MAX)
        return -ENAMETOOLONG;
    char full[2 * PATH_MAX];
    done[have] = '/';
    memcpy(done + have + 1, name, length);
    done[have + 1 + length] = '\0';
    if ((size_t)snprintf(full, sizeof full, "%s%s", root, done) >= sizeof full)
        return -ENAMETOOLONG;
    struct stat st;
    target[0] = '\0';
    if (lstat(full, &st) < 0)
        return -errno;
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlink(full, target, PATH_MAX - 1);
        if (n <= 0)
            return n < 0 ? -errno : -ENOENT;
        target[n] = '\0';
        done[target[0] == '/' ? 0 : have] = '\0';
    }
    return 0;
}

char *path_resolve(const char *root, const char *path)
{
    if (!*root)
        return realpath(path, NULL);
    char done[PATH_MAX] = "", left[PATH_MAX], target[PATH_MAX];
    int links = 0, result = 0;
    if (strlen(path) >= sizeof left) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    strcpy(left, path);
    while (result == 0) {
        char *name = left + strspn(left, "/");
        size_t length = strcspn(name, "/");
        if (length == 0)
            return strdup(*done ? done : "/");
        if (length == 1 && name[0] == '.')
            target[0] = '\0';
        else
            result = step(root, done, name, length, target);
        if (result == 0 && *target && ++links > MAX_LINKS)
            result = -ELOOP;
        /* The rest follows what the link says. */
        char rest[PATH_MAX];
        if (result == 0 && (size_t)snprintf(rest, sizeof rest, "%s%s", target, name + length) >= sizeof rest)
            result = -ENAMETOOLONG;
        if (result == 0)
            strcpy(left, rest);
    }
    errno = -result;
    return NULL;
}
