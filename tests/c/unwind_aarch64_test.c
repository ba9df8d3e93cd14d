/* Unwind rules of aarch64, on whatever machine: signed return addresses, and those that are still in their register. */
#define __TARGET_ARCH_arm64
#undef __TARGET_ARCH_x86
#include "../bpf/arch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"
#include "unwind/table.h"

/* What a compiler makes with -mbranch-protection=pac-ret of a function that calls another one. */
static const uint8_t records[] = {
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

struct file {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
    uint8_t eh_frame_header[8], records[sizeof records];
};

static int make_file(void)
{
    struct file file = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, .e_machine = EM_AARCH64,
                   .e_phnum = 2, .e_phentsize = sizeof(Elf64_Phdr), .e_phoff = sizeof(Elf64_Ehdr)},
        .segments = {{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 0x2000, .p_memsz = 0x2000},
                     {.p_type = PT_GNU_EH_FRAME}},
        .eh_frame_header = {1, 0x1b, 0xff, 0xff, 4, 0, 0, 0}, /* pc-relative: the next byte */
    };
    file.segments[1].p_offset = file.segments[1].p_vaddr = offsetof(struct file, eh_frame_header);
    file.segments[1].p_filesz = sizeof file.eh_frame_header;
    memcpy(file.records, records, sizeof records);
    int fd = memfd_create("aarch64", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0x2000) || pwrite(fd, &file, sizeof file, 0) != (ssize_t)sizeof file)
        exit(1);
    return fd;
}

static void test_rules(void)
{
    const struct {
        uint64_t offset, rule;
        const char *what;
    } expected[] = {
        {0x1000, unwind_rule(RULE_REGISTER, 31, 0, 0, 0), "at the start the return address is in x30"},
        {0x1004, unwind_rule(RULE_REGISTER, 31, 0, 0, 0), "signed, it still is"},
        {0x1008, unwind_rule(RULE_REGISTER, 31, 32, -32, -24), "then it is saved, and x29 beside it"},
        {0x100c, unwind_rule(RULE_REGISTER, 29, 32, -32, -24), "the frame is found by x29"},
        {0x1010, unwind_rule(RULE_REGISTER, 31, 0, 0, 0), "until both are back"},
        {0x103f, unwind_rule(RULE_REGISTER, 31, 0, 0, 0), "to the function's end"},
        {0x1040, RULE_UNKNOWN, "and no further"},
    };
    struct elffile elf;
    struct unwind_rules rules;
    struct unwind_table table;
    struct error err = {0};
    int fd = make_file();
    unwind_rules_init(&rules);
    ok(!elffile_open(&elf, fd) && elf.machine == EM_AARCH64, "a file for aarch64");
    if (is_int(unwind_table_build(&table, &elf, NULL, &rules, &err), 0, "has a table on any machine")) {
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
            ok(rules.items[unwind_table_find(&table, expected[i].offset)] == expected[i].rule, "%#llx: %s",
               (unsigned long long)expected[i].offset, expected[i].what);
        is_int(table.damaged, 0, "nothing is damaged");
        unwind_table_free(&table);
    } else {
        printf("# %s\n", err.text);
    }
    unwind_rules_free(&rules);
    elffile_close(&elf);
    close(fd);
}

int main(void)
{
    test_rules();
    ok(CODE_ADDRESS(0x00a7aaaac0de1234ull) == 0xaaaac0de1234ull, "the signature is no part of the address");
    ok(CODE_ADDRESS(0x7fffaaaac0de1234ull) == 0xaaaac0de1234ull, "nor are all bits of a larger one");
    ok(CODE_ADDRESS(0xaaaac0de1234ull) == 0xaaaac0de1234ull, "an address without one stays");
    return done_testing();
}
