/* Checks a decoded function before the compiler indexes by its operands. */
#include "compile/front/bytecode_verify.h"

/* The meaning of an operand. Source: BCDEF in LuaJIT's lj_bc.h. */
enum mode {
    NONE,
    SLOT,   /* of the frame */
    RESULT, /* a slot that it sets */
    UPVALUE,
    STRING, /* GC constants of one kind each */
    CDATA,
    TABLE,
    FUNCTION,
    NUMBER,    /* number constant */
    PRIMITIVE, /* 0 nil, 1 false, 2 true */
    LITERAL,
    JUMP,
};

/* An instruction has either B and C or D. RUN is how many slots are used one after the other, see slots_used. */
struct format {
    enum mode a, b, c, d;
    enum run {
        RUN_NONE,
        RUN_A_TO_D,
        RUN_B_TO_C,
        RUN_CALL,
        RUN_OPEN_CALL,
        RUN_TAIL_CALL,
        RUN_OPEN_TAIL_CALL,
        RUN_ITERATE,
        RUN_RETURN,
        RUN_OPEN_RETURN,
        RUN_VARARG,
        RUN_LOOP
    } run;
    bool condition;  /* the next instruction is the JMP that it decides on */
    bool terminator; /* the next instruction is not run after it */
};

/* By opcode; all zero for one that is not known. */
static const struct format formats[BYTECODE_KNOWN] = {
    [BYTECODE_ISLT... BYTECODE_ISNEV] = {.a = SLOT, .d = SLOT, .condition = true},
    [BYTECODE_ISEQS... BYTECODE_ISNES] = {.a = SLOT, .d = STRING, .condition = true},
    [BYTECODE_ISEQN... BYTECODE_ISNEN] = {.a = SLOT, .d = NUMBER, .condition = true},
    [BYTECODE_ISEQP... BYTECODE_ISNEP] = {.a = SLOT, .d = PRIMITIVE, .condition = true},
    [BYTECODE_ISTC... BYTECODE_ISFC] = {.a = RESULT, .d = SLOT, .condition = true},
    [BYTECODE_IST... BYTECODE_ISF] = {.d = SLOT, .condition = true},

    [BYTECODE_MOV... BYTECODE_LEN] = {.a = RESULT, .d = SLOT},
    [BYTECODE_ADDVN... BYTECODE_MODVN] = {.a = RESULT, .b = SLOT, .c = NUMBER},
    [BYTECODE_ADDNV... BYTECODE_MODNV] = {.a = RESULT, .b = SLOT, .c = NUMBER}, /* the constant is C here too */
    [BYTECODE_ADDVV... BYTECODE_MODVV] = {.a = RESULT, .b = SLOT, .c = SLOT},
    [BYTECODE_POW] = {.a = RESULT, .b = SLOT, .c = SLOT},
    [BYTECODE_BNOT] = {.a = RESULT, .d = SLOT},
    [BYTECODE_BAND... BYTECODE_BSAR] = {.a = RESULT, .b = SLOT, .c = SLOT},
    [BYTECODE_CAT] = {.a = RESULT, .b = SLOT, .c = SLOT, .run = RUN_B_TO_C},

    [BYTECODE_KSTR] = {.a = RESULT, .d = STRING},
    [BYTECODE_KCDATA] = {.a = RESULT, .d = CDATA},
    [BYTECODE_KSHORT] = {.a = RESULT, .d = LITERAL},
    [BYTECODE_KNUM] = {.a = RESULT, .d = NUMBER},
    [BYTECODE_KPRI] = {.a = RESULT, .d = PRIMITIVE},
    [BYTECODE_KNIL] = {.a = SLOT, .d = SLOT, .run = RUN_A_TO_D},
    [BYTECODE_UGET] = {.a = RESULT, .d = UPVALUE},
    [BYTECODE_USETV] = {.a = UPVALUE, .d = SLOT},
    [BYTECODE_USETS] = {.a = UPVALUE, .d = STRING},
    [BYTECODE_USETN] = {.a = UPVALUE, .d = NUMBER},
    [BYTECODE_USETP] = {.a = UPVALUE, .d = PRIMITIVE},
    [BYTECODE_UCLO] = {.a = LITERAL, .d = JUMP, .terminator = true},
    [BYTECODE_FNEW] = {.a = RESULT, .d = FUNCTION},
    [BYTECODE_TNEW] = {.a = RESULT, .d = LITERAL},
    [BYTECODE_TDUP] = {.a = RESULT, .d = TABLE},
    [BYTECODE_GGET] = {.a = RESULT, .d = STRING},
    [BYTECODE_GSET] = {.a = SLOT, .d = STRING},
    [BYTECODE_TGETV] = {.a = RESULT, .b = SLOT, .c = SLOT},
    [BYTECODE_TGETS] = {.a = RESULT, .b = SLOT, .c = STRING},
    [BYTECODE_TGETB] = {.a = RESULT, .b = SLOT, .c = LITERAL},
    [BYTECODE_TSETV] = {.a = SLOT, .b = SLOT, .c = SLOT},
    [BYTECODE_TSETS] = {.a = SLOT, .b = SLOT, .c = STRING},
    [BYTECODE_TSETB] = {.a = SLOT, .b = SLOT, .c = LITERAL},
    [BYTECODE_TSETM] = {.a = SLOT, .d = NUMBER},

    [BYTECODE_CALLM] = {.a = SLOT, .b = LITERAL, .c = LITERAL, .run = RUN_OPEN_CALL},
    [BYTECODE_CALL] = {.a = SLOT, .b = LITERAL, .c = LITERAL, .run = RUN_CALL},
    [BYTECODE_CALLMT] = {.a = SLOT, .d = LITERAL, .run = RUN_OPEN_TAIL_CALL, .terminator = true},
    [BYTECODE_CALLT] = {.a = SLOT, .d = LITERAL, .run = RUN_TAIL_CALL, .terminator = true},
    [BYTECODE_ITERC... BYTECODE_ITERN] = {.a = SLOT, .b = LITERAL, .c = LITERAL, .run = RUN_ITERATE},
    [BYTECODE_VARG] = {.a = SLOT, .b = LITERAL, .c = LITERAL, .run = RUN_VARARG},
    [BYTECODE_ISNEXT] = {.a = SLOT, .d = JUMP, .terminator = true},
    [BYTECODE_RETM] = {.a = SLOT, .d = LITERAL, .run = RUN_OPEN_RETURN, .terminator = true},
    [BYTECODE_RET] = {.a = SLOT, .d = LITERAL, .run = RUN_RETURN, .terminator = true},
    [BYTECODE_RET0] = {.a = LITERAL, .d = LITERAL, .terminator = true},
    [BYTECODE_RET1] = {.a = SLOT, .d = LITERAL, .run = RUN_RETURN, .terminator = true},
    [BYTECODE_FORI] = {.a = SLOT, .d = JUMP, .run = RUN_LOOP},
    [BYTECODE_FORL... BYTECODE_IFORL] = {.a = SLOT, .d = JUMP, .run = RUN_LOOP},
    [BYTECODE_ITERL... BYTECODE_IITERL] = {.a = SLOT, .d = JUMP},
    [BYTECODE_LOOP... BYTECODE_ILOOP] = {.a = LITERAL, .d = JUMP},
    [BYTECODE_JMP] = {.a = LITERAL, .d = JUMP, .terminator = true},
};

static bool is_kind(const struct bytecode *function, unsigned index, enum constant_kind kind)
{
    return index < function->constant_count && function->constants[index].kind == kind;
}

static bool is_cdata(const struct bytecode *function, unsigned index)
{
    return is_kind(function, index, CONSTANT_I64) || is_kind(function, index, CONSTANT_U64) ||
           is_kind(function, index, CONSTANT_COMPLEX);
}

/* VALUE is the operand of the instruction at PC. */
static bool operand_is_valid(const struct bytecode *function, size_t pc, enum mode mode, unsigned value)
{
    switch (mode) {
    case SLOT:
    case RESULT:
        return value < function->frame_size;
    case UPVALUE:
        return value < function->upvalue_count;
    case STRING:
        return is_kind(function, value, CONSTANT_STRING);
    case CDATA:
        return is_cdata(function, value);
    case TABLE:
        return is_kind(function, value, CONSTANT_TABLE);
    case FUNCTION:
        return is_kind(function, value, CONSTANT_CHILD);
    case NUMBER:
        return value < function->number_count;
    case PRIMITIVE:
        return value <= 2;
    case JUMP:
        /* 0x8000 is the next instruction. */
        return pc + 1 + value >= 0x8000 && pc + 1 + value - 0x8000 < function->instruction_count;
    case NONE:
    case LITERAL:
        break;
    }
    return true;
}

/* First and last slot that INSTRUCTION uses beyond its single operands; false if there cannot be so few. */
static bool slots_used(const struct instruction *instruction, enum run run, int *first, int *last)
{
    int a = instruction->a, b = instruction->b, c = instruction->c, d = instruction->d;
    *first = *last = a;
    switch (run) {
    case RUN_NONE:
        break;
    case RUN_A_TO_D:
        *last = d;
        return d > a; /* a single nil is a KPRI */
    case RUN_B_TO_C:
        *first = b;
        *last = c;
        return c > b;
    case RUN_CALL:      /* the function at A, its frame's second slot, C - 1 arguments; B - 1 results from A on */
    case RUN_OPEN_CALL: /* C arguments, and all results of the last call */
        *last = a + (run == RUN_CALL ? c : c + 1);
        if (b >= 2 && a + b - 2 > *last)
            *last = a + b - 2;
        return run == RUN_OPEN_CALL || c >= 1;
    case RUN_TAIL_CALL:
        *last = a + d;
        return d >= 1;
    case RUN_OPEN_TAIL_CALL:
        *last = a + 1 + d;
        break;
    case RUN_ITERATE: /* iterator, state and control variable stand before A */
        *first = a - 3;
        *last = a + (b >= 2 ? b - 2 : 0);
        break;
    case RUN_RETURN: /* D - 1 values from A on */
        *last = d >= 2 ? a + d - 2 : a;
        return d >= 1;
    case RUN_OPEN_RETURN:
        *last = d >= 1 ? a + d - 1 : a;
        break;
    case RUN_VARARG:
        *last = a + (b >= 2 ? b - 2 : 0);
        break;
    case RUN_LOOP: /* index, limit, step, and the copy of the index that the body sees */
        *last = a + 3;
        break;
    }
    return true;
}

static const char *check_instruction(const struct bytecode *function, size_t pc)
{
    const struct instruction *instruction = &function->instructions[pc];
    const struct format *format = &formats[instruction->op];
    if (!format->a && !format->d)
        return NULL;
    if (!operand_is_valid(function, pc, format->a, instruction->a) ||
        !operand_is_valid(function, pc, format->b, instruction->b) ||
        !operand_is_valid(function, pc, format->c, instruction->c) ||
        !operand_is_valid(function, pc, format->d, instruction->d))
        return "an operand names a constant or slot that does not exist";
    int first, last;
    if (format->run &&
        (!slots_used(instruction, format->run, &first, &last) || first < 0 || last >= function->frame_size))
        return "an instruction uses slots outside its frame";
    if (instruction->op == BYTECODE_TSETM && !instruction->a)
        return "an instruction uses slots outside its frame"; /* its table is at A - 1 */
    if (pc + 1 == function->instruction_count && !format->terminator)
        return "it runs over its end";
    if (format->condition && function->instructions[pc + 1].op != BYTECODE_JMP)
        return "a comparison lacks its jump";
    return NULL;
}

bool bytecode_sets_a(enum bytecode_op op)
{
    return formats[op].a == RESULT;
}

const char *bytecode_check(const struct bytecode *function)
{
    if (!function->instruction_count)
        return "a function has no instructions";
    if (function->frame_size > MOST_SLOTS)
        return "a function has more slots than LuaJIT makes";
    if (function->parameters > function->frame_size)
        return "a function has more parameters than slots";
    for (size_t pc = 0; pc < function->instruction_count; pc++) {
        const char *wrong = check_instruction(function, pc);
        if (wrong)
            return wrong;
    }
    return NULL;
}
