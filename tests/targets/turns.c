/*
 * Has the code of two libraries in one place, one after the other: ./libleft.so and ./libright.so of its own folder.
 *
 *   turns open ROUNDS CALLS MICROSECONDS    loads one, calls it, unloads it, loads the other: ROUNDS of both
 *   turns map ROUNDS CALLS MICROSECONDS     maps the code of one over that of the other, and at last nothing
 *
 * CALLS times in each round it waits so long and calls `answer` through the library, which calls getppid. By "open"
 * each library leaves so many blocks behind in a round, too. It prints in how many places the code was.
 */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "noinline.h"

typedef long outer_function(long (*call)(long), long i);
typedef long leak_function(void);

static const char *const names[] = {"left", "right"};
static char folder[PATH_MAX];
static long calls, pause_time;
static size_t places;

NOINLINE static long answer(long i)
{
    return syscall(SYS_getppid) + i;
}

static void *fail(const char *what)
{
    fprintf(stderr, "turns: %s\n", what);
    exit(1);
}

/* The place of library WHICH in the file system. */
static const char *path_of(int which)
{
    static char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/lib%s.so", folder, names[which]);
    return path;
}

static void *load(int which)
{
    void *library = dlopen(path_of(which), RTLD_NOW);
    return library ? library : fail(dlerror());
}

static void *find(void *library, int which, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%s", names[which], what);
    void *found = dlsym(library, name);
    return found ? found : fail(dlerror());
}

static void call(outer_function *outer)
{
    static outer_function *before;
    places += outer != before;
    before = outer;
    for (long i = 0; i < calls; i++) {
        if (pause_time)
            usleep((useconds_t)pause_time);
        outer(answer, i);
    }
}

static void open_round(int which)
{
    void *library = load(which);
    leak_function *leak = (leak_function *)find(library, which, "leak");
    call((outer_function *)find(library, which, "outer"));
    for (long i = 0; i < calls; i++)
        leak();
    dlclose(library);
}

/* A library's code: where in the file its function is, and the function in its segment. */
struct code {
    int file;
    off_t offset; /* of the segment */
    size_t size, inside;
};

static struct code look_up(int which)
{
    struct code code = {.file = open(path_of(which), O_RDONLY | O_CLOEXEC)};
    void *library = load(which);
    char *outer = find(library, which, "outer");
    Dl_info info;
    if (code.file < 0 || !dladdr(outer, &info))
        fail("no library");
    const ElfW(Ehdr) *header = info.dli_fbase;
    const ElfW(Phdr) *segments = (const void *)((const char *)info.dli_fbase + header->e_phoff);
    size_t address = (size_t)(outer - (char *)info.dli_fbase);
    for (int i = 0; i < header->e_phnum; i++)
        if (address - segments[i].p_vaddr < segments[i].p_memsz && segments[i].p_flags & PF_X) {
            code.offset = (off_t)segments[i].p_offset;
            code.size = segments[i].p_filesz;
            code.inside = address - segments[i].p_vaddr;
        }
    dlclose(library);
    return code;
}

static void map_rounds(long rounds)
{
    struct code code[] = {look_up(0), look_up(1)};
    size_t size = code[0].size > code[1].size ? code[0].size : code[1].size;
    char *place = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < 2 * rounds; i++) {
        const struct code *one = &code[i & 1];
        if (place == MAP_FAILED || mmap(place, one->size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, one->file,
                                        one->offset) == MAP_FAILED)
            fail("cannot map");
        call((outer_function *)(place + one->inside));
    }
    munmap(place, size);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        fail("open|map ROUNDS CALLS MICROSECONDS");
    if (!realpath("/proc/self/exe", folder))
        fail("no folder");
    *strrchr(folder, '/') = '\0';
    long rounds = atol(argv[2]);
    calls = atol(argv[3]);
    pause_time = atol(argv[4]);
    if (!strcmp(argv[1], "map"))
        map_rounds(rounds);
    for (int i = 0; strcmp(argv[1], "map") && i < 2 * rounds; i++)
        open_round(i & 1);
    printf("%zu places\n", places);
    return 0;
}
