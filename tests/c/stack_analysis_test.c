/*
 * What the code itself tells of its stack, beside what its compiler has written down: of files that have call frame
 * information every instruction is asked of both. That information is what libdw reads there (unwind_oracle_test.c).
 */
#include "unwind/stack_analysis.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/instruction.h"
#include "tap.h"
#include "unwind/table.h"

struct counts {
    uint64_t asked, unsure; /* instructions of which the table tells something; of which the analysis tells nothing */
    uint64_t different;     /* another CFA, or another place of the return address */
    uint64_t elsewhere;     /* another place of the frame pointer */
};

/* Rows of ROWS up to ADDRESS. */
static const struct analysed_row *row_at(const struct analysed_row *rows, size_t count, uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &rows[low - 1] : NULL;
}

static bool same_frame(uint64_t rule, uint64_t other)
{
    return RULE_BASE(rule) == RULE_BASE(other) && RULE_OFFSET(rule) == RULE_OFFSET(other) &&
           RULE_LINK(rule) == RULE_LINK(other);
}

/*
 * Compares RULE, the table's at ADDRESS, with ROW. In an epilogue the caller's frame pointer is in its register again,
 * and still in memory, which the one or the other says.
 */
static void compare(struct counts *counts, const char *path, uint64_t address, uint64_t rule,
                    const struct analysed_row *row)
{
    if (RULE_KIND(rule) == RULE_UNKNOWN)
        return;
    if (RULE_KIND(rule) == RULE_PLT)
        rule = unwind_rule(RULE_REGISTER, 7, (int64_t)(address & 15) >= RULE_OFFSET(rule) ? 16 : 8, 0, -8);
    counts->asked++;
    if (!row || row->rule == RULE_UNKNOWN) {
        counts->unsure++;
        return;
    }
    uint64_t said = row->rule;
    if (row->other != RULE_UNKNOWN && RULE_BASE(row->other) == RULE_BASE(rule))
        said = row->other;
    /* by the stack pointer here, and there by a frame pointer of which nothing is known */
    if (RULE_KIND(rule) == RULE_REGISTER && RULE_KIND(said) == RULE_REGISTER && RULE_BASE(said) != RULE_BASE(rule)) {
        counts->unsure++;
        return;
    }
    bool good = RULE_KIND(rule) == RULE_REGISTER && said != RULE_END && same_frame(said, rule);
    if (RULE_KIND(said) != RULE_REGISTER)
        good = (said & ~RULE_GUESSED) == rule;
    if (!good && counts->different++ < 6)
        printf("# %s: %#llx: %#llx, by its code %#llx\n", path, (unsigned long long)address, (unsigned long long)rule,
               (unsigned long long)said);
    if (good && RULE_FRAME(said) != RULE_FRAME(rule) && RULE_FRAME(said) != 0 && RULE_FRAME(rule) != 0 &&
        counts->elsewhere++ < 6)
        printf("# %s: %#llx: frame pointer at %lld, by its code %lld\n", path, (unsigned long long)address,
               (long long)RULE_FRAME(rule), (long long)RULE_FRAME(said));
}

/* Asks of each instruction of ELF's executable sections. */
static void compare_all(struct counts *counts, const char *path, const struct elf_file *elf,
                        const struct unwind_table *table, const struct unwind_rules *rules,
                        const struct analysed_row *rows, size_t count)
{
    const struct arch_code *code = elf->machine == EM_X86_64 ? &arch_code_x86_64 : &arch_code_aarch64;
    for (size_t i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        uint64_t end;
        int64_t offset = section->sh_flags & SHF_EXECINSTR ? unwind_code_offset(elf, section->sh_addr, &end) : -1;
        uint8_t *bytes = offset < 0 ? NULL : malloc(section->sh_size);
        if (!bytes || elf_file_read(elf, (uint64_t)offset, bytes, section->sh_size)) {
            free(bytes);
            continue;
        }
        struct arch_stack_effect effect;
        for (uint64_t at = 0; at < section->sh_size; at += effect.length) {
            if (!code->stack_effect(bytes + at, section->sh_size - at, &effect)) {
                effect.length = code->step;
                continue;
            }
            uint64_t address = section->sh_addr + at;
            uint64_t rule = rules->items[unwind_table_find(table, (uint64_t)offset + at)];
            if (!(rule & RULE_GUESSED) && !effect.nop)
                compare(counts, path, address, rule, row_at(rows, count, address));
        }
        free(bytes);
    }
}

/* All executable sections of ELF, as if nothing described them. */
static size_t all_code(const struct elf_file *elf, struct code_range *ranges, size_t room)
{
    size_t count = 0;
    for (size_t i = 0; i < elf->section_count && count < room; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (section->sh_flags & SHF_EXECINSTR && section->sh_type == SHT_PROGBITS && section->sh_size)
            ranges[count++] = (struct code_range){section->sh_addr, section->sh_addr + section->sh_size};
    }
    return count;
}

/*
 * WRONG: of so many of 10,000 instructions the analysis may say something else. Where no symbols tell functions apart,
 * one that follows a call that never comes back is taken for that call's own; a program of which that is so has its
 * frames marked as guessed. UNSURE: of so many of 1,000 it may know nothing: there it is functions that only tables of
 * pointers lead to.
 */
static void test_file(const char *path, unsigned wrong, unsigned unsure, bool required)
{
    struct elf_file elf;
    struct unwind_rules rules;
    struct unwind_table table;
    struct analysed_row *rows = NULL;
    struct code_range ranges[64];
    struct counts counts = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && !required)
        return;
    unwind_rules_init(&rules);
    if (!ok(fd >= 0 && !elf_file_open(&elf, fd) && !unwind_table_build(&table, &elf, NULL, &rules, NULL),
            "%s has an unwind table", path))
        return;
    const struct code_ranges all = {.items = ranges, .count = all_code(&elf, ranges, sizeof ranges / sizeof *ranges)};
    int64_t count = stack_analysis(&elf, &all, &(struct code_ranges){0}, &rows);
    ok(count > 0, "  … its code tells of its stack, too: %lld rows", (long long)count);
    compare_all(&counts, path, &elf, &table, &rules, rows, count > 0 ? (size_t)count : 0);
    uint64_t asked = counts.asked ? counts.asked : 1;
    ok(counts.asked > 23 && counts.different * 10000 <= wrong * asked,
       "  … it says the same of %llu instructions, but for %llu, of which it may be wrong", (unsigned long long)asked,
       (unsigned long long)counts.different);
    ok(counts.elsewhere * 10000 <= wrong * asked, "  … where the frame pointer is, too: %llu differ",
       (unsigned long long)counts.elsewhere);
    ok(counts.unsure * 1000 <= unsure * asked, "  … it is not sure of %llu of 1,000",
       (unsigned long long)(counts.unsure * 1000 / asked));
    free(rows);
    unwind_table_free(&table);
    unwind_rules_free(&rules);
    elf_file_close(&elf);
    close(fd);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        test_file(argv[i], 0, 0, true);
    if (argc > 1)
        return done_testing();
    /* with symbols: of ours, and by another compiler */
    test_file("/proc/self/exe", 0, 100, true);
    test_file("build/targets/libframes.so", 1, 50, true);
    test_file("build/targets/libframes-clang.so", 0, 50, true);
    char path[256];
    snprintf(path, sizeof path, "/usr/lib/%s/libc.so.6", arch_cpu.library_folder);
    test_file(path, 20, 150, true);
    snprintf(path, sizeof path, "/usr/lib/%s/libcrypto.so.3", arch_cpu.library_folder);
    test_file(path, 20, 600, false);
    test_file("/usr/bin/git", 20, 700, false);
    test_file("/usr/bin/python3", 20, 600, false);
    /* of the other CPU, from Debian's packages for cross-compilers */
    test_file("/usr/aarch64-linux-gnu/lib/libc.so.6", 20, 200, arch_cpu.elf_machine == EM_X86_64);
    test_file("/usr/aarch64-linux-gnu/lib/libm.so.6", 20, 200, false);
    return done_testing();
}
