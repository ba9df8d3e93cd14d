/* Registers as call frame information numbers them: of both CPUs, since files of either can be looked into. */
#include <elf.h>

#include "arch/arch.h"

const struct arch_unwind *arch_unwind(uint16_t machine)
{
    /* System V ABI for AMD64, figure 3.36. struct rt_sigframe's ucontext, once the handler has popped its return
     * address. */
    static const struct arch_unwind x86_64 = {
        .stack_pointer = 7,
        .frame_pointer = 6,
        .return_address = 16,
        .return_address_saved = true,
        .signal_stack_pointer = 160,
        .signal_frame_pointer = 120,
        .signal_instruction_pointer = 168,
    };
    /* DWARF for the Arm 64-bit Architecture, 4.1. A signal's trampoline has no call frame information there. */
    static const struct arch_unwind aarch64 = {.stack_pointer = 31, .frame_pointer = 29, .return_address = 30};
    return machine == EM_X86_64 ? &x86_64 : machine == EM_AARCH64 ? &aarch64 : NULL;
}

const char *arch_dwarf_register(uint16_t machine, int number)
{
    static const char *const x86_64[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                         "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};
    static const char *const aarch64[] = {"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
                                          "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
                                          "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp"};
    if (machine == EM_X86_64)
        return (size_t)number < sizeof x86_64 / sizeof *x86_64 ? x86_64[number] : "?";
    return (size_t)number < sizeof aarch64 / sizeof *aarch64 ? aarch64[number] : "?";
}
