/* What differs by CPU, for the compiler and the probes: where a probe's context (struct pt_regs, on aarch64 struct
 * user_pt_regs) keeps what. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { ARCH_MAX_ARGUMENTS = 8 };

/* What a number or a name says. Offsets are in bytes, and in the context where nothing else is said. */
extern const struct arch_cpu {
    int goroutine; /* where Go's functions have struct g, which begins with its stack's bounds */
    /* in the kernel's struct thread_info, the flag of a thread that is in a call of the 32-bit interface: the offset of
     * its word, and the bit */
    int compat_word;
    uint32_t compat_flag;
    int return_value, stack_pointer, instruction_pointer, frame_pointer;
    int sample_period, sample_address; /* in the context of a sample: of its period, and of the address it is about */
    int breakpoint_size; /* bytes from the kernel's breakpoint of a kprobe to the instruction pointer in its context */
    int watchpoints;     /* how many places in memory the CPU can watch at one time */
    bool ordered_stores; /* other CPUs see the stores of one in their order */
    int return_pops;     /* stack pointer right after a function's return minus the one at its entry */
    int return_address;  /* of the register that holds it at entry; -1: it is at [stack pointer] */
    uint16_t elf_machine;
    uint32_t relocation_indirect;      /* type of relocations that call a resolver (R_…_IRELATIVE) */
    uint32_t relocation_relative;      /* of those that fill in an address of the same file */
    uint32_t relocation_address;       /* of those that fill in a symbol's */
    uint32_t relocation_thread_offset; /* of those that fill in a variable's distance from the thread pointer */
    const char *library_folder;        /* Debian's name of the folder below /usr/lib that holds this CPU's libraries */
} arch_cpu;

/* Byte offset in the context of integer argument N at a function's entry; -1 where it is not in a register. */
int arch_argument(unsigned n);
/* The same of Go's functions (ABIInternal, Go 1.17). */
int arch_go_argument(unsigned n);
/* Byte offset in the registers with which a system call enters the kernel of its argument N, of 6. */
int arch_syscall_argument(unsigned n);
/* The bits of an address of code in a register or on the stack that are the address; the others may hold its
 * signature. */
uint64_t arch_code_mask(void);
/* Byte offset of register NAME ("rdi", "x0"; on each CPU also "ip", "sp" and "flags"), or -1. */
int arch_register(const char *name);
/* The name of register NUMBER, from 0, of those in the context; NULL behind the last. Static. */
const char *arch_register_name(unsigned number);
/* The register of which NAME ("eax", "w0") means the lowest *BITS, 0: bits 8 to 15; NULL if it is no such name.
 * Static. */
const char *arch_register_whole(const char *name, int *bits);
/* True if the register at OFFSET is nobody's at a function's entry: no caller and no callee expects anything in it. */
bool arch_register_may_change(int offset);

/* What a walk up the stack needs to know of the registers. */
struct arch_unwind {
    uint8_t stack_pointer, frame_pointer, return_address; /* their DWARF numbers */
    bool return_address_saved; /* by each call, below the CFA; else it is in its register at first */
    /* Bytes from the stack pointer of a signal's trampoline to the registers in its ucontext; 0: not in call frame
     * information */
    int signal_stack_pointer, signal_frame_pointer, signal_instruction_pointer;
};
/* The same as bpf/arch.h has it, of files with the e_machine MACHINE; NULL: neither x86_64 nor aarch64. Static. */
const struct arch_unwind *arch_unwind(uint16_t machine);
/* Name of the register with the DWARF number NUMBER (below 32). Static. */
const char *arch_dwarf_register(uint16_t machine, int number);

/*
 * Functions that do nothing, to measure what probes on them take; their code lies in this program's file. NUMBER: as
 * enum entry of probe/probe.h says of their first instructions; from ENTRIES and from 2 * ENTRIES on others that begin
 * so, for who measures something else at the same time. The address of its code, and bytes to its return instruction
 * in *EXIT; then a call of it.
 */
uintptr_t arch_empty(unsigned number, unsigned *exit);
void arch_call_empty(unsigned number);

/* What a stub of the procedure linkage table does. */
enum arch_stub {
    ARCH_STUB_NONE,  /* nothing known: the table's head, or padding */
    ARCH_STUB_SLOT,  /* jumps to where the word at address *SLOT points */
    ARCH_STUB_INDEX, /* has the loader find the function of relocation *INDEX */
};
/* Decodes the stub CODE (SIZE bytes) at ADDRESS. */
enum arch_stub arch_stub(const uint8_t *code, size_t size, uint64_t address, uint64_t *slot, uint32_t *index);

/* Names of the glibc-hwcaps folders that the loader searches on this CPU, best first: their number. Static. */
size_t arch_library_levels(const char *const **levels);
