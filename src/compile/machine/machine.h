/*
 * A program in terms of the BPF machine: instructions on an unlimited number of registers, each assigned once. lower.c
 * makes it from the IR, regalloc.c maps its registers to r0–r9 and the frame, emit.c writes the instructions.
 */
#pragma once

#include <linux/bpf.h>

#include "compile/context/compiler.h"
#include "compile/ir/ir.h"

enum machine_op {
    M_CONTEXT,    /* result = the program's argument; first in the program */
    M_COPY,       /* result = a: any operand */
    M_ALU,        /* result = a CODE b; CODE is BPF_ADD …, WIDE: 64 bits, else the low 32, zero-extended */
    M_LOAD,       /* result = *(SIZE *)(a + offset), zero-extended; SIZE is BPF_B … BPF_DW */
    M_STORE,      /* *(SIZE *)(a + offset) = b */
    M_ADD_ATOMIC, /* the same, += b; SIZE is BPF_W or BPF_DW */
    M_FETCH,      /* result = *(u64 *)(a + offset), which CODE and b change at once: BPF_XCHG, BPF_ADD | BPF_FETCH */
    M_CALL,       /* result = function(args…) */
    M_PHI,        /* result = args[i] when entered from predecessor i */
    M_JUMP,
    M_BRANCH,   /* to next[0] if a CODE b (BPF_JEQ …), else to next[1] */
    M_MAY_GOTO, /* to next[0], or to next[1] when the kernel says that the program has looped enough */
    M_EXIT,     /* return a */
};

enum operand_kind {
    OPERAND_NONE,
    OPERAND_REGISTER,
    OPERAND_IMMEDIATE,
    OPERAND_FRAME,    /* the address NUMBER bytes into SLOT: of the stack (machine_address) */
    OPERAND_MAP,      /* the map called SYMBOL */
    OPERAND_DATA,     /* the address NUMBER bytes into the counters called SYMBOL */
    OPERAND_FUNCTION, /* the address of the function called SYMBOL, for a helper that calls it */
};

struct operand {
    enum operand_kind kind;
    union {
        struct reg *reg;
        struct slot *slot;
        const char *symbol;
    };
    int64_t number;
};

/* A piece of the stack frame, or of scratch memory. */
struct slot {
    unsigned number; /* in the order in which they are made */
    uint32_t size;   /* a multiple of 8 */
    bool moved;      /* to scratch memory */
    uint32_t depth;  /* stack_frame.c */
    int offset;      /* from r10, or from the start of the scratch memory */
    const struct position *position;
    /* bpf_loop.c: the function finds it in its caller's frame; it is alive everywhere; it holds a pointer, and is */
    bool shared, lasting, pointer;
    int start, end; /* stack_frame.c: positions of the first and the last instruction that want it */
    struct slot *next;
};

struct reg {
    unsigned id;
    struct machine_instruction *definition;
    unsigned uses;
    struct reg *same; /* has the same value: lower.c */
    unsigned live;    /* its number in program->live, counted from 1; 0: no block but its own wants it */
    /* regalloc.c: where it is alive, in instruction positions; what holds it */
    int start, end;
    bool crosses_call, tiny; /* TINY: comes from a spill and cannot be spilled again */
    int number;              /* r0 … r9, or -1 */
    int hint;                /* register that would save a copy, or -1 */
    struct reg *hint_from;
    struct slot *spilled;
    struct slot *points_into; /* stack_frame.c: it holds an address there */
    struct reg *next;
};

enum { MAX_CALL_ARGUMENTS = 5 };

struct machine_instruction {
    enum machine_op op;
    uint8_t code, size;
    bool wide;
    int16_t offset;
    struct reg *result;
    struct operand a, b;
    /* M_CALL: a helper (NUMBER), a library function (SYMBOL) or a kernel function (SYMBOL, BTF id NUMBER) */
    enum callee { CALL_HELPER, CALL_LIBRARY, CALL_KERNEL } callee;
    int32_t number;
    const char *symbol;
    bool pure;            /* a call that may be left out if nobody wants its result */
    struct operand *args; /* M_CALL, M_PHI */
    size_t arg_count;
    const struct position *position;
    struct machine_block *block;
    struct machine_instruction *previous, *next;
    int at; /* position in the linear order, while allocating */
};

struct machine_block {
    unsigned id;
    bool cold;       /* placed behind the rest */
    bool leads_back; /* it ends in a jump back to a loop's header */
    struct machine_instruction *first, *last;
    struct machine_block **predecessors;
    size_t predecessor_count;
    struct machine_block *next[2];
    unsigned next_count;
    struct machine_block *following;
    struct machine_block *resumes; /* bpf_loop.c: it ends one round; the next begins in this block */
    uint64_t *live_in, *live_out;  /* bit sets over program->live, while allocating */
    int start, end;
    int emitted_at; /* index of the first BPF instruction */
};

/* What of a handler's slots lies in scratch memory, by number: the offset there, 0 for those on the stack
 * (scratch.c). */
struct scratch {
    int *offsets;
    unsigned count;
    uint32_t size; /* bytes in all */
};

struct program {
    struct compiler *compiler;
    struct arena *arena;
    const char *name;
    uint32_t type, attach_type; /* as in BPF_PROG_LOAD */
    const char *target;         /* the kernel's function that a program of BPF_PROG_TYPE_TRACING is for */
    bool of_kernel;             /* at functions of the kernel */
    bool sleepable;             /* it reads memory that may have to be brought in */
    struct machine_block *entry, *last;
    struct slot *slots;
    unsigned slot_count, lowered_slots; /* lowered: without those of spilled registers */
    const struct scratch *scratch;      /* what is not on the stack; NULL: nothing */
    /* where the address of the scratch memory is kept; slots made before are needed before */
    struct slot *scratch_at;
    bool has_scratch;                    /* from here on */
    struct operand scratch_address;      /* in a register … */
    struct machine_block *scratch_block; /* … in this block, until the next call */
    struct reg *registers;
    unsigned register_count, block_count;
    int spare;           /* offset of a word for emit.c */
    uint32_t stack_size; /* bytes of the frame that are used */
    bool private_stack;  /* the library's functions fit below it only if the kernel gives each a stack of its own */
    int end;             /* of the last instruction, while allocating */
    struct reg **live;   /* registers that more than one block wants, while allocating */
    unsigned live_count;
    bool early; /* what is spilled now are not the last registers to be */
    /* Loops where the kernel has no may_goto (bpf_loop.c). */
    bool by_rounds;             /* they are compiled that way */
    unsigned budget;            /* rounds of all loops in one run */
    struct machine_block *body; /* the handler itself starts here; before it stands what the probe needs */
    struct program *rounds;     /* the function that runs one round; NULL: no loops, or loops by may_goto */
    struct program *caller;     /* of that function: whose frame it works on */
    struct slot *any_zero;      /* 0, of which the verifier knows nothing */
    struct slot *numbers;       /* all of the frame that holds no pointers; its size is wanted by the two: */
    struct machine_instruction *clears_frame, *bounds_size;
    /* where machine_* append */
    struct machine_block *block;
    const struct position *position;
};

/* An empty program with its entry block; TYPE and ATTACH_TYPE as in BPF_PROG_LOAD. Lives in the compiler's arena, as
 * all below. */
struct program *program_new(struct compiler *compiler, const char *name, uint32_t type, uint32_t attach_type);
/* Operands of each kind; OFFSET and NUMBER in bytes. */
struct operand operand_immediate(int64_t number);
struct operand operand_register(struct reg *reg);
struct operand operand_slot(struct slot *slot, int64_t offset);
struct operand operand_map(const char *name);
struct operand operand_data(const char *name, int64_t offset);
struct operand operand_function(const char *name);
/* The arguments of a call, and how many they are. */
#define OPERANDS(...)                                                                                                  \
    (const struct operand[]){__VA_ARGS__}, sizeof((const struct operand[]){__VA_ARGS__}) / sizeof(struct operand)
/* A new piece of the frame, SIZE bytes rounded up to 8; its content is undefined. */
struct slot *program_slot(struct program *program, uint32_t size);

/* A block that nothing leads to yet and that stands nowhere yet. */
struct machine_block *machine_block(struct program *program);
/* Places BLOCK behind the others and appends to it from now on. */
void machine_place(struct program *program, struct machine_block *block);
/* Each returns the register that holds the result. */
struct operand machine_context(struct program *program);
struct operand machine_alu(struct program *program, uint8_t code, struct operand a, struct operand b);
struct operand machine_alu32(struct program *program, uint8_t code, struct operand a, struct operand b);
struct operand machine_copy(struct program *program, struct operand a);
struct operand machine_load(struct program *program, uint8_t size, struct operand base, int64_t offset);
void machine_store(struct program *program, uint8_t size, struct operand base, int64_t offset, struct operand value);
void machine_add_atomic(struct program *program, uint8_t size, struct operand base, int64_t offset,
                        struct operand value);
struct operand machine_call(struct program *program, int32_t helper, const struct operand *args, size_t count);
struct operand machine_call_pure(struct program *program, int32_t helper, const struct operand *args, size_t count);
struct operand machine_call_library(struct program *program, const char *name, const struct operand *args,
                                    size_t count);
struct operand machine_call_kernel(struct program *program, const char *name, int btf_id, const struct operand *args,
                                   size_t count);
/* A phi at the head of BLOCK with room for one argument per predecessor that BLOCK has by now. */
struct machine_instruction *machine_phi(struct program *program, struct machine_block *block);
/* At the head of BLOCK, which has all its predecessors: A where it is entered from FROM, B where from another. */
struct operand machine_choose(struct program *program, struct machine_block *block, const struct machine_block *from,
                              struct operand a, struct operand b);
void machine_jump(struct program *program, struct machine_block *to);
/* Jumps to BLOCK, which is placed here. */
void machine_continue(struct program *program, struct machine_block *block);
void machine_branch(struct program *program, uint8_t code, struct operand a, struct operand b,
                    struct machine_block *if_true, struct machine_block *if_false);
void machine_may_goto(struct program *program, struct machine_block *on, struct machine_block *enough);
void machine_exit(struct program *program, int64_t result);

/* *(u64 *)(BASE + OFFSET), which becomes VALUE at once. */
struct operand machine_exchange(struct program *program, struct operand base, int64_t offset, struct operand value);
/* *(u64 *)(BASE + OFFSET), to which VALUE is added at once. */
struct operand machine_fetch_add(struct program *program, struct operand base, int64_t offset, struct operand value);
/* ADDRESS; in a register if it is one in scratch memory. The functions above do that for their operands. */
struct operand machine_address(struct program *program, struct operand address);

/*
 * Moves slots of PROGRAM, laid out and EXCESS bytes too large for the stack, to scratch memory: adds them to *SCRATCH,
 * with which the handler is to be lowered again. Fails where that is not enough.
 */
void scratch_move(struct program *program, struct scratch *scratch, uint32_t excess);

/*
 * The passes behind the lowering. pass_allocate_registers returns by how many bytes the stack is too small; 0: the
 * program is ready for pass_emit. Otherwise scratch_move decides what goes to scratch memory, and the program has to be
 * made anew.
 */
uint32_t pass_allocate_registers(struct program *program);
/* Gives the pieces on the stack their places; the instructions are numbered. Returns by how many bytes they do not
 * fit. */
uint32_t frame_lay_out(struct program *program);
/*
 * True if PROGRAM, laid out, is to be kept from a stack of its own: the kernel looks at the clock in every 65,535th
 * may_goto of a run (Linux 6.15 and later). Where it has given the program a stack of its own, which it does from 64
 * bytes on, it takes the time from another stack, and may end the loop there or write to it (seen on 6.18, x86).
 */
bool frame_refuses_private_stack(const struct program *program);
/* Gives the pieces that were moved to scratch memory their places there, from byte START on. Returns where they end. */
uint32_t frame_lay_out_moved(struct program *program, uint32_t start);
/* Moves the handler of a program with loops into a function of its own, PROGRAM->rounds (by_rounds). */
void pass_bpf_loop(struct program *program);
/* Adds the finished program to OBJECT. */
void pass_emit(struct program *program, struct object *object, const struct compile_options *options,
               const char *section);

/* Calls VISIT for each operand of the instruction. */
void machine_visit(struct machine_instruction *instruction, void (*visit)(struct operand *, void *), void *context);
/* A register that DEFINITION sets. */
struct reg *machine_register(struct program *program, struct machine_instruction *definition);
/* Takes the instruction out of its block. */
void machine_unlink(struct machine_instruction *instruction);

/* --- parts of pass_allocate_registers; bpf_loop.c uses them too --- */

/* Makes branches on constants jumps; takes out blocks that nothing leads to and results that nobody uses. */
void program_drop_dead(struct program *program);
/* Fills the blocks' live_in and live_out. */
void program_find_liveness(struct program *program);
/* Gives each instruction operands of the kinds that BPF takes there: registers, 32-bit constants, addresses in the
 * frame. */
void program_legalise(struct program *program);
/*
 * Registers with .spilled live in the frame from here on: stored where they are set, loaded where they are used. EARLY:
 * before the others have theirs, so that what is loaded may be spilled again.
 */
void program_spill(struct program *program, bool early);
