/* Whether a program survives a probe at a place of its code. */
#pragma once

#include "arch/instruction.h"
#include "probe/module/binary.h"
#include "probe/probe.h"

/* The instruction at ADDRESS; false where there is none. */
bool site_decode(const struct binary *binary, uint64_t address, struct arch_instruction *instruction);

/* Why patterns leave a function out. */
#define SITE_REFUSED "the kernel puts no probe on its first instruction"
#define SITE_WRITABLE "the kernel puts no probe in code that is mapped writable"

/* Whether the code of BINARY at ADDRESS is mapped writable: valid_vma of kernel/events/uprobes.c leaves it out, without
 * a word. */
static inline bool site_is_writable(const struct binary *binary, uint64_t address)
{
    return elf_file_segment_at(binary_elf(binary), address, PF_X | PF_W) != NULL;
}

/* Whether a probe of the function that begins with INSTRUCTION may stand behind it, as the kernel puts none on it
 * (probe/spec/slide.h). */
static inline bool site_may_pass(const struct arch_instruction *instruction)
{
    return instruction->passable && !instruction->mistaken;
}

/* Why a probe on INSTRUCTION, the first of a function or one INSIDE, would corrupt the program; NULL: it would not. */
const char *site_harm(const struct arch_instruction *instruction, bool inside);

/*
 * 0 if an instruction starts at ADDRESS, INSIDE bytes from the start of FUNCTION, which has SIZE bytes (0: that is not
 * known), and if the program survives a probe there. TEXT: the spec, for messages.
 */
int site_check(const struct binary *binary, const char *text, const char *function, uint64_t address, uint64_t inside,
               uint64_t size, struct error *err);

/*
 * Finds out whether SITE, the beginning of something in BINARY, is jumped to, not called: by call frame information,
 * which has a frame there. So begin parts of functions that stand apart from them (.cold), and the head of a procedure
 * linkage table. A return probe there, AT_RETURN, is refused. TEXT: the spec, for messages.
 */
int site_check_entry(const struct binary *binary, const char *text, struct site *site, bool at_return,
                     struct error *err);
