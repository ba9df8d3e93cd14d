/*
 * Debug information that is made to cost its reader time and memory: small files, of which libdw would make gigabytes.
 * Each is first tried with small numbers, to see that it is read at all.
 */
#include <sys/resource.h>

#include "sym/debuginfo.h"

#include "programs.h"

enum { MAX_GROWTH = 300 << 10 /* KiB */ };

/*
 * Units, of which the first describes 0x1000 to 0x2000, with a line table of VERSION: FILES of them in the folder
 * number 1, whose name has FOLDER bytes, and LINES operations, each a line. UNITS read an abbreviation table of
 * ENTRIES, of which the last is theirs.
 */
static const char source[] =
    ".section .debug_abbrev\n.set n,1\n.rept ENTRIES\n.uleb128 n\n.byte 0x2e,0,0,0\n.set n,n+1\n.endr\n"
    ".uleb128 n\n.byte 0x11,0,0x10,0x17,0x11,0x01,0x12,0x07,0,0,0\n"
    ".section .debug_info\n.rept UNITS\n.long 2f-1f\n1:.short 4\n.long 0\n.byte 8\n.uleb128 n\n.long 0\n.quad "
    "0x1000,0x1000\n2:\n.endr\n"
    ".section .debug_line\n.long 4f-3f\n3:.short VERSION\n.if VERSION==5\n.byte 8,0\n.endif\n.long 6f-5f\n5:.byte "
    "1,1,1,-5,14,13\n"
    ".byte 0,1,1,1,1,0,0,0,1,0,0,1\n"
    ".if VERSION==5\n.byte 1,1,0x1f\n.uleb128 2\n.long 0,0\n.byte 2,1,8,2,0xb\n.uleb128 FILES\n.rept FILES\n.asciz "
    "\"f\"\n.byte 1\n.endr\n"
    ".else\n.fill FOLDER,1,0x64\n.byte 0,0\n.rept FILES\n.asciz \"f\"\n.byte 1,0,0\n.endr\n.byte 0\n.endif\n"
    "6:.byte 0,9,2\n.quad 0x1000\n.fill LINES,1,DO\n.byte 2\n.uleb128 0x1000\n.byte 0,1,1\n4:\n"
    ".section .debug_line_str,\"MS\",@progbits,1\n.fill FOLDER,1,0x64\n.byte 0\n";

static long most_memory(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static bool build(int version, long files, long folder, long lines, int operation, long units, long entries)
{
    return shell("as --defsym VERSION=%d --defsym FILES=%ld --defsym FOLDER=%ld --defsym LINES=%ld --defsym DO=%d "
                 "--defsym UNITS=%ld "
                 "--defsym ENTRIES=%ld cost.s -o plain.o && objcopy --compress-debug-sections=zlib plain.o cost.o && "
                 "ls -l cost.o | awk '{ print \"# \" $5 \" bytes\" }'",
                 version, files, folder, lines, operation, units, entries);
}

/*
 * How many places 0x1010 has; in *FILE whether its file is known, in *UNREAD how many units' lines were not read. -1:
 * the debug information is not read.
 */
static int places_of(bool *file, size_t *unread)
{
    struct elf_file elf;
    struct debuginfo *debuginfo;
    struct source_line places[4];
    int count = -1, fd = open(in_dir("cost.o"), O_RDONLY | O_CLOEXEC);
    *file = false;
    *unread = 0;
    if (fd >= 0 && !elf_file_open(&elf, fd)) {
        if (!debuginfo_open(&debuginfo, &elf, NULL, false)) {
            unsigned nearest;
            debuginfo_find_line(debuginfo, "other.c", 23, NULL, NULL, &nearest); /* asks each unit for its files */
            count = (int)debuginfo_lookup(debuginfo, 0x1010, places, 4);
            *file = count > 0 && places[0].file;
            *unread = debuginfo_unread(debuginfo);
            debuginfo_free(debuginfo);
        }
        elf_file_close(&elf);
    }
    close(fd);
    return count;
}

static void check(const char *what, int version, long files, long folder, long lines, int operation, long units,
                  long entries)
{
    bool file;
    size_t unread;
    if (!ok(build(version, 3, 23, 7, operation == 3 ? 1 : operation, 2, 5), "%s: a small one is built", what))
        return;
    places_of(&file, &unread);
    ok(file && !unread, "%s: it has lines", what);
    if (!ok(build(version, files, folder, lines, operation, units, entries), "%s: a large one is built", what))
        return;
    long before = most_memory();
    struct timespec begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    int count = places_of(&file, &unread);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    long grown = most_memory() - before;
    printf("# %s: %ld MiB, %ld ms\n", what, grown >> 10,
           (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000);
    ok(!file, "%s: it is given up", what);
    ok(unread == (size_t)units || count == -1, "%s: which is told", what);
    ok(grown < MAX_GROWTH, "%s: by %ld MiB", what, grown >> 10);
}

int main(void)
{
    begin_programs();
    write_file("cost.s", source);
#ifndef __SANITIZE_ADDRESS__ /* which maps more itself */
    struct rlimit limit = {.rlim_cur = UINT64_C(8) << 30, .rlim_max = UINT64_C(8) << 30};
    setrlimit(RLIMIT_AS, &limit); /* so that a failure does not take the machine with it: libdw ends the process */
#endif
    check("a folder's name before those of 100,000 files", 4, 100000, 500000, 7, 0x20, 2, 5);
    check("the same in DWARF 5", 5, 100000, 500000, 7, 0x20, 2, 5);
    check("a program of 60 million lines", 4, 3, 23, 60000000, 0x20, 2, 5);
    check("100,000 units that read 100,000 abbreviations each", 4, 3, 23, 7, 0x20, 100000, 100000);
    return end_programs();
}
