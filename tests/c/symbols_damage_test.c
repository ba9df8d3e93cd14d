/*
 * Truncated and corrupted copies of system libraries and of their debug files: names and lines may be missing, nothing
 * is read outside of the file, and no copy takes long.
 */
#include <errno.h>
#include <sys/stat.h>

#include "sym/image.h"

#include "programs.h"

enum { ROUNDS = 23, LOOKUPS = 101, SECONDS = 20, MAX_SIZE = 1 << 24 };

/* Of this process's own work: others may have the CPUs meanwhile. */
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* How many of LOOKUPS random addresses have a place in the source, by the file NAME's own debug information. */
static unsigned look_for_lines(const char *name)
{
    struct elf_file elf;
    struct debuginfo *debuginfo;
    unsigned found = 0;
    int fd = open(in_dir(name), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        exit(2);
    if (!elf_file_open(&elf, fd) && !debuginfo_open(&debuginfo, &elf, NULL, false)) {
        for (int i = 0; i < LOOKUPS; i++) {
            struct source_line places[16];
            found += debuginfo_lookup(debuginfo, (uint64_t)random() % 0x180000, places, 16) > 0;
        }
        debuginfo_free(debuginfo);
    }
    elf_file_close(&elf);
    close(fd);
    return found;
}

/* How many of LOOKUPS random places in the file NAME of the test's folder have a name, and in *LINES how many a
 * line. */
static unsigned look(const char *name, uint64_t size, unsigned *lines)
{
    struct debug_file_search search = {.root = -1, .debug_root = "/nonexistent", .module = in_dir(name)};
    struct stat stat;
    int fd = open(in_dir(name), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &stat))
        exit(2);
    struct image *image = image_new(fd, &stat, &search);
    unsigned names = 0;
    *lines = 0;
    for (int i = 0; i < LOOKUPS; i++) {
        uint64_t offset, at = (uint64_t)random() % size;
        struct source_line places[16];
        const char *function = image_lookup(image, at, true, &offset, NULL);
        size_t count = image_places(image, at, true, places, 16);
        if ((function && strlen(function) > 5000) || count > 16)
            exit(3);
        names += function != NULL;
        *lines += count > 0;
    }
    image_free(image);
    *lines += look_for_lines(name);
    return names;
}

static void write_bytes(const char *name, const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(in_dir(name), "w");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
        exit(2);
}

/* Damages headers and tables more often than the rest: most readers stop early there. */
static void damage(unsigned char *bytes, size_t size)
{
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof header);
    for (int i = 1 + (int)random() % 40; i > 0; i--) {
        size_t at = (size_t)random() % size, table = header.e_shnum * sizeof(Elf64_Shdr);
        if (random() % 3 == 0 && header.e_shoff + table <= size && table)
            at = header.e_shoff + (size_t)random() % table;
        else if (random() % 8 == 0)
            at = EI_NIDENT + (size_t)random() % (sizeof header + 13 * sizeof(Elf64_Phdr) - EI_NIDENT);
        static const unsigned char worst[] = {0, 1, 0x7f, 0x80, 0xff};
        bytes[at] = random() % 2 ? worst[random() % 5] : (unsigned char)random();
    }
}

static void test_file(const char *path)
{
    static unsigned char whole[MAX_SIZE], bytes[MAX_SIZE];
    FILE *file = fopen(path, "r");
    size_t size = file ? fread(whole, 1, sizeof whole, file) : 0;
    if (file)
        fclose(file);
    if (!ok(size >= 4096, "%s is there", path))
        return;
    unsigned names = 0, lines = 0, some;
    double slowest = 0;
    for (int round = 0; round < ROUNDS; round++) {
        size_t length = round % 2 ? size : (size_t)random() % size;
        memcpy(bytes, whole, size);
        if (round % 4)
            damage(bytes, size);
        write_bytes("damaged", bytes, length);
        double begin = seconds();
        names += look("damaged", size, &some);
        lines += some;
        double took = seconds() - begin;
        slowest = took > slowest ? took : slowest;
    }
    printf("# %s: %u names, %u lines, %.2f s for the slowest\n", path, names, lines, slowest);
    ok(slowest < SECONDS, "%d damaged copies of %s are read without harm", ROUNDS, path);
}

int main(void)
{
    begin_programs();
    FILE *pipe =
        popen("for f in libc.so.6 libstdc++.so.6 libcrypto.so.3 libdw.so.1 libm.so.6; do "
              "l=$(ldconfig -p | awk -v f=$f '$1 == f { print $NF; exit }'); [ -n \"$l\" ] || continue; echo $l; "
              "d=$(readelf -n $l | sed -n 's,.*Build ID: \\(..\\),/usr/lib/debug/.build-id/\\1/,p').debug; "
              "[ ! -e $d ] || echo $d; done",
              "r");
    char path[512];
    unsigned files = 0;
    for (; pipe && fscanf(pipe, "%511s", path) == 1; files++)
        test_file(path);
    if (pipe)
        pclose(pipe);
    ok(files > 3, "%u files", files);
    test_file("build/targets/leak");
    return end_programs();
}
