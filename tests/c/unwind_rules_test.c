/* Unwind rules of both CPUs, on either: where each has a frame and its return address, and those that aarch64 signs or
 * still has in their register. */
#define __TARGET_ARCH_arm64
#undef __TARGET_ARCH_x86
#include "../bpf/arch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/arch.h"
#include "tap.h"
#include "unwind/table.h"

enum { RECORDS = 76 };

/* What a compiler makes of a function that calls another one: for aarch64 with -mbranch-protection=pac-ret, … */
// clang-format off
static const uint8_t aarch64[RECORDS] = {
    /* CIE: version 1, code align 4, data align -8, return register 30; CFA = r31 + 0 */
    20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 4, 0x78, 30, 0x0c, 31, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    /* FDE 0x1000 + 0x40 */
    44, 0, 0, 0, 28, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0,
    0x41, 0x2d,                         /* paciasp */
    0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3,   /* stp x29, x30, [sp, #-32]! */
    0x41, 0x0d, 29,                     /* mov x29, sp */
    0x41, 0x0c, 31, 0, 0xdd, 0xde,      /* ldp x29, x30, [sp], #32 */
    0x41, 0x2d, 0, 0, 0, 0,             /* autiasp */
    0, 0, 0, 0,
};
// clang-format on

/* … and for x86_64 with a frame pointer. */
// clang-format off
static const uint8_t x86_64[RECORDS] = {
    /* CIE: version 1, code align 1, data align -8, return register 16; CFA = r7 + 8, return address at CFA - 8 */
    20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0,
    /* FDE 0x1000 + 0x40 */
    40, 0, 0, 0, 28, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0,
    0x41, 0x0e, 16, 0x86, 2,            /* push rbp */
    0x43, 0x0d, 6,                      /* mov rbp, rsp */
    0x7b, 0x0c, 7, 8, 0xc6,             /* pop rbp, 0x3b bytes on */
    0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0,
};
// clang-format on

struct file {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
    uint8_t eh_frame_header[8], records[RECORDS];
};

static int make_file(uint16_t machine, const uint8_t *records)
{
    struct file file = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_machine = machine,
                   .e_phnum = 2,
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phoff = sizeof(Elf64_Ehdr)},
        .segments = {{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 0x2000, .p_memsz = 0x2000},
                     {.p_type = PT_GNU_EH_FRAME}},
        .eh_frame_header = {1, 0x1b, 0xff, 0xff, 4, 0, 0, 0}, /* pc-relative: the next byte */
    };
    file.segments[1].p_offset = file.segments[1].p_vaddr = offsetof(struct file, eh_frame_header);
    file.segments[1].p_filesz = sizeof file.eh_frame_header;
    memcpy(file.records, records, RECORDS);
    int fd = memfd_create("code", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0x2000) || pwrite(fd, &file, sizeof file, 0) != (ssize_t)sizeof file)
        exit(1);
    return fd;
}

struct expected {
    uint64_t offset, rule;
    const char *what;
};

static void test_rules(uint16_t machine, const uint8_t *records, const struct expected *expected, size_t count)
{
    struct elf_file elf;
    struct unwind_rules rules;
    struct unwind_table table;
    struct error err = {0};
    int fd = make_file(machine, records);
    unwind_rules_init(&rules);
    ok(!elf_file_open(&elf, fd) && elf.machine == machine, "a file for machine %u", machine);
    if (is_int(unwind_table_build(&table, &elf, NULL, &rules, &err), 0, "has a table on any machine")) {
        for (size_t i = 0; i < count; i++)
            ok(rules.items[unwind_table_find(&table, expected[i].offset)] == expected[i].rule, "%#llx: %s",
               (unsigned long long)expected[i].offset, expected[i].what);
        is_int(table.damaged, 0, "nothing is damaged");
        unwind_table_free(&table);
    } else {
        printf("# %s\n", err.text);
    }
    unwind_rules_free(&rules);
    elf_file_close(&elf);
    close(fd);
}

static void test_addresses(void)
{
    const uint64_t wide = (1ull << 48) - 1, narrow = (1ull << 39) - 1;
    ok(CODE_ADDRESS(0x00a7aaaac0de1234ull, wide) == 0xaaaac0de1234ull, "the signature is no part of the address");
    ok(CODE_ADDRESS(0x7fffaaaac0de1234ull, wide) == 0xaaaac0de1234ull, "nor are all bits of a larger one");
    ok(CODE_ADDRESS(0xaaaac0de1234ull, wide) == 0xaaaac0de1234ull, "an address without one stays");
    ok(CODE_ADDRESS(0x00a7aa2ac0de1234ull, narrow) == 0x2ac0de1234ull,
       "where user space has 39 bits, more are the signature's");
    static const int sizes[] = {36, 39, 42, 47, 48, 52};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        ok(IS_HIGHEST_PAGE((1ull << sizes[i]) - 4096) && IS_HIGHEST_PAGE((1ull << sizes[i]) - 65536) &&
               !IS_HIGHEST_PAGE((1ull << sizes[i]) - 65537) && !IS_HIGHEST_PAGE(1ull << sizes[i]),
           "the highest page of %d bits, and no other", sizes[i]);
    ok(!IS_HIGHEST_PAGE(0xfffff000ull), "but not that of 32 bits");
}

/* This machine's own. */
static void test_mask(void)
{
    uint64_t mask = arch_code_mask();
    ok(!(mask & (mask + 1)) && mask >= (1ull << 36) - 1, "the bits of an address are the lower ones: %#llx",
       (unsigned long long)mask);
    ok(((uintptr_t)test_mask & mask) == (uintptr_t)test_mask, "code that is here has an address of such bits");
}

int main(void)
{
    const struct expected of_aarch64[] = {
        {0x1000, unwind_rule(RULE_REGISTER, 31, 0, 0, 0), "at the start the return address is in x30"},
        {0x1004, unwind_rule(RULE_REGISTER, 31, 0, 0, 0), "signed, it still is"},
        {0x1008, unwind_rule(RULE_REGISTER, 31, 32, -32, -24), "then it is saved, and x29 beside it"},
        {0x100c, unwind_rule(RULE_REGISTER, 29, 32, -32, -24), "the frame is found by x29"},
        {0x1010, unwind_rule(RULE_REGISTER, 31, 0, 0, 0), "until both are back"},
        {0x103f, unwind_rule(RULE_REGISTER, 31, 0, 0, 0), "to the function's end"},
        {0x1040, RULE_UNKNOWN, "and no further"},
    };
    const struct expected of_x86_64[] = {
        {0x1000, unwind_rule(RULE_REGISTER, 7, 8, 0, -8), "at the start the return address is on the stack"},
        {0x1001, unwind_rule(RULE_REGISTER, 7, 16, -16, -8), "then rbp is saved below it"},
        {0x1004, unwind_rule(RULE_REGISTER, 6, 16, -16, -8), "the frame is found by rbp"},
        {0x103f, unwind_rule(RULE_REGISTER, 7, 8, 0, -8), "until rbp is back"},
        {0x1040, RULE_UNKNOWN, "and no further"},
    };
    test_rules(EM_AARCH64, aarch64, of_aarch64, sizeof of_aarch64 / sizeof *of_aarch64);
    test_rules(EM_X86_64, x86_64, of_x86_64, sizeof of_x86_64 / sizeof *of_x86_64);
    test_addresses();
    test_mask();
    return done_testing();
}
