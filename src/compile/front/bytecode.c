/*
 * Reader of LuaJIT's bytecode dumps, version 2. What is trusted: nothing. Every count is held against the bytes that
 * are left before memory is taken for it, so that a damaged dump costs no more than a few times its own size.
 */
#include "compile/front/bytecode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/front/bytecode_verify.h"
#include "compile/front/dump.h"

enum {
    DUMP_VERSION = 2,
    DUMP_BIG_ENDIAN = 1,
    DUMP_STRIPPED = 2,
    DUMP_FFI = 4,
    DUMP_TWO_SLOT_FRAMES = 8,
    DUMP_BIT_OPERATORS = 16,

    PROTOTYPE_VARARG = 2,

    UPVALUE_LOCAL = 0x8000,
    UPVALUE_IMMUTABLE = 0x4000,
};

/* bytecode_decode returns the outermost function's BYTECODE, the first member of this. */
struct owner {
    struct bytecode bytecode;
    struct dump_block *blocks;
};

static void read_instructions(struct dump *dump, struct bytecode *function)
{
    for (size_t i = 0; i < function->instruction_count && !dump->code; i++) {
        struct instruction *instruction = &function->instructions[i];
        uint32_t word = dump_number(dump, 4);
        if ((word & 0xff) >= BYTECODE_COUNT)
            dump_fail(dump, -EBADMSG, "it has an unknown instruction");
        instruction->op = (enum bytecode_op)(word & 0xff);
        instruction->a = (uint8_t)(word >> 8);
        instruction->c = (uint8_t)(word >> 16);
        instruction->b = (uint8_t)(word >> 24);
        instruction->d = (uint16_t)(word >> 16);
    }
}

static void read_lines(struct dump *dump, struct bytecode *function)
{
    for (size_t i = 0; i < function->instruction_count && !dump->code; i++) {
        int lines = function->line_count;
        uint32_t line = dump_number(dump, lines < 1 << 8 ? 1 : lines < 1 << 16 ? 2 : 4);
        if (line > (uint32_t)lines)
            dump_fail(dump, -EBADMSG, "a line number is outside the function");
        function->instructions[i].line = function->first_line + (int)line;
    }
}

/*
 * Names of locals come in the order of their starts, each start relative to the one before. Slots are not stored: a
 * variable's slot is the number of those that are alive where it begins. Positions count the FUNC header as 0.
 */
static void read_variables(struct dump *dump, struct bytecode *function)
{
    static const char *const internal[] = {
        "", "(for index)", "(for limit)", "(for step)", "(for generator)", "(for state)", "(for control)"};
    /* name, start, length */
    function->variables = dump_allocate(dump, dump_left(dump) / 3, sizeof *function->variables);
    uint32_t alive[MOST_SLOTS]; /* the end of each live variable, by slot */
    size_t alive_count = 0;
    uint32_t start = 0;
    while (!dump->code) {
        struct local_variable variable = {0};
        size_t kind = dump_left(dump) ? *dump->at : 0;
        if (kind < sizeof internal / sizeof *internal) {
            dump_byte(dump);
            if (kind == 0)
                return;
            variable.name = internal[kind];
        } else {
            variable.name = dump_name(dump);
        }
        uint32_t delta = dump_uleb(dump), length = dump_uleb(dump);
        uint32_t limit = (uint32_t)function->instruction_count + 1;
        if (delta > limit - start || length > limit - start - delta) {
            dump_fail(dump, -EBADMSG, "a local variable ends after its function");
            return;
        }
        start += delta;
        variable.start = start ? start - 1 : 0;
        variable.end = start + length ? start + length - 1 : 0;
        while (alive_count && alive[alive_count - 1] <= start)
            alive_count--;
        if (alive_count >= MOST_SLOTS) {
            dump_fail(dump, -EBADMSG, "it has too many local variables");
            return;
        }
        variable.slot = (uint8_t)alive_count;
        alive[alive_count++] = start + length;
        if (!dump->code)
            function->variables[function->variable_count++] = variable;
    }
}

/* The debug part, of which the caller has made the dump's whole rest. */
static void read_debug(struct dump *dump, struct bytecode *function)
{
    read_lines(dump, function);
    for (size_t i = 0; i < function->upvalue_count && !dump->code; i++)
        function->upvalues[i].name = dump_name(dump);
    read_variables(dump, function);
    if (!dump->code && dump_left(dump))
        dump_fail(dump, -EBADMSG, "its names have bytes left over");
}

static void read_function(struct dump *dump, struct bytecode *function)
{
    function->file = dump->file;
    function->vararg = dump_byte(dump) & PROTOTYPE_VARARG;
    function->parameters = dump_byte(dump);
    function->frame_size = dump_byte(dump);
    function->upvalue_count = dump_byte(dump);
    function->constant_count = dump_count(dump, 1);
    function->number_count = dump_count(dump, 1);
    function->instruction_count = dump_count(dump, 4);
    size_t debug_size = dump_count(dump, 1);
    if (!dump->code && !debug_size)
        dump_fail(dump, -ENODATA, NULL);
    uint32_t first_line = dump_uleb(dump), line_count = dump_uleb(dump);
    if (first_line > INT32_MAX / 2 || line_count > INT32_MAX / 2)
        dump_fail(dump, -EBADMSG, "a line number is too large");
    function->first_line = (int)first_line;
    function->line_count = (int)line_count;

    function->instructions = dump_allocate(dump, function->instruction_count, sizeof *function->instructions);
    function->upvalues = dump_allocate(dump, function->upvalue_count, sizeof *function->upvalues);
    function->constants = dump_allocate(dump, function->constant_count, sizeof *function->constants);
    function->numbers = dump_allocate(dump, function->number_count, sizeof *function->numbers);
    read_instructions(dump, function);
    for (size_t i = 0; i < function->upvalue_count && !dump->code; i++) {
        uint32_t word = dump_number(dump, 2);
        function->upvalues[i].local = word & UPVALUE_LOCAL;
        function->upvalues[i].immutable = word & UPVALUE_IMMUTABLE;
    }
    for (size_t i = function->constant_count; i-- && !dump->code;) /* the last is dumped first */
        dump_gc_constant(dump, &function->constants[i]);
    for (size_t i = 0; i < function->number_count && !dump->code; i++)
        dump_number_constant(dump, &function->numbers[i]);
    if (!dump->code && dump_left(dump) != debug_size)
        dump_fail(dump, -EBADMSG, "a function's size does not fit its parts");
    read_debug(dump, function);
    if (!dump->code) {
        const char *wrong = bytecode_check(function);
        if (wrong)
            dump_fail(dump, -EBADMSG, wrong);
    }
}

/* A function that is read waits for the parent that follows it. */
static void push_waiting(struct dump *dump, struct bytecode *function)
{
    if (dump->waiting_count == dump->waiting_size) {
        size_t size = dump->waiting_size ? 2 * dump->waiting_size : 16;
        struct bytecode **grown = realloc(dump->waiting, size * sizeof *grown);
        if (!grown) {
            dump_fail(dump, -ENOMEM, "out of memory");
            return;
        }
        dump->waiting = grown;
        dump->waiting_size = size;
    }
    dump->waiting[dump->waiting_count++] = function;
}

static void read_functions(struct dump *dump)
{
    const uint8_t *end = dump->end;
    size_t size;
    while (!dump->code && (size = dump_count(dump, 1)) > 0) {
        struct bytecode *function = dump_allocate(dump, 1, sizeof *function);
        if (!function)
            return;
        dump->end = dump->at + size;
        read_function(dump, function);
        dump->end = end;
        push_waiting(dump, function);
    }
    if (!dump->code && (dump_left(dump) || dump->waiting_count != 1))
        dump_fail(dump, -EBADMSG, "it does not end in one outermost function");
}

static int refuse_stripped(struct error *err)
{
    return error_set(err, -ENODATA,
                     "cannot compile the function: it has no line numbers and names (a stripped chunk); "
                     "load it from source");
}

/* What CHUNK, as given to lua_load, is called in messages (lj_debug.c, lj_debug_shortname): of a text its first
 * line. */
static const char *file_name(struct dump *dump, const char *chunk)
{
    enum { MAX_WHOLE = 48, MAX_CUT = 45 };
    if (!chunk || *chunk == '@' || *chunk == '=')
        return chunk ? chunk + 1 : "?";
    size_t length = 0, size = MAX_WHOLE + sizeof "[string \"...\"]";
    while ((unsigned char)chunk[length] >= ' ' && length < MAX_WHOLE)
        length++;
    if (chunk[length] && length > MAX_CUT)
        length = MAX_CUT;
    char *name = dump_allocate(dump, size, 1);
    if (name)
        snprintf(name, size, "[string \"%.*s%s\"]", (int)length, chunk, chunk[length] ? "..." : "");
    return name;
}

static int read_header(struct dump *dump, struct error *err)
{
    const uint8_t *magic = dump_take(dump, 3);
    if (!magic || memcmp(magic, "\x1bLJ", 3))
        return error_set(err, -EBADMSG, "cannot compile the function: its dump is not LuaJIT bytecode");
    unsigned version = dump_byte(dump);
    if (version != DUMP_VERSION)
        return error_set(err, -ENOTSUP,
                         "cannot compile the function: its dump has format version %u, uplua knows %d "
                         "(LuaJIT 2.1); build uplua with the LuaJIT it runs with",
                         version, DUMP_VERSION);
    uint32_t flags = dump_uleb(dump);
    if ((__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != !!(flags & DUMP_BIG_ENDIAN))
        return error_set(err, -ENOTSUP,
                         "cannot compile the function: its dump comes from a machine of the other byte order");
    if (flags & DUMP_STRIPPED)
        return refuse_stripped(err);
    if (!(flags & DUMP_TWO_SLOT_FRAMES))
        return error_set(err, -ENOTSUP,
                         "cannot compile the function: its LuaJIT was built without LJ_GC64, whose frames "
                         "differ; use one with it (the default since 2.1)");
    if (flags & ~(uint32_t)(DUMP_BIG_ENDIAN | DUMP_FFI | DUMP_TWO_SLOT_FRAMES | DUMP_BIT_OPERATORS))
        return error_set(err, -ENOTSUP, "cannot compile the function: its dump has unknown flags %#x", flags);
    struct constant name = {0};
    dump_string(dump, dump_uleb(dump), &name);
    dump->file = file_name(dump, name.string.bytes);
    return 0;
}

int bytecode_decode(const void *bytes, size_t size, struct bytecode **result, struct error *err)
{
    *result = NULL;
    struct owner *owner = calloc(1, sizeof *owner);
    if (!owner)
        return error_set(err, -ENOMEM, "cannot compile the function: out of memory");
    struct dump dump = {.at = bytes, .end = (const uint8_t *)bytes + size};
    int code = read_header(&dump, err);
    if (!code) {
        read_functions(&dump);
        code = dump.code;
        if (code == -ENODATA)
            refuse_stripped(err);
        else if (code)
            error_set(err, code, "cannot compile the function: its bytecode cannot be read: %s", dump.what);
    }
    owner->blocks = dump.blocks;
    if (!code)
        owner->bytecode = *dump.waiting[0];
    free(dump.waiting);
    if (code)
        bytecode_free(&owner->bytecode);
    else
        *result = &owner->bytecode;
    return code;
}

void bytecode_free(struct bytecode *bytecode)
{
    struct owner *owner = (struct owner *)bytecode;
    if (owner)
        dump_free_blocks(owner->blocks);
    free(owner);
}

const char *bytecode_op_name(enum bytecode_op op)
{
    static const char *const names[] = {
#define OPCODE(name) [BYTECODE_##name] = #name,
#include "opcodes.h"
#undef OPCODE
    };
    return (unsigned)op < BYTECODE_COUNT ? names[op] : "?";
}

const char *bytecode_variable(const struct bytecode *bytecode, uint8_t slot, uint32_t pc)
{
    for (size_t i = 0; i < bytecode->variable_count; i++) {
        const struct local_variable *variable = &bytecode->variables[i];
        if (variable->start > pc)
            break;
        if (variable->slot == slot && pc < variable->end)
            return variable->name;
    }
    return NULL;
}
