/*
 * /proc/kallsyms has a line for each symbol: "ffffffffc0a3b2d0 t ext4_sync_fs\t[ext4]". There are no sizes: a symbol
 * reaches up to the next one. Behind the last of a module the next may be far away, so that nothing is believed to be
 * larger than MAX_SIZE.
 */
#include "sym/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "sym/demangle.h"
#include "sym/reading.h"
#include "sys/clock.h"
#include "sys/path.h"

enum {
    MAX_TEXT = 1 << 28, /* bytes of the list; 5 MB are usual */
    MAX_SIZE = 1 << 22, /* of a symbol; the largest BPF programs have 1 MB */
};

struct symbol_line {
    uint64_t address;
    uint32_t name, module; /* offsets in the text; module 0: the kernel itself */
    uint32_t rank;         /* of those at one address the lowest gives the name */
};

struct kernel {
    char *path;
    char *text;
    struct symbol_line *lines; /* by ascending address */
    size_t count;
    uint64_t begin, end; /* of the kernel's own code, which does not change */
    uint64_t next_reading;
    char *name; /* the one handed out last */
};

struct kernel *kernel_new(const char *path)
{
    struct kernel *kernel = calloc(1, sizeof *kernel);
    if (kernel && !(kernel->path = strdup(path))) {
        free(kernel);
        return NULL;
    }
    return kernel;
}

void kernel_free(struct kernel *kernel)
{
    if (!kernel)
        return;
    free(kernel->path);
    free(kernel->text);
    free(kernel->lines);
    free(kernel->name);
    free(kernel);
}

bool kernel_has(uint64_t address)
{
    return address >> 63;
}

/* The whole file PATH with a NUL behind it; NULL where it cannot be read. */
static char *read_text(const char *path, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = fd < 0 ? NULL : path_read_all(fd, MAX_TEXT, size);
    if (fd >= 0)
        close(fd);
    return text;
}

/* Functions before labels and variables, exported ones first, few underscores: as for the symbols of programs. */
static uint32_t rank_of(char type, const char *name)
{
    size_t underscores = strspn(name, "_");
    uint32_t rank = (uint32_t)(underscores < 3 ? underscores : 3);
    return rank + (type == 'T' ? 0 : type == 'W' ? 4 : type == 't' ? 8 : 12);
}

/* The line at AT, which is cut into strings, in *LINE; false if it is of another form or of no address. */
static bool parse(char *text, char *at, char *end, struct symbol_line *line)
{
    char *rest;
    line->address = strtoull(at, &rest, 16);
    if (!kernel_has(line->address) || end - rest < 4 || rest[0] != ' ' || rest[2] != ' ')
        return false;
    char type = rest[1], *name = rest + 3, *tab = memchr(name, '\t', (size_t)(end - name));
    *end = '\0';
    line->module = 0;
    if (tab) {
        *tab = '\0';
        line->module = (uint32_t)(tab + 1 - text);
    }
    line->name = (uint32_t)(name - text);
    line->rank = rank_of(type, name);
    return *name && type != 'a' && type != 'A';
}

static int by_address(const void *a, const void *b)
{
    const struct symbol_line *left = a, *right = b;
    if (left->address != right->address)
        return left->address < right->address ? -1 : 1;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    return (left->name > right->name) - (left->name < right->name);
}

/* Takes over TEXT of SIZE bytes. */
static void take_text(struct kernel *kernel, char *text, size_t size)
{
    size_t lines = 0, count = 0;
    for (const char *at = text; (at = memchr(at, '\n', (size_t)(text + size - at))); at++)
        lines++;
    struct symbol_line *list = malloc((lines + 1) * sizeof *list);
    if (!list) {
        free(text);
        return;
    }
    kernel->begin = kernel->end = 0;
    for (char *at = text, *end; (end = memchr(at, '\n', (size_t)(text + size - at))); at = end + 1) {
        struct symbol_line *line = &list[count];
        if (!parse(text, at, end, line))
            continue;
        if (!strcmp(text + line->name, "_stext"))
            kernel->begin = line->address;
        else if (!strcmp(text + line->name, "_etext"))
            kernel->end = line->address;
        count++;
    }
    qsort(list, count, sizeof *list, by_address);
    free(kernel->lines);
    free(kernel->text);
    kernel->lines = list;
    kernel->count = count;
    kernel->text = text;
}

static void read_again(struct kernel *kernel)
{
    uint64_t start = clock_now();
    size_t size;
    char *text = read_text(kernel->path, &size);
    if (text)
        take_text(kernel, text, size);
    kernel->next_reading = next_reading(start);
}

/* The symbol of ADDRESS: the best-ranked of the last address that is not above it. */
static const struct symbol_line *find(const struct kernel *kernel, uint64_t address)
{
    size_t below = array_up_to(kernel->lines, kernel->count, sizeof *kernel->lines, address);
    if (!below || address - kernel->lines[below - 1].address >= MAX_SIZE)
        return NULL;
    const struct symbol_line *line = &kernel->lines[below - 1];
    while (line > kernel->lines && line[-1].address == line->address)
        line--;
    return line;
}

const char *kernel_lookup(struct kernel *kernel, uint64_t address, uint64_t *offset, const char **module)
{
    *offset = address;
    *module = "[kernel]";
    bool core = address >= kernel->begin && address < kernel->end;
    if (!core && clock_now() >= kernel->next_reading)
        read_again(kernel);
    const struct symbol_line *line = find(kernel, address);
    if (!line)
        return NULL;
    free(kernel->name);
    kernel->name = demangle(kernel->text + line->name);
    *offset = address - line->address;
    if (line->module)
        *module = kernel->text + line->module;
    return kernel->name;
}

int kernel_address(const char *path, const char *name, uint64_t *address)
{
    size_t size, length = strlen(name);
    char *text = read_text(path, &size), *end;
    int result = text ? -ENOENT : errno ? -errno : -EIO;
    for (char *at = text; at && result == -ENOENT && (end = memchr(at, '\n', (size_t)(text + size - at)));
         at = end + 1) {
        char *rest;
        *end = '\0';
        *address = strtoull(at, &rest, 16);
        if (end - rest > 3 && !strncmp(rest + 3, name, length) && (!rest[3 + length] || rest[3 + length] == '\t'))
            result = *address ? 0 : -EACCES;
    }
    free(text);
    return result;
}

/* The name of a module in NAME, "ext4]": cut there. False where it is none, as "[bpf]" and "[__builtin__ftrace]". */
static bool cut_module(char *name)
{
    name[strcspn(name, "]")] = '\0';
    return strcmp(name, "bpf") && strncmp(name, "__builtin__", strlen("__builtin__"));
}

int kernel_functions(const char *path, kernel_visit *visit, void *context)
{
    size_t size;
    char *text = read_text(path, &size), *end;
    int result = text ? 0 : errno ? -errno : -EIO;
    for (char *at = text; at && result == 0 && (end = memchr(at, '\n', (size_t)(text + size - at))); at = end + 1) {
        *end = '\0';
        char *rest;
        uint64_t address = strtoull(at, &rest, 16);
        if (end - rest < 4 || !strchr("tTwW", rest[1]))
            continue;
        char *name = rest + 3, *module = strstr(name, "\t[");
        if (module)
            *module = '\0';
        if (!module || cut_module(module + 2))
            result = visit(name, module ? module + 2 : "", address, context);
    }
    free(text);
    return result;
}
