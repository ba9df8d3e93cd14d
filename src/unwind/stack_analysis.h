/*
 * Unwind rules of code that no call frame information describes, as that of musl's libc and of much assembly: by what
 * its instructions do to the stack pointer and the frame pointer. Where functions begin symbols tell, and calls. What
 * is not known for sure at an instruction gets no rule, but a function that does what no compiler does may get a wrong
 * one: these rules are marked (RULE_GUESSED).
 */
#pragma once

#include "elf/elf_file.h"
#include "unwind/code_flow.h"

/* From ADDRESS on RULE holds; RULE_UNKNOWN: none. OTHER says the same by the stack pointer, where RULE says it by the
 * frame pointer and both are known. */
struct analysed_row {
    uint64_t address, rule, other;
};

struct code_ranges {
    struct code_range *items; /* ascending; they do not overlap */
    size_t count, capacity;
};

/*
 * Analyses the code of ELF in RANGES. DESCRIBED: its other code, which is looked through for calls from there where no
 * symbols tell of functions. The rows, ascending, in *ROWS, which the caller frees: their number, or -ENOMEM. 0 where
 * nothing is found, or where there is more code than ANALYSIS_MAX_CODE.
 */
enum { ANALYSIS_MAX_CODE = 1 << 24 }; /* bytes: half a second of a CPU */
int64_t stack_analysis(const struct elf_file *elf, const struct code_ranges *ranges,
                       const struct code_ranges *described, struct analysed_row **rows);
