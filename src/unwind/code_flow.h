/*
 * The code of a file that nothing describes, and how far the stack has gone at each of its instructions: a data flow
 * over the ways that lead there.
 */
#pragma once

#include "elf/elf_file.h"
#include "unwind/stack_state.h"

/* Bits of a byte of code. */
enum {
    FLOW_STARTS = 1,       /* a function */
    FLOW_CONTRADICTS = 2,  /* here the function turned out to be misunderstood */
    FLOW_LENGTH_SHIFT = 4, /* above it: the instruction's length */
};

struct code_region {
    uint64_t start, end; /* ELF addresses */
    uint8_t *bytes, *marks;
    uint16_t *states; /* by byte: the number of the state before the instruction that begins there; 0: none does */
};

/* A function by its symbol. */
struct code_extent {
    uint64_t start, end;
};

struct code_flow {
    const struct elf_file *elf;
    const struct arch_code *code;
    const struct arch_unwind *arch;
    struct code_region *regions; /* ascending */
    size_t region_count;
    struct stack_state *states; /* by number; 0 is unused */
    size_t state_count, state_capacity;
    uint32_t *buckets; /* open addressing: numbers of states */
    size_t bucket_count;
    uint64_t *work, *references; /* instructions to look at; places whose addresses the code computes */
    size_t work_count, work_capacity, reference_count, reference_capacity;
    struct code_extent *extents; /* ascending by start */
    size_t extent_count, extent_capacity;
    uint16_t entry, outermost, unknown; /* states: where functions begin, and the file; where nothing is known */
    uint32_t looks;                     /* instructions that were looked at to find out whether calls come back */
    bool late;                          /* a function was found where another one had come along already */
    bool failed;                        /* no memory */
};

/* Code: ELF addresses, which lie in one executable segment. */
struct code_range {
    uint64_t start, end;
};

/* Begins with the code of ELF in the COUNT RANGES, which ascend. False without memory. code_flow_close frees in any
 * case. */
bool code_flow_open(struct code_flow *flow, const struct elf_file *elf, const struct code_range *ranges, size_t count);
void code_flow_close(struct code_flow *flow);

/* The region that has ADDRESS, or NULL. */
struct code_region *code_flow_region(const struct code_flow *flow, uint64_t address);

/* A function begins at ADDRESS, if that is in the code. */
void code_flow_begin(struct code_flow *flow, uint64_t address);
/* The instruction at FROM that has EFFECT may compute the address of a function. */
void code_flow_refer(struct code_flow *flow, uint64_t from, const struct arch_stack_effect *effect);

/* Follows all ways, from where functions begin to what they call, jump to by tables and refer to; once more where it
 * has learnt late of a function. */
void code_flow_run(struct code_flow *flow);

/* Bytes of the instruction at AT of REGION. */
unsigned code_flow_length(const struct code_region *region, uint64_t at);
