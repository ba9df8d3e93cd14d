/* What uplua knows of aarch64's instructions and registers. */
#if defined(__aarch64__)
#include "arch/arch.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/instruction.h"

/* The context is struct user_pt_regs (arch/arm64/include/uapi/asm/ptrace.h): x0 … x30, sp, pc, pstate. */
enum { OFFSET_SP = 31 * 8, OFFSET_PC = 32 * 8, OFFSET_PSTATE = 33 * 8 };

static int x(unsigned n)
{
    return (int)n * 8;
}

const struct arch_cpu arch_cpu = {
    .goroutine = 28 * 8,
    .compat_word = 0,        /* flags */
    .compat_flag = 1u << 22, /* TIF_32BIT */
    .return_value = 0,
    .stack_pointer = OFFSET_SP,
    .instruction_pointer = OFFSET_PC,
    .frame_pointer = 29 * 8,
    .sample_period = 34 * 8, /* struct bpf_perf_event_data: behind the registers */
    .sample_address = 35 * 8,
    .breakpoint_size = 0, /* brk, at which the exception stands */
    .watchpoints = 4,     /* the least that CPUs in use have; ID_AA64DFR0_EL1 says up to 16 */
    .return_pops = 0,
    .return_address = 30 * 8,
    .elf_machine = EM_AARCH64,
    .relocation_indirect = R_AARCH64_IRELATIVE,
    .relocation_relative = R_AARCH64_RELATIVE,
    .relocation_address = R_AARCH64_ABS64,
    .relocation_thread_offset = R_AARCH64_TLS_TPREL,
    .library_folder = "aarch64-linux-gnu",
};

const struct arch_code *arch_code(void)
{
    return &arch_code_aarch64;
}

int arch_register(const char *name)
{
    if (strcmp(name, "sp") == 0)
        return OFFSET_SP;
    if (strcmp(name, "pc") == 0 || strcmp(name, "ip") == 0)
        return OFFSET_PC;
    if (strcmp(name, "pstate") == 0 || strcmp(name, "flags") == 0)
        return OFFSET_PSTATE;
    if (strcmp(name, "fp") == 0)
        return x(29);
    if (strcmp(name, "lr") == 0)
        return x(30);
    if (name[0] != 'x' || name[1] < '0' || name[1] > '9' || (name[1] == '0' && name[2]))
        return -1;
    char *end;
    unsigned long n = strtoul(name + 1, &end, 10);
    return *end == '\0' && n <= 30 ? x((unsigned)n) : -1;
}

static const char *const names[] = {
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",     "x10", "x11",
    "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",    "x22", "x23",
    "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp",  "pc",  "pstate",
};

const char *arch_register_name(unsigned number)
{
    return number < sizeof names / sizeof *names ? names[number] : NULL;
}

const char *arch_register_whole(const char *name, int *bits)
{
    *bits = 32;
    if (strcmp(name, "wsp") == 0)
        return "sp";
    for (size_t i = 0; *name == 'w' && i <= 30; i++)
        if (strcmp(name + 1, names[i] + 1) == 0)
            return names[i];
    return NULL;
}

bool arch_register_may_change(int offset)
{
    return offset == OFFSET_PSTATE;
}

int arch_argument(unsigned n)
{
    return n < 8 ? x(n) : -1; /* AAPCS64, 6.8.2 */
}

int arch_go_argument(unsigned n)
{
    return n < 16 ? x(n) : -1; /* go/src/cmd/compile/abi-internal.md */
}

int arch_syscall_argument(unsigned n)
{
    enum { OFFSET_ORIG_X0 = 34 * 8 }; /* of the kernel's struct pt_regs: x0 has the result at the return */
    return n ? x(n) : OFFSET_ORIG_X0;
}

/*
 * Signatures are in the bits from the size of user space to 54, beside bits that are never looked at (kernel:
 * ptrauth_user_pac_mask). The size is how the kernel was built and started; xpaclri knows it, which takes the signature
 * off x30. To a CPU that signs nothing it is a nop.
 */
uint64_t arch_code_mask(void)
{
    uint64_t address = (UINT64_C(1) << 55) - 1; /* bit 55 is 0 in user space */
    __asm__("mov x30, %0\n\thint #7\n\tmov %0, x30" : "+r"(address) : : "x30");
    return address;
}

/* [bti c] adrp x16, page of the slot; ldr x17, [x16, its place in the page]; … */
enum arch_stub arch_stub(const uint8_t *code, size_t size, uint64_t address, uint64_t *slot, uint32_t *index)
{
    (void)index;
    uint32_t words[3] = {0};
    memcpy(words, code, size < sizeof words ? size : sizeof words);
    size_t at = words[0] == 0xd503245f;
    uint32_t page = words[at], load = words[at + 1];
    if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
        return ARCH_STUB_NONE;
    uint64_t pages = (page >> 5 & 0x7ffff) << 2 | (page >> 29 & 3); /* 21 bits with a sign */
    pages = (pages ^ 1 << 20) - (1 << 20);
    *slot = ((address + 4 * at) & ~UINT64_C(0xfff)) + (pages << 12) + ((load >> 10 & 0xfff) << 3);
    return ARCH_STUB_SLOT;
}

size_t arch_library_levels(const char *const **levels)
{
    *levels = NULL;
    return 0;
}

/* --- functions that do nothing --- */

#define EMPTY(name, first, rest)                                                                                       \
    void name(void);                                                                                                   \
    __asm__(".pushsection .text\n.p2align 4\n.hidden " #name "\n.globl " #name "\n.type " #name ", %function\n" #name  \
            ":\n" first rest "ret\n.size " #name ", . - " #name "\n.popsection\n")
EMPTY(arch_empty_stepped, "mov x0, x0\n", "");
EMPTY(arch_empty_emulated, "b 1f\n", "1:\n");
EMPTY(arch_other_stepped, "mov x0, x0\n", "");
EMPTY(arch_other_emulated, "b 1f\n", "1:\n");
EMPTY(arch_third_stepped, "mov x0, x0\n", "");
EMPTY(arch_third_emulated, "b 1f\n", "1:\n");

/* By names: where calls by a register must lead to an instruction that says so, these functions have none, and are
 * called at fixed places. No kernel replaces instructions here. */
#define EACH_EMPTY(number, use)                                                                                        \
    switch (number) {                                                                                                  \
    case 1:                                                                                                            \
        use(arch_empty_emulated);                                                                                      \
    case 3:                                                                                                            \
    case 5:                                                                                                            \
        use(arch_other_stepped);                                                                                       \
    case 4:                                                                                                            \
        use(arch_other_emulated);                                                                                      \
    case 6:                                                                                                            \
    case 8:                                                                                                            \
        use(arch_third_stepped);                                                                                       \
    case 7:                                                                                                            \
        use(arch_third_emulated);                                                                                      \
    default:                                                                                                           \
        use(arch_empty_stepped);                                                                                       \
    }
#define ADDRESS(name) return (uintptr_t)name
#define CALL(name) return name()

uintptr_t arch_empty(unsigned number, unsigned *exit)
{
    *exit = 4;
    EACH_EMPTY(number, ADDRESS)
}

void arch_call_empty(unsigned number)
{
    EACH_EMPTY(number, CALL)
}

#endif
