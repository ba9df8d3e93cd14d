/*
 * Machine code as the choice of a probe's site needs it. Both decoders are built on either CPU, so that either tests
 * both; the native one is arch_code().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ARCH_WORDS = 34,   /* registers of a context at most; each is named by its number there: its offset / 8 */
    ARCH_HERE,         /* in a register's place: the address of the instruction's first byte */
    ARCH_LONGEST = 16, /* bytes of an instruction at most, and more */
};

struct arch_instruction {
    unsigned length;
    bool refused;  /* the kernel puts no probe on it */
    bool passable; /* … but a probe of the function that begins with it may stand behind it */
    /* the kernel does something else in its place, so that a probe on it would corrupt or end the program: what; else
     * NULL */
    const char *mistaken;
    bool replaced;    /* the kernel puts a call in its place, which overwrites the stack below the stack pointer */
    bool emulated;    /* a probe on it costs no single step: the kernel does itself what it does */
    bool push;        /* it puts a register on the stack, as the beginning of a function does once */
    bool landing_pad; /* marks where calls and jumps may lead to, and does nothing else: endbr64, bti */
    bool nop;         /* it does nothing */
    bool conditional; /* a jump on a condition */
    bool repeats;     /* itself, so that the kernel, which steps it, is trapped after each round: a rep prefix */
    bool returns;     /* from the function */
    /* Jumps by a table, maybe into the same function. A bit for each register, and ARCH_WORDS for memory with an
     * index: */
    uint64_t jumps_by; /* it jumps to where these say, … */
    uint64_t computes; /* … into which it has put the sum of registers, or what it has read with an index */
    bool indexed;      /* it reads memory with an index, from the table at ABSOLUTE if that is not 0 */
    bool calls;        /* another function, and comes back */
    /* A jump or call that is not to a fixed place: a bit for the register that says where, or ARCH_WORDS for memory;
     * FETCHES: a register that is loaded from a variable, for such a jump or call maybe. */
    uint64_t goes_by, fetches;
    bool by_variable; /* it goes where the word at TARGET bytes from its first says */
    bool direct;      /* a jump or call to a fixed place: */
    int64_t target;   /* bytes from the instruction's first */
    bool refers;      /* it computes the address of a fixed place: TARGET, or ABSOLUTE if that is not 0 */
    uint64_t absolute;
};

/* Memory that an instruction reads or writes. */
enum arch_memory {
    MEMORY_NONE,
    MEMORY_BASED,  /* at OFFSET from what the register BASE holds */
    MEMORY_HERE,   /* at OFFSET from the instruction's first byte */
    MEMORY_THREAD, /* at OFFSET from the thread pointer, and from there at what the register BASE holds, if it is one */
};

/*
 * What an instruction does that changes nothing but registers and memory, and traps on no value: which of them.
 * Addresses are of before it runs.
 */
struct arch_effect {
    bool opaque;      /* nothing is told but what it CHANGES: it may write memory, and that may not be there */
    uint64_t changes; /* a bit for each register that holds something else afterwards, … */
    bool follows;     /* … of which TO then holds what FROM has held, plus PLUS, or … */
    bool adds;        /* … what FROM has held is added to TO; ARCH_WORDS: what is read from memory, or … */
    bool bounded;     /* … TO then holds a number from 0 to MOST */
    uint8_t to, from;
    int64_t plus;
    uint64_t most;
    enum arch_memory memory;
    uint8_t base;
    int64_t offset;
    unsigned size; /* bytes of memory */
    bool writes;   /* that memory; else it is read */
    bool aligned;  /* it faults where the address is no multiple of SIZE */
    /* so many whole registers are written there, or read from there, one behind the other, ARCH_WORDS for anything
     * else; 0: no whole register is */
    unsigned word_count;
    uint8_t words[2];
    bool pushes; /* besides, it puts 8 bytes onto the stack */
};

/* What an instruction has to do with where an indirect jump may go. */
struct arch_flow {
    enum {
        FLOW_OTHER,   /* nobody knows what TO holds afterwards, … */
        FLOW_COPY,    /* … it holds what FROM has held, … */
        FLOW_PLACE,   /* … an address: PLUS bytes from the instruction's first, or ABSOLUTE if that is not 0, … */
        FLOW_SUM,     /* … the sum of both, … */
        FLOW_EXTEND,  /* … the number of 32 bits in FROM, with its sign, … */
        FLOW_POINTER, /* … a word that it reads from memory at PLUS from FROM, … */
        FLOW_CALL,    /* … what a callee has left there: in all that it CHANGES, … */
        /* … or what the 4 bytes hold that are at PLUS from the sum of FROM and of INDEX, or a multiple of that
         * (SCALED); as a number with a sign, or (HALF) in the lower half */
        FLOW_DISTANCE,
    } kind;
    uint64_t changes;        /* a bit for each register that holds something else afterwards */
    uint8_t to, from, index; /* ARCH_WORDS: none */
    bool scaled, half;
    int64_t plus;
    uint64_t absolute;
    bool jumps; /* to where FROM says, or, ARCH_WORDS, a word of memory; it is no call */
};

/*
 * What an instruction does to all by which a walk finds the caller. Everything is told by what the stack pointer and
 * the frame pointer were before it, and the register by which gcc still finds the arguments in a function that aligns
 * its stack (x86_64: r10), and the one up to which a loop makes room on it, page by page (r11).
 */
struct arch_place {
    enum arch_base { BASE_NONE, BASE_STACK, BASE_FRAME, BASE_ARGUMENTS, BASE_LIMIT } base; /* BASE_NONE: nowhere */
    int64_t offset;
};

struct arch_pointer {
    enum arch_change {
        POINTER_KEPT,
        POINTER_MOVED,   /* it is PLACE's address */
        POINTER_LOADED,  /* it is what is in memory at PLACE */
        POINTER_ALIGNED, /* it goes down to a multiple of something */
        POINTER_ZERO,    /* it is 0 */
        POINTER_LOST,    /* nobody knows */
    } change;
    struct arch_place place;
};

struct arch_stack_effect {
    unsigned length;                                          /* of the instruction */
    struct arch_pointer stack, frame, arguments, limit, link; /* LINK: of the return address, where the CPU has one */
    struct arch_place frame_kept, arguments_kept, link_kept;  /* where it puts these registers, as they were */
    bool direct; /* a jump or call to a fixed place, TARGET bytes from its first … */
    bool refers; /* … or it computes the address of one: there, … */
    int64_t target;
    uint64_t absolute; /* … or at this address, if that is not 0 */
    bool jumps;        /* it goes elsewhere: where DIRECT says, or where memory or a register does … */
    bool conditional;  /* … or not */
    bool if_unequal;   /* … but if what was compared last is not equal */
    bool compares;     /* the stack pointer with the limit */
    bool calls, returns;
    bool ends; /* nothing runs behind it: a trap */
    bool nop;  /* as it stands between functions */
};

struct arch_code {
    const char *name;
    unsigned step; /* instructions start at multiples of it */
    /* The instruction that CODE (SIZE bytes) begins with; false where that is none. */
    bool (*decode)(const uint8_t *code, size_t size, struct arch_instruction *instruction);
    uint8_t stack_pointer;     /* its number */
    unsigned entry_misaligned; /* what it has at a function's entry, by the ABI, modulo 16 */
    bool thread_pointer_first; /* the word that the thread pointer leads to is that pointer */
    /* The same for what that instruction changes; false where it may fault or trap whatever its addresses are, or does
     * more than struct arch_effect can tell. */
    bool (*effect)(const uint8_t *code, size_t size, struct arch_effect *effect);
    /* The same for where indirect jumps may go; false where that is no instruction. */
    bool (*flow)(const uint8_t *code, size_t size, struct arch_flow *flow);
    /* The same for how a walk finds the caller. */
    bool (*stack_effect)(const uint8_t *code, size_t size, struct arch_stack_effect *effect);
    /*
     * Bytes from OFFSET of CODE (SIZE bytes) to behind what the CPU has to run without an interruption, if OFFSET is
     * inside: a probe would interrupt it, again and again. 0: it is not.
     */
    size_t (*uninterrupted)(const uint8_t *code, size_t size, size_t offset);
    /*
     * Every place in CODE (SIZE bytes, the first at ADDRESS) whose bytes, if an instruction began there, would be a far
     * direct jump or call to an address from LOW to below HIGH: VISIT gets that address. More than there are, since
     * data and the middle of instructions count; never fewer.
     */
    void (*far_targets)(const uint8_t *code, size_t size, uint64_t address, uint64_t low, uint64_t high,
                        void (*visit)(uint64_t target, void *context), void *context);
    unsigned far_length; /* bytes of the longest of these */
    /* The same of instructions that compute the address of a fixed place, wherever that is; NULL: that takes several.
     */
    void (*places)(const uint8_t *code, size_t size, uint64_t address, void (*visit)(uint64_t target, void *context),
                   void *context);
    /*
     * Whether CODE (SIZE bytes, the first at ADDRESS), wherever an instruction may begin in it, surely has none that
     * jumps to a fixed place from LOW to below HIGH, or mentions one; and no jump to where a register or memory says.
     * Faster than to decode it; false where that is not known.
     */
    bool (*leads_nowhere)(const uint8_t *code, size_t size, uint64_t address, uint64_t low, uint64_t high);
    bool (*jumps_by_none)(const uint8_t *code, size_t size);
    unsigned near_reach; /* other direct jumps reach no further than so many bytes */
};

/*
 * Writes the instruction of this CPU that CODE (SIZE bytes, the first at ADDRESS) begins with into TEXT, which has ROOM
 * bytes, as objdump prints it. False where that is none, and on aarch64, for which there is no disassembler.
 */
bool arch_disassemble(const uint8_t *code, size_t size, uint64_t address, char *text, size_t room);

extern const struct arch_code arch_code_x86_64, arch_code_aarch64;
/* This CPU's. */
const struct arch_code *arch_code(void);
