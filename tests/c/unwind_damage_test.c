/* Damaged and truncated copies of system libraries: a table or a message, in bounded time, and nothing read outside. */
#include "unwind/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "elf/section.h"
#include "tap.h"

enum { SECONDS = 60 };

static uint64_t state;

/* xorshift64, begun anew for each file: its damage is the same in each run, whatever the others are. */
static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static int errors, tables;

/* Builds the table of the SIZE bytes at COPY and asks it for offsets. */
static bool build(int fd, const uint8_t *copy, size_t size)
{
    struct elf_file elf;
    struct unwind_rules rules;
    struct unwind_table table;
    struct error err = {0};
    if (ftruncate(fd, 0) || pwrite(fd, copy, size, 0) != (ssize_t)size || unwind_rules_init(&rules))
        return false;
    bool fine = true;
    int rc = elf_file_open(&elf, fd);
    if (!rc) {
        rc = unwind_table_build(&table, &elf, NULL, &rules, &err);
        if (!rc) {
            for (int i = 0; i < 1009; i++)
                fine = fine && unwind_table_find(&table, i % 2 ? next() : next() % size) < rules.count;
            for (uint32_t i = 0; i < table.row_count; i++) {
                uint64_t offset;
                uint32_t rule = unwind_table_row(&table, i, &offset);
                fine = fine && rule < rules.count && unwind_table_find(&table, offset) == rule;
            }
            unwind_table_free(&table);
        } else {
            fine = *err.text;
        }
        elf_file_close(&elf);
    }
    errors += rc != 0;
    tables += rc == 0;
    unwind_rules_free(&rules);
    return fine;
}

/* Where the section NAME is. */
static void section(int fd, const char *name, size_t *offset, size_t *size)
{
    struct elf_file elf;
    *offset = 0;
    if (elf_file_open(&elf, fd))
        return;
    const Elf64_Shdr *found = section_find(&elf, SHT_NULL, name);
    if (found) {
        *offset = found->sh_offset;
        *size = found->sh_size;
    }
    elf_file_close(&elf);
}

/* With what tells of its stack in the section NAME, ROUNDS times in each of four ways. */
static void test_file(const char *path, const char *name, int rounds)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), work = memfd_create("damaged", MFD_CLOEXEC);
    off_t length = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    if (length <= 0 || work < 0)
        return;
    size_t size = (size_t)length, at, part = size;
    uint8_t *original = malloc(size), *copy = malloc(size);
    if (!original || !copy || pread(fd, original, size, 0) != length)
        exit(1);
    section(fd, name, &at, &part);
    errors = tables = 0;
    state = 23;
    int good = 0;
    clock_t begin = clock();           /* of this process's own work: others may have the CPUs meanwhile */
    for (int i = 0; i < rounds; i++) { /* bytes of that section */
        memcpy(copy, original, size);
        for (uint64_t n = next() % 23 + 1; n; n--)
            copy[at + next() % part] = (uint8_t)next();
        good += build(work, copy, size);
    }
    for (int i = 0; i < rounds; i++) { /* lengths and offsets that are as large as can be, or all zeros */
        memcpy(copy, original, size);
        size_t place = next() % part & ~(size_t)3;
        memset(copy + at + place, i % 2 ? 0xff : 0, part - place < 64 ? part - place : next() % 64);
        good += build(work, copy, size);
    }
    for (int i = 0; i < rounds; i++) { /* the file's headers, and without sections */
        memcpy(copy, original, size);
        if (i % 2)
            ((Elf64_Ehdr *)copy)->e_shoff = 0;
        for (uint64_t n = next() % 5; n; n--)
            copy[next() % 1024] = (uint8_t)next();
        good += build(work, copy, size);
    }
    memcpy(copy, original, size);
    for (int i = 0; i < rounds; i++) { /* ends anywhere */
        if (i % 2)
            ((Elf64_Ehdr *)copy)->e_shoff = 0;
        good += build(work, copy, i < rounds / 2 ? next() % size : at + next() % part);
    }
    good +=
        build(work, original, next() % sizeof(Elf64_Ehdr)); /* ends in its header: one reason, whatever the others */
    is_int(good, 4 * rounds + 1, "%s: each damaged copy gives a sound table or a reason", path);
    ok(errors > 0 && tables > 23, "%d tables, %d reasons", tables, errors);
    ok((clock() - begin) / CLOCKS_PER_SEC < SECONDS, "soon");
    free(original);
    free(copy);
    close(work);
    close(fd);
}

/* A function twice, one inside another, one with instructions that never end: decided, not mixed. */
static void test_overlaps(void)
{
    // clang-format off
    static const uint8_t records[] = {
        /* CIE: version 1, no augmentation, code align 1, data align -8, return register 16; CFA = r7 + 8, r16 below */
        20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0,
        /* FDE 0x1000 + 0x100: CFA = r7 + 16 from byte 16 on */
        28, 0, 0, 0, 28, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x50, 0x0e, 16, 0, 0, 0, 0, 0,
        /* the same start again: CFA = r7 + 24 */
        28, 0, 0, 0, 60, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x0e, 24, 0, 0, 0, 0, 0, 0,
        /* 0x1080 + 0x10, inside the first: CFA = r7 + 32 */
        28, 0, 0, 0, 92, 0, 0, 0, 0x80, 0x10, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x0e, 32, 0, 0, 0, 0, 0, 0,
        /* 0x10c0 + 0x40: an instruction that nobody knows */
        28, 0, 0, 0, 124, 0, 0, 0, 0xc0, 0x10, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0x3f, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0,
    };
    // clang-format on
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr segments[2];
        uint8_t eh_frame_header[8], records[sizeof records];
    } file = {
        .header = {.e_machine = arch_cpu.elf_machine,
                   .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_phnum = 2,
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phoff = sizeof(Elf64_Ehdr)},
        .segments = {{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 0x2000, .p_memsz = 0x2000},
                     {.p_type = PT_GNU_EH_FRAME}},
        .eh_frame_header = {1, 0x1b, 0xff, 0xff, 4, 0, 0, 0}, /* pc-relative: the next byte */
    };
    file.segments[1].p_offset = file.segments[1].p_vaddr = (uint64_t)((char *)file.eh_frame_header - (char *)&file);
    file.segments[1].p_filesz = sizeof file.eh_frame_header;
    memcpy(file.records, records, sizeof records);
    int fd = memfd_create("overlaps", MFD_CLOEXEC);
    struct elf_file elf;
    struct unwind_rules rules;
    struct unwind_table table;
    struct error err = {0};
    if (write(fd, &file, sizeof file) != sizeof file || ftruncate(fd, 0x2000) || elf_file_open(&elf, fd) ||
        unwind_rules_init(&rules))
        exit(1);
    if (is_int(unwind_table_build(&table, &elf, NULL, &rules, &err), 0,
               "an .eh_frame found through its header alone")) {
        static const struct {
            uint64_t offset;
            int64_t cfa;
        } expected[] = {{0xfff, 0},  {0x1000, 8}, {0x100f, 8}, {0x1010, 16}, {0x107f, 16}, {0x1080, 32}, {0x108f, 32},
                        {0x1090, 0}, {0x10bf, 0}, {0x10c0, 0}, {0x10ff, 0},  {0x1100, 0},  {~0ull, 0}};
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
            is_int(RULE_OFFSET(rules.items[unwind_table_find(&table, expected[i].offset)]), expected[i].cfa,
                   "the CFA at %#llx", (unsigned long long)expected[i].offset);
        is_int(table.damaged, 1, "one function is damaged");
        unwind_table_free(&table);
    } else {
        printf("# %s\n", err.text);
    }
    unwind_rules_free(&rules);
    elf_file_close(&elf);
    close(fd);
}

int main(void)
{
    char path[256];
    int rounds = getenv("UPLUA_LONG") ? 101 : 23; /* where nothing is told any more, all of the code is read */
    static const char *const libraries[] = {"libgcc_s.so.1", "libm.so.6"};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        snprintf(path, sizeof path, "/usr/lib/%s/%s", arch_cpu.library_folder, libraries[i]);
        test_file(path, ".eh_frame", i ? rounds : 101);
    }
    test_file("build/targets/libframes.so", ".debug_frame", rounds);
    test_file("build/targets/libframes-zlib.so", ".debug_frame", rounds);
    test_file("build/targets/undescribed", ".text", rounds); /* whose code is asked itself */
    test_file("build/targets/sorts_below-stripped", ".text", rounds);
    test_overlaps();
    return done_testing();
}
