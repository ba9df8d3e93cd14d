/* The disassembler: each kind of instruction by its text, and all of the library as llvm-objdump shows it. */
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <unistd.h>

#include "compile/machine/disassemble.h"
#include "tap.h"

#define LIBRARY "build/library.bpf.o"

static const struct {
    struct bpf_insn instruction;
    const char *text;
} cases[] = {
    {{.code = 0xb7, .dst_reg = 1, .imm = -5}, "r1 = -5"},
    {{.code = 0xb4, .dst_reg = 1, .imm = 5}, "w1 = 5"},
    {{.code = 0x0f, .dst_reg = 1, .src_reg = 2}, "r1 += r2"},
    {{.code = 0x17, .dst_reg = 1, .imm = 3}, "r1 -= 3"},
    {{.code = 0x2c, .dst_reg = 1, .src_reg = 2}, "w1 *= w2"},
    {{.code = 0x37, .dst_reg = 1, .imm = 3}, "r1 /= 3"},
    {{.code = 0x37, .dst_reg = 1, .off = 1, .imm = 3}, "r1 s/= 3"},
    {{.code = 0x9f, .dst_reg = 1, .src_reg = 2, .off = 1}, "r1 s%= r2"},
    {{.code = 0x47, .dst_reg = 1, .imm = 3}, "r1 |= 3"},
    {{.code = 0x57, .dst_reg = 1, .imm = 3}, "r1 &= 3"},
    {{.code = 0x67, .dst_reg = 1, .imm = 3}, "r1 <<= 3"},
    {{.code = 0x77, .dst_reg = 1, .imm = 3}, "r1 >>= 3"},
    {{.code = 0xc7, .dst_reg = 1, .imm = 3}, "r1 s>>= 3"},
    {{.code = 0xa7, .dst_reg = 1, .imm = 3}, "r1 ^= 3"},
    {{.code = 0x87, .dst_reg = 1}, "r1 = -r1"},
    {{.code = 0xbf, .dst_reg = 1, .src_reg = 2}, "r1 = r2"},
    {{.code = 0xbc, .dst_reg = 1, .src_reg = 2}, "w1 = w2"},
    {{.code = 0xbf, .dst_reg = 1, .src_reg = 2, .off = 8}, "r1 = (s8)r2"},
    {{.code = 0xbf, .dst_reg = 1, .src_reg = 2, .off = 32}, "r1 = (s32)r2"},
    {{.code = 0xdc, .dst_reg = 1, .imm = 16}, "r1 = be16 r1"},
    {{.code = 0xd4, .dst_reg = 1, .imm = 32}, "r1 = le32 r1"},
    {{.code = 0xd7, .dst_reg = 1, .imm = 64}, "r1 = bswap64 r1"},
    {{.code = 0x79, .dst_reg = 1, .src_reg = 6, .off = 112}, "r1 = *(u64 *)(r6 + 112)"},
    {{.code = 0x71, .dst_reg = 1, .src_reg = 10, .off = -3}, "r1 = *(u8 *)(r10 - 3)"},
    {{.code = 0x81, .dst_reg = 1, .src_reg = 2}, "r1 = *(s32 *)(r2 + 0)"},
    {{.code = 0x6b, .dst_reg = 10, .src_reg = 3, .off = -8}, "*(u16 *)(r10 - 8) = r3"},
    {{.code = 0x62, .dst_reg = 10, .off = -32768, .imm = 7}, "*(u32 *)(r10 - 32768) = 7"},
    {{.code = 0xdb, .dst_reg = 1, .src_reg = 2}, "lock *(u64 *)(r1 + 0) += r2"},
    {{.code = 0xc3, .dst_reg = 1, .src_reg = 2, .imm = 0x40}, "lock *(u32 *)(r1 + 0) |= w2"},
    {{.code = 0xdb, .dst_reg = 1, .src_reg = 2, .imm = 0x01}, "r2 = atomic_fetch_add((u64 *)(r1 + 0), r2)"},
    {{.code = 0xdb, .dst_reg = 1, .src_reg = 2, .imm = 0xe1}, "r2 = xchg_64(r1 + 0, r2)"},
    {{.code = 0xdb, .dst_reg = 1, .src_reg = 2, .imm = 0xf1}, "r0 = cmpxchg_64(r1 + 0, r0, r2)"},
    {{.code = 0x05, .off = -3}, "goto -3 <-2>"},
    {{.code = 0x06, .imm = 70000}, "gotol +70000 <70001>"},
    {{.code = 0xe5, .off = 4}, "may_goto +4 <5>"},
    {{.code = 0x15, .dst_reg = 1, .imm = 3, .off = 4}, "if r1 == 3 goto +4 <5>"},
    {{.code = 0x5d, .dst_reg = 1, .src_reg = 2, .off = 4}, "if r1 != r2 goto +4 <5>"},
    {{.code = 0x25, .dst_reg = 1, .imm = 3, .off = 4}, "if r1 > 3 goto +4 <5>"},
    {{.code = 0x35, .dst_reg = 1, .imm = 3, .off = 4}, "if r1 >= 3 goto +4 <5>"},
    {{.code = 0xa5, .dst_reg = 1, .imm = 3, .off = 4}, "if r1 < 3 goto +4 <5>"},
    {{.code = 0xb5, .dst_reg = 1, .imm = 3, .off = 4}, "if r1 <= 3 goto +4 <5>"},
    {{.code = 0x65, .dst_reg = 1, .imm = 3, .off = 4}, "if r1 s> 3 goto +4 <5>"},
    {{.code = 0xc6, .dst_reg = 1, .imm = 3, .off = 4}, "if w1 s< 3 goto +4 <5>"},
    {{.code = 0x45, .dst_reg = 1, .imm = 3, .off = 4}, "if r1 & 3 goto +4 <5>"},
    {{.code = 0x85, .imm = 14}, "call bpf_get_current_pid_tgid"},
    {{.code = 0x85, .imm = 1000000}, "call 1000000"},
    {{.code = 0x85, .src_reg = 1, .imm = -1}, "call function -1"},
    {{.code = 0x95}, "exit"},
    {{.code = 0x00}, "unknown instruction 0x00"},
    {{.code = 0x18, .dst_reg = 1}, "unknown instruction 0x18"},
    {{.code = 0x20}, "unknown instruction 0x20"},
    {{.code = 0xf7}, "unknown instruction 0xf7"},
    {{.code = 0xdb, .imm = 0x77}, "unknown instruction 0xdb"},
};

static void shows_each_kind(void)
{
    char text[96];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct object_program program = {.instructions = &cases[i].instruction, .instruction_count = 1};
        size_t taken = disassemble(&program, 0, text, sizeof text);
        is_str(text, cases[i].text, "%s", cases[i].text);
        if (taken != 1)
            is_int((int64_t)taken, 1, "takes one place");
    }
}

static void shows_names(void)
{
    const struct bpf_insn code[] = {
        {.code = 0x18, .dst_reg = 1},
        {0},
        {.code = 0x18, .dst_reg = 2, .imm = 16},
        {0},
        {.code = 0x18, .dst_reg = 3, .imm = 1},
        {.imm = -1},
        {.code = 0x85, .src_reg = 1, .imm = -1},
        {.code = 0x85, .src_reg = 2, .imm = 4711},
    };
    const struct object_reference references[] = {
        {0, REFERENCE_MAP, "live"},
        {2, REFERENCE_DATA, "ledger"},
        {6, REFERENCE_LIBRARY, "uplua_ustack"},
        {7, REFERENCE_KERNEL, "bpf_session_cookie"},
    };
    const struct object_program program = {
        .instructions = code, .instruction_count = 8, .references = references, .reference_count = 4};
    static const char *const wanted[] = {"r1 = map[live]", "r2 = &ledger + 16", "r3 = -4294967295 ll",
                                         "call uplua_ustack", "call bpf_session_cookie"};
    size_t at = 0;
    for (size_t i = 0; i < 5; i++) {
        char text[96];
        at += disassemble(&program, at, text, sizeof text);
        is_str(text, wanted[i], "%s", wanted[i]);
    }
    is_int((int64_t)at, 8, "constants of 64 bits take two places");
    char small[8];
    disassemble(&program, 0, small, sizeof small);
    is_str(small, "r1 = ma", "a short buffer cuts the text");
}

/* The section .text of the file PATH. */
static struct bpf_insn *read_text(const char *path, size_t *count)
{
    struct bpf_insn *code = NULL;
    int fd = open(path, O_RDONLY);
    Elf *elf = elf_version(EV_CURRENT) && fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    size_t names = 0;
    if (elf)
        elf_getshdrstrndx(elf, &names);
    for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || strcmp(elf_strptr(elf, names, header.sh_name), ".text"))
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        *count = data->d_size / sizeof *code;
        code = malloc(data->d_size);
        if (code)
            memcpy(code, data->d_buf, data->d_size);
    }
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    return code;
}

/* llvm-objdump names no helpers, puts labels where this puts numbers of instructions, and may be older than may_goto
 * ("<unknown>"). */
static bool is_comparable(const char *text)
{
    return !strstr(text, "call") && *text;
}

static void agrees_with_llvm(void)
{
    size_t count = 0, compared = 0, different = 0;
    struct bpf_insn *code = read_text(LIBRARY, &count);
    struct object_program program = {.instructions = code, .instruction_count = count};
    FILE *dump = popen("llvm-objdump -d --no-show-raw-insn -j .text " LIBRARY, "r");
    char line[256], mine[96];
    while (dump && code && fgets(line, sizeof line, dump)) {
        size_t at;
        int read = 0;
        if (sscanf(line, " %zu:%n", &at, &read) != 1 || !read || at >= count)
            continue;
        char *text = line + read + strspn(line + read, " \t");
        text[strcspn(text, "<\n")] = '\0';
        disassemble(&program, at, mine, sizeof mine);
        mine[strcspn(mine, "<")] = '\0';
        if (!is_comparable(text))
            continue;
        compared++;
        if (strcmp(text, mine) && !different++)
            fprintf(stderr, "#   %zu: llvm-objdump has \"%s\", this has \"%s\"\n", at, text, mine);
    }
    if (dump)
        pclose(dump);
    ok(compared > 200, "llvm-objdump shows the library: %zu instructions", compared);
    is_int((int64_t)different, 0, "and as this does");
    free(code);
}

int main(void)
{
    shows_each_kind();
    shows_names();
    is_str(disassemble_helper(1), "map_lookup_elem", "helpers have names");
    ok(!disassemble_helper(0x7fffffff) && !disassemble_helper(-1), "unknown helpers have none");
    agrees_with_llvm();
    return done_testing();
}
