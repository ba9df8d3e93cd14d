/*
 * A Lua function as LuaJIT dumps it (lua_dump with debug information): instructions, constants, lines and names.
 * Instructions are keyed by name: BYTECODE_ISLT … come from the opcode list of the linked LuaJIT's jit.vmdef, read at
 * build time (build/opcodes.h), since the numbers differ between releases.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum bytecode_op {
#define OPCODE(name) BYTECODE_##name,
#include "opcodes.h" /* one OPCODE(NAME) per opcode of the linked LuaJIT, in its numeric order */
#undef OPCODE
    BYTECODE_COUNT,
    BYTECODE_LACKING = BYTECODE_COUNT, /* behind it those that only newer LuaJITs have: never seen, but known by name */
#define OPCODE(name)
#define LACKING_OPCODE(name) BYTECODE_##name,
#include "opcodes.h"
#undef LACKING_OPCODE
#undef OPCODE
    BYTECODE_KNOWN,
};

enum constant_kind {
    CONSTANT_NIL,
    CONSTANT_FALSE,
    CONSTANT_TRUE,
    CONSTANT_NUMBER,  /* .number */
    CONSTANT_I64,     /* .i64: an LL literal */
    CONSTANT_U64,     /* .u64: a ULL literal */
    CONSTANT_COMPLEX, /* an imaginary literal: only ever refused */
    CONSTANT_STRING,  /* .string: bytes, length; NUL-terminated too */
    CONSTANT_CHILD,   /* .child: a nested function */
    CONSTANT_TABLE,   /* .table: a constructor's template */
};

struct constant {
    enum constant_kind kind;
    union {
        double number;
        int64_t i64;
        uint64_t u64;
        struct {
            const char *bytes;
            size_t length;
        } string;
        struct bytecode *child;
        struct constant_table *table;
    };
};

/* A template: ARRAY[0] is index 0 (nil where unused), PAIRS are the hash part. */
struct constant_table {
    size_t array_size;
    struct constant *array;
    size_t pair_count;
    struct {
        struct constant key, value;
    } * pairs;
};

struct instruction {
    enum bytecode_op op;
    uint8_t a, b, c; /* b and c where the format has them */
    uint16_t d;      /* the same bits as b (high) and c (low) */
    int line;        /* in the source file */
};

struct local_variable {
    const char *name;    /* of a local, "(for index)" and the like for LuaJIT's own */
    uint32_t start, end; /* alive while start <= pc < end, pc counted as in INSTRUCTIONS */
    uint8_t slot;
};

enum { MOST_SLOTS = 250 }; /* of a function: LuaJIT's LJ_MAX_SLOTS */

struct bytecode {
    const char *file; /* what Lua's messages call the source: "script.lua", "-e", "[string \"local x…\"]" */
    int first_line, line_count;
    bool vararg;
    uint8_t parameters, frame_size, upvalue_count;
    size_t instruction_count;
    struct instruction *instructions; /* [0] is the function's first instruction: the FUNC header is not dumped */
    size_t constant_count;
    struct constant *constants; /* GC constants, indexed by operand D of KSTR, TGETS (c), FNEW … */
    size_t number_count;
    struct constant *numbers; /* indexed by operand D of KNUM, ADDVN (c) …: CONSTANT_NUMBER */
    struct {
        bool local, immutable;
        const char *name;
    } * upvalues;
    size_t variable_count;
    struct local_variable *variables;
};

/*
 * Decodes DUMP (SIZE bytes, from lua_dump) into *RESULT: the outermost function with its children below it. The result
 * owns all memory and is freed whole by bytecode_free. Returns 0, or a negative errno with ERR filled: an unknown
 * version, a dump without debug information, a foreign byte order, or a corrupt dump (all offsets are checked).
 * Source: LuaJIT's lj_bcdump.h and lj_bcread.c describe the format.
 */
int bytecode_decode(const void *dump, size_t size, struct bytecode **result, struct error *err);
void bytecode_free(struct bytecode *bytecode);

/* "TGETS": for messages. */
const char *bytecode_op_name(enum bytecode_op op);

/* Name of the local variable in SLOT at PC, or NULL where there is none. */
const char *bytecode_variable(const struct bytecode *bytecode, uint8_t slot, uint32_t pc);
