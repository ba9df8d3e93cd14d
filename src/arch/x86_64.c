/* What uplua knows of x86-64's instructions and registers. */
#if defined(__x86_64__)
#include "arch/arch.h"

#include <elf.h>
#include <string.h>

#include "arch/instruction.h"

/*
 * The context is struct pt_regs: 8-byte registers in the order of arch/x86/include/asm/ptrace.h, of which these are
 * the ones a handler may name. An index here times 8 is the offset.
 */
static const char *const registers[] = {
    "r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9",    "r8",
    "rax", "rcx", "rdx", "rsi", "rdi", NULL,  "rip", NULL,  "flags", "rsp",
};

/* Offsets of some of them. */
enum {
    AT_R14 = 1 * 8,
    AT_RBP = 4 * 8,
    AT_R11 = 6 * 8,
    AT_R10 = 7 * 8,
    AT_RAX = 10 * 8,
    AT_RIP = 16 * 8,
    AT_EFLAGS = 18 * 8,
    AT_RSP = 19 * 8
};

const struct arch_cpu arch_cpu = {
    .ordered_stores = true,
    .goroutine = AT_R14,
    .compat_word = 16, /* status, behind two words of flags */
    .compat_flag = 2,  /* TS_COMPAT: also where a 64-bit program makes a call by int $0x80 */
    .return_value = AT_RAX,
    .stack_pointer = AT_RSP,
    .instruction_pointer = AT_RIP,
    .frame_pointer = AT_RBP,
    .sample_period = 21 * 8, /* struct bpf_perf_event_data: behind the registers */
    .sample_address = 22 * 8,
    .breakpoint_size = 1, /* int3 */
    .watchpoints = 4,     /* debug registers DR0 to DR3 */
    .return_pops = 8,
    .return_address = -1,
    .elf_machine = EM_X86_64,
    .relocation_indirect = R_X86_64_IRELATIVE,
    .relocation_relative = R_X86_64_RELATIVE,
    .relocation_address = R_X86_64_64,
    .relocation_thread_offset = R_X86_64_TPOFF64,
    .library_folder = "x86_64-linux-gnu",
};

const struct arch_code *arch_code(void)
{
    return &arch_code_x86_64;
}

int arch_register(const char *name)
{
    static const char *const others[][2] = {{"ip", "rip"}, {"sp", "rsp"}, {"rflags", "flags"}, {"eflags", "flags"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(name, others[i][0]))
            name = others[i][1];
    for (size_t i = 0; i < sizeof registers / sizeof registers[0]; i++)
        if (registers[i] && strcmp(registers[i], name) == 0)
            return (int)i * 8;
    return -1;
}

const char *arch_register_name(unsigned number)
{
    static const char *const names[] = {"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8",
                                        "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip", "flags"};
    return number < sizeof names / sizeof *names ? names[number] : NULL;
}

/* The bits that NAME means of the register WHOLE, as arch_register_whole has it; -1: it is no part of that. */
static int part_of(const char *whole, const char *name)
{
    const char *tail = whole + 1;
    size_t length = strlen(whole);
    if (tail[0] <= '9') { /* r8 … r15 */
        bool is_part = !strncmp(name, whole, length) && name[length] && !name[length + 1];
        char last = is_part ? name[length] : '\0';
        return last == 'd' ? 32 : last == 'w' ? 16 : last == 'b' ? 8 : -1;
    }
    if (name[0] == 'e' && !strcmp(name + 1, tail))
        return 32;
    if (!strcmp(name, tail))
        return 16;
    if (tail[1] == 'x') /* al, ah */
        return name[0] != tail[0] || !name[1] || name[2] ? -1 : name[1] == 'l' ? 8 : name[1] == 'h' ? 0 : -1;
    return strcmp(tail, "ip") && !strncmp(name, tail, 2) && !strcmp(name + 2, "l") ? 8 : -1; /* sil, spl */
}

const char *arch_register_whole(const char *name, int *bits)
{
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
        if (registers[i] && *registers[i] == 'r' && (*bits = part_of(registers[i], name)) >= 0)
            return registers[i];
    return NULL;
}

bool arch_register_may_change(int offset)
{
    return offset == AT_RAX || offset == AT_R10 || offset == AT_R11 || offset == AT_EFLAGS;
}

int arch_argument(unsigned n)
{
    /* System V ABI for AMD64, 3.2.3: the integer class. */
    static const char *const order[] = {"rdi", "rsi", "rdx", "rcx", "r8", "r9"};
    return n < sizeof order / sizeof order[0] ? arch_register(order[n]) : -1;
}

int arch_go_argument(unsigned n)
{
    /* go/src/cmd/compile/abi-internal.md: integer arguments and results. */
    static const char *const order[] = {"rax", "rbx", "rcx", "rdi", "rsi", "r8", "r9", "r10", "r11"};
    return n < sizeof order / sizeof order[0] ? arch_register(order[n]) : -1;
}

int arch_syscall_argument(unsigned n)
{
    return n == 3 ? arch_register("r10") : arch_argument(n); /* the instruction itself takes rcx */
}

uint64_t arch_code_mask(void)
{
    return UINT64_MAX;
}

/* [endbr64] [bnd] jmp *slot(%rip), or [endbr64] push $index; … */
enum arch_stub arch_stub(const uint8_t *code, size_t size, uint64_t address, uint64_t *slot, uint32_t *index)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    size_t at = size >= sizeof endbr64 && !memcmp(code, endbr64, sizeof endbr64) ? sizeof endbr64 : 0;
    if (size - at >= 5 && code[at] == 0x68) {
        memcpy(index, code + at + 1, sizeof *index);
        return ARCH_STUB_INDEX;
    }
    at += at < size && code[at] == 0xf2;
    if (size - at < 6 || code[at] != 0xff || code[at + 1] != 0x25)
        return ARCH_STUB_NONE;
    int32_t distance;
    memcpy(&distance, code + at + 2, sizeof distance);
    *slot = address + at + 6 + (uint64_t)(int64_t)distance;
    return ARCH_STUB_SLOT;
}

size_t arch_library_levels(const char *const **levels)
{
    /* The micro-architecture levels of the x86-64 psABI, best first, as glibc's loader names their folders. */
    static const char *const names[] = {"x86-64-v4", "x86-64-v3", "x86-64-v2"};
    __builtin_cpu_init();
    bool v2 = __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
    bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl");
    size_t first = v4 ? 0 : v3 ? 1 : v2 ? 2 : 3;
    *levels = names + first;
    return 3 - first;
}

/* --- functions that do nothing --- */

#define EMPTY(name, first, rest)                                                                                       \
    void name(void);                                                                                                   \
    __asm__(".pushsection .text\n.p2align 4\n.hidden " #name "\n.globl " #name "\n.type " #name ", %function\n" #name  \
            ":\n" first rest "ret\n.size " #name ", . - " #name "\n.popsection\n")
EMPTY(arch_empty_stepped, "xor %eax, %eax\n", "");
EMPTY(arch_empty_emulated, "push %rbp\n", "pop %rbp\n");
EMPTY(arch_empty_replaced, "nopl 0(%rax, %rax, 1)\n", "");
EMPTY(arch_other_stepped, "xor %eax, %eax\n", "");
EMPTY(arch_other_emulated, "push %rbp\n", "pop %rbp\n");
EMPTY(arch_other_replaced, "nopl 0(%rax, %rax, 1)\n", "");
EMPTY(arch_third_stepped, "xor %eax, %eax\n", "");
EMPTY(arch_third_emulated, "push %rbp\n", "pop %rbp\n");
EMPTY(arch_third_replaced, "nopl 0(%rax, %rax, 1)\n", "");

static void (*const empty[])(void) = {
    arch_empty_stepped,  arch_empty_emulated, arch_empty_replaced, arch_other_stepped,  arch_other_emulated,
    arch_other_replaced, arch_third_stepped,  arch_third_emulated, arch_third_replaced,
};

uintptr_t arch_empty(unsigned number, unsigned *exit)
{
    *exit = number % 3 == 2 ? 5 : 2;
    return (uintptr_t)empty[number];
}

void arch_call_empty(unsigned number)
{
    empty[number]();
}

#endif
