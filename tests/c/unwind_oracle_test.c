/*
 * Unwind tables against libdw: every row of system libraries and of our own programs, at its first and last address, as
 * .eh_frame and .debug_frame have them.
 */
#include "unwind/table.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "tap.h"

/* What libdw says of one address. */
struct oracle {
    const struct arch_unwind *arch;
    Elf *elf;
    Dwarf_CFI *cfi;
    uint64_t compared, different, unexpressed;
};

static bool is(const Dwarf_Op *op, unsigned atom, int64_t number)
{
    return op->atom == atom && (int64_t)op->number == number;
}

/* "base + offset" */
static bool base_of(const Dwarf_Op *op, uint64_t *base, int64_t *offset)
{
    if (op->atom == DW_OP_bregx) {
        *base = op->number;
        *offset = (int64_t)op->number2;
        return true;
    }
    *base = op->atom - DW_OP_breg0;
    *offset = (int64_t)op->number;
    return op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31;
}

/* Where libdw has register NUMBER: 0 unchanged, 1 at CFA + *OFFSET, 2 undefined, 3 at *BASE + *OFFSET, 4 anything
 * else, 5 in register *OFFSET. */
static int where(Dwarf_Frame *frame, int number, uint64_t *base, int64_t *offset)
{
    Dwarf_Op memory[3], *ops;
    size_t count;
    *base = 0, *offset = 0;
    if (dwarf_frame_register(frame, number, memory, &ops, &count))
        return 4;
    if (!count)
        return ops ? 2 : 0;
    if (ops[0].atom == DW_OP_call_frame_cfa && (count == 1 || (count == 2 && ops[1].atom == DW_OP_plus_uconst))) {
        *offset = count == 2 ? (int64_t)ops[1].number : 0;
        return 1;
    }
    if (count == 1 && ops[0].atom == DW_OP_regx) {
        *offset = (int64_t)ops[0].number;
        return 5;
    }
    /* An expression starts with the CFA on its stack. */
    return count == 2 && ops[0].atom == DW_OP_call_frame_cfa && base_of(&ops[1], base, offset) ? 3 : 4;
}

/* The rule that libdw's answer for FRAME amounts to; independently of src/unwind. */
static uint64_t rule_of(const struct arch_unwind *arch, Dwarf_Frame *frame)
{
    Dwarf_Op *ops;
    size_t count;
    bool signal;
    uint64_t base, link_base, frame_base;
    int64_t offset, frame_at, link_at;
    int link_register = dwarf_frame_info(frame, NULL, NULL, &signal);
    int link = where(frame, link_register, &link_base, &link_at),
        saved = where(frame, arch->frame_pointer, &frame_base, &frame_at);
    /* A column of its own, which the ABI says nothing of: the register itself. */
    if ((!link || link == 2) && link_register != arch->return_address) {
        link = 5;
        link_at = link_register;
    }
    if (link == 2)
        return RULE_END;
    if (dwarf_frame_cfa(frame, &ops, &count) || !count)
        return RULE_UNEXPRESSED;
    if (count == 9 && is(&ops[0], DW_OP_breg7, 8) && is(&ops[1], DW_OP_breg16, 0) && ops[4].atom >= DW_OP_lit0 &&
        ops[8].atom == DW_OP_plus)
        return unwind_rule(RULE_PLT, 7, ops[4].atom - DW_OP_lit0, frame_at, link_at);
    if (!base_of(&ops[0], &base, &offset))
        return RULE_UNEXPRESSED;
    if (signal)
        return count == 2 && base == arch->stack_pointer && offset == arch->signal_stack_pointer && saved == 3 &&
                       frame_at == arch->signal_frame_pointer && link == 3 &&
                       link_at == arch->signal_instruction_pointer
                   ? RULE_SIGNAL
                   : RULE_UNEXPRESSED;
    if (link == 5)
        return count == 1 && saved <= 1 && (!saved || frame_at)
                   ? unwind_rule(RULE_HELD, base, offset, frame_at, link_at * 8)
                   : RULE_UNEXPRESSED;
    bool read = count > 1 && ops[1].atom == DW_OP_deref, added = count == 3 && ops[2].atom == DW_OP_plus_uconst;
    bool from_base = read && saved == 3 && frame_base == base;
    if (count != 1u + read + added || (link != 1 && (link || arch->return_address_saved)) ||
        (saved > 1 && !from_base) || (saved == 1 && !frame_at))
        return RULE_UNEXPRESSED;
    if (read)
        return unwind_rule_deref(from_base ? RULE_DEREF_BASE : RULE_DEREF, base, offset,
                                 added ? (int64_t)ops[2].number : 0, frame_at, link_at);
    return unwind_rule(RULE_REGISTER, base, offset, frame_at, link_at);
}

static void compare(struct oracle *oracle, const char *path, uint64_t address, uint64_t offset, uint64_t rule)
{
    Dwarf_Frame *frame = NULL;
    uint64_t expected = dwarf_cfi_addrframe(oracle->cfi, address, &frame) ? RULE_UNKNOWN : rule_of(oracle->arch, frame);
    oracle->compared++;
    oracle->unexpressed += expected == RULE_UNEXPRESSED;
    if (expected != rule && oracle->different++ < 10)
        printf("# %s: address %#llx, offset %#llx: rule %#llx, libdw %#llx\n", path, (unsigned long long)address,
               (unsigned long long)offset, (unsigned long long)rule, (unsigned long long)expected);
    free(frame);
}

/* Every row that libdw has for the code at [start, end), at its first, middle and last address. */
static void compare_function(struct oracle *oracle, const char *path, const struct unwind_table *table,
                             const struct unwind_rules *rules, uint64_t start, uint64_t size, uint64_t bias)
{
    for (uint64_t address = start, end = start + size; address < end;) {
        Dwarf_Frame *frame = NULL;
        Dwarf_Addr row_start = address, row_end = end;
        if (!dwarf_cfi_addrframe(oracle->cfi, address, &frame))
            dwarf_frame_info(frame, &row_start, &row_end, NULL);
        free(frame);
        if (row_end > end || row_end <= address)
            row_end = end;
        uint64_t places[] = {address, address + (row_end - address) / 2, row_end - 1};
        for (size_t i = 0; i < 3; i++)
            compare(oracle, path, places[i], places[i] + bias,
                    rules->items[unwind_table_find(table, places[i] + bias)]);
        address = row_end;
    }
}

/* The contents of the section NAME, uncompressed, and its address. */
static Elf_Data *contents(Elf *elf, const char *name, uint64_t *address)
{
    size_t names;
    Elf_Scn *scn = NULL;
    GElf_Shdr header;
    elf_getshdrstrndx(elf, &names);
    while ((scn = elf_nextscn(elf, scn)) && gelf_getshdr(scn, &header))
        if (!strcmp(elf_strptr(elf, names, header.sh_name), name) && header.sh_type != SHT_NOBITS) {
            if (header.sh_flags & SHF_COMPRESSED)
                elf_compress(scn, 0, 0);
            *address = header.sh_addr;
            return elf_getdata(scn, NULL);
        }
    return NULL;
}

/* The code of the FDE whose addresses stand at PLACE, which is LOADED at that address. */
static uint64_t code_of(const uint8_t *place, bool debug, uint64_t loaded, uint64_t *size)
{
    uint64_t start, length;
    int32_t distance, small;
    if (debug) {
        memcpy(&start, place, sizeof start);
        memcpy(&length, place + sizeof start, sizeof length);
        *size = length;
        return start;
    }
    /* All these files have pc-relative addresses of four bytes there. */
    memcpy(&distance, place, sizeof distance);
    memcpy(&small, place + sizeof distance, sizeof small);
    *size = (uint32_t)small;
    return loaded + (uint64_t)(int64_t)distance;
}

static void compare_all(struct oracle *oracle, const char *path, const struct elf_file *file, bool debug,
                        const struct unwind_table *table, const struct unwind_rules *rules)
{
    uint64_t loaded = 0, end, size;
    Elf_Data *data = contents(oracle->elf, debug ? ".debug_frame" : ".eh_frame", &loaded);
    Dwarf_Off at = 0, next;
    Dwarf_CFI_Entry entry;
    const unsigned char *ident = (const unsigned char *)elf_getident(oracle->elf, NULL);
    while (!dwarf_next_cfi(ident, data, !debug, at, &next, &entry) && next != (Dwarf_Off)-1) {
        if (entry.CIE_id != DW_CIE_ID_64) {
            const uint8_t *place = entry.fde.start;
            uint64_t address = code_of(place, debug, loaded + (uint64_t)(place - (const uint8_t *)data->d_buf), &size);
            int64_t offset = unwind_code_offset(file, address, &end);
            if (offset >= 0)
                compare_function(oracle, path, table, rules, address, size, (uint64_t)offset - address);
        }
        at = next;
    }
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* libdw is to read .debug_frame of FRAMES, or .eh_frame of PATH where FRAMES is NULL. */
static void test_file(const char *path, const char *frames, bool required)
{
    struct elf_file file;
    int fd = open(path, O_RDONLY | O_CLOEXEC), frames_fd = open(frames ? frames : path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && !required)
        return;
    const struct debug_file_search search = {.root = -1, .debug_root = "/nonexistent", .module = realpath(path, NULL)};
    struct oracle oracle = {.elf = elf_begin(frames_fd, ELF_C_READ, NULL)};
    Dwarf *dwarf = frames ? dwarf_begin_elf(oracle.elf, DWARF_C_READ, NULL) : NULL;
    oracle.cfi = frames ? dwarf_getcfi(dwarf) : dwarf_getcfi_elf(oracle.elf);
    struct unwind_rules rules;
    struct unwind_table table;
    struct error err = {0};
    unwind_rules_init(&rules);
    ok(fd >= 0 && !elf_file_open(&file, fd) && oracle.cfi, "%s is an ELF file", path);
    uint64_t begin = now();
    oracle.arch = arch_unwind(file.machine);
    if (is_int(unwind_table_build(&table, &file, &search, &rules, &err), 0, "it has an unwind table")) {
        uint64_t took = now() - begin;
        compare_all(&oracle, path, &file, frames, &table, &rules);
        ok(oracle.compared > 23, "%llu addresses compared with libdw", (unsigned long long)oracle.compared);
        is_int((long long)oracle.different, 0, "none differs");
        is_int(table.damaged, 0, "nothing is damaged");
        printf("# %u functions, %u rows, %zu rules, %zu bytes, %llu us; %llu addresses cannot be expressed\n",
               table.function_count, table.row_count, rules.count, unwind_table_chunks(&table) * sizeof *table.chunks,
               (unsigned long long)took / 1000, (unsigned long long)oracle.unexpressed);
        unwind_table_free(&table);
    } else {
        printf("# %s\n", err.text);
    }
    unwind_rules_free(&rules);
    elf_file_close(&file);
    if (frames)
        dwarf_end(dwarf);
    else
        dwarf_cfi_end(oracle.cfi);
    elf_end(oracle.elf);
    free((char *)search.module);
    close(frames_fd);
    close(fd);
}

int main(int argc, char **argv)
{
    elf_version(EV_CURRENT);
    const char *folder = arch_cpu.library_folder;
    static const char *const libraries[] = {"libc.so.6", "libcrypto.so.3", "libstdc++.so.6", "libm.so.6",
                                            "libgcc_s.so.1"};
    char path[256];
    for (int i = 1; i < argc; i++)
        test_file(argv[i], NULL, true);
    if (argc > 1)
        return done_testing();
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        snprintf(path, sizeof path, "/usr/lib/%s/%s", folder, libraries[i]);
        test_file(path, NULL, i == 0);
    }
    test_file("/lib64/ld-linux-x86-64.so.2", NULL, false);
    test_file("/usr/bin/python3", NULL, false);
    test_file("/proc/self/exe", NULL, true);
    /* Of the other CPU, from Debian's packages for cross-compilers. */
    test_file("/usr/aarch64-linux-gnu/lib/libc.so.6", NULL, arch_cpu.elf_machine == EM_X86_64);
    test_file("/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1", NULL, false);
    test_file("/usr/aarch64-linux-gnu/lib/libm.so.6", NULL, false);
    static const char *const debug[][2] = {{"frames", "frames"},
                                           {"frames-clang", "frames-clang"},
                                           {"frames-zlib", "frames-zlib"},
                                           {"frames-split", "frames-split.debug"}};
    for (size_t i = 0; i < sizeof debug / sizeof *debug; i++) {
        char frames[256];
        snprintf(path, sizeof path, "build/targets/lib%s.so", debug[i][0]);
        snprintf(frames, sizeof frames, "build/targets/lib%s%s", debug[i][1], i < 3 ? ".so" : "");
        test_file(path, frames, true);
    }
    return done_testing();
}
