/* f(x): Lua functions are inlined, uplua's own become operations, methods act on the event and on shared objects. */
#include <string.h>

#include "compile/front/build.h"
#include "compile/infer/ctype.h"
#include "compile/ir/fold.h"

/* The values that FRAME's returns agree on, by phis where they differ, in *RESULTS; WANTED as in build_call. */
static void join_results(struct build *build, const struct frame *frame, int wanted, const struct position *position,
                         struct value ***results, size_t *count)
{
    *count = wanted >= 0 ? (size_t)wanted : frame->results[0].count;
    for (size_t i = 0; i < frame->result_count && wanted < 0; i++)
        if (frame->results[i].count != *count)
            build_fail(build, "the function returns now %zu, now %zu values: in a handler their number is fixed here",
                       *count, frame->results[i].count);
    *results = arena_allocate(build->arena, (*count + 1) * sizeof **results);
    for (size_t i = 0; i < *count; i++) {
        struct value *first = NULL;
        bool same = true;
        for (size_t j = 0; j < frame->result_count; j++) {
            const struct result *result = &frame->results[j];
            struct value *value = i < result->count ? ir_value(result->values[i]) : ir_nil(build->function);
            same &= !first || value == first;
            first = first ? first : value;
        }
        if (!same) {
            struct value *phi = ir_phi(build->function, build->block, position);
            for (size_t j = 0; j < frame->result_count; j++)
                phi->args[j] =
                    i < frame->results[j].count ? ir_value(frame->results[j].values[i]) : ir_nil(build->function);
            first = phi;
        }
        (*results)[i] = first;
    }
}

static void inline_function(struct build *build, int function, struct value **args, size_t arg_count, int wanted,
                            struct value ***results, size_t *count)
{
    struct error err = {0};
    struct frame *caller = build->frame, *frame = build_new_frame(build, function, caller, &err);
    if (!frame)
        build_fail(build, "%s", err.text);
    const struct bytecode *bytecode = frame->bytecode;
    int depth = 0;
    for (const struct frame *outer = caller; outer; outer = outer->caller, depth++)
        if (outer->function == function)
            build_fail(build, "functions that call themselves cannot run in a handler (line %d)", bytecode->first_line);
    if (depth >= MAX_INLINE_DEPTH)
        build_fail(build, "calls in a handler are nested more than %d deep", MAX_INLINE_DEPTH);

    /* The function cannot touch its caller's slots: behind the call they are what they were. */
    frame->continuation = build_new_block(build);
    frame->continuation->inherits = build->block;
    build->frame = frame;
    struct block *body = build_new_block(build);
    for (unsigned i = 0; i < bytecode->parameters; i++)
        body->slots[i] = i < arg_count ? args[i] : ir_nil(build->function);
    build_jump_to(build, body);

    uint32_t pc = build->pc;
    const struct loop *loop = build->loop;
    const struct position *position = build->position;
    build_continue(build, body);
    build_frame(build);
    build->frame = caller;
    build->pc = pc;
    build->loop = loop;
    build->position = position;
    *count = 0;
    if (!frame->result_count) { /* it ends the handler on every path */
        build->block = NULL;
        return;
    }
    build_continue(build, frame->continuation);
    join_results(build, frame, wanted, position, results, count);
}

/* "i32" → -32, "u8" → 8; 0 for other names. */
static int64_t integer_type(const char *name)
{
    static const struct {
        const char *name;
        int64_t bits;
    } types[] = {
        {"i8", -8}, {"i16", -16}, {"i32", -32}, {"i64", -64}, {"u8", 8}, {"u16", 16}, {"u32", 32}, {"u64", 64},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, name))
            return types[i].bits;
    return 0;
}

static struct value *arithmetic(struct build *build, enum ir_op op, int64_t number, struct value *a, struct value *b)
{
    struct value *value = fold_arithmetic(build->function, op, number, a, b, build->position);
    if (value)
        return value;
    value = build_value(build, op, (struct value *[]){a, b}, b ? 2 : 1);
    value->number = number;
    return value;
}

/* bit.rol(x, n), bit.ror(x, n): shifts take n modulo 64. */
static struct value *rotate(struct build *build, const char *name, struct value **args, size_t count)
{
    if (count < 2)
        build_fail(build, "bit.%s needs two operands", name);
    struct value *back = arithmetic(build, IR_NEG, 0, args[1], NULL);
    bool left = name[2] == 'l';
    return arithmetic(build, IR_OR, 0, arithmetic(build, IR_SHL, 0, args[0], left ? args[1] : back),
                      arithmetic(build, IR_SHR, 0, args[0], left ? back : args[1]));
}

/* Swaps neighbours of 8, then 16, then 32 bits. */
static struct value *swap_bytes(struct build *build, struct value *x)
{
    if (x->op == IR_CONSTANT && x->constant.kind == CAPTURED_NUMBER)
        build_fail(build, "bit.bswap of a Lua number swaps 4 bytes in Lua, and 8 in a handler: write up.i64(x)");
    static const uint64_t masks[] = {0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0x00000000ffffffff};
    for (int i = 0; i < 3; i++) {
        struct value *width = ir_number(build->function, 8 << i);
        struct value *mask = ir_constant(build->function, &(struct captured){.kind = CAPTURED_I64, .u64 = masks[i]});
        struct value *high = arithmetic(build, IR_AND, 0, arithmetic(build, IR_SHR, 0, x, width), mask);
        struct value *low = arithmetic(build, IR_SHL, 0, arithmetic(build, IR_AND, 0, x, mask), width);
        x = arithmetic(build, IR_OR, 0, high, low);
    }
    return x;
}

static struct value *call_bit(struct build *build, const char *name, struct value **args, size_t count)
{
    static const struct {
        const char *name;
        enum ir_op op;
    } operations[] = {
        {"band", IR_AND},   {"bor", IR_OR},      {"bxor", IR_XOR},  {"lshift", IR_SHL},
        {"rshift", IR_SHR}, {"arshift", IR_SAR}, {"bnot", IR_BNOT},
    };
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        enum ir_op op = operations[i].op;
        if (strcmp(operations[i].name, name))
            continue;
        if (count < (op == IR_BNOT ? 1u : 2u))
            build_fail(build, "bit.%s needs %s", name, op == IR_BNOT ? "an operand" : "two operands");
        if (op == IR_BNOT)
            return arithmetic(build, op, 0, args[0], NULL);
        struct value *value = arithmetic(build, op, 0, args[0], args[1]);
        for (size_t j = 2; j < count && op <= IR_XOR; j++)
            value = arithmetic(build, op, 0, value, args[j]);
        return value;
    }
    if (!strcmp(name, "tobit") && count)
        return arithmetic(build, IR_CAST, -32, args[0], NULL);
    if (!strcmp(name, "rol") || !strcmp(name, "ror"))
        return rotate(build, name, args, count);
    if (!strcmp(name, "bswap") && count)
        return swap_bytes(build, args[0]);
    build_refuse_call(build, arena_format(build->arena, "bit.%s", name));
}

/* The SIZE of up.str(address, size): bytes of the buffer. */
static int64_t string_size(struct build *build, const char *name, const struct value *size)
{
    enum { DEFAULT_SIZE = 64 };
    if (!size)
        return DEFAULT_SIZE;
    int64_t bytes = fold_is_number(size) ? fold_integer(build->function, size, build->position) : 0;
    if (bytes < 1 || bytes > MAX_STRING)
        build_fail(build, "the size in up.%s(address, size) is a constant from 1 to %d bytes", name, MAX_STRING);
    return bytes;
}

static struct value *call_str(struct build *build, const char *name, struct value **args, size_t count)
{
    if (!count || count > 2)
        build_fail(build, "up.%s takes an address and perhaps a size: up.%s(e.arg0, 256)", name, name);
    int64_t size = string_size(build, name, count > 1 ? args[1] : NULL);
    struct value *value = build_value(build, IR_STRING, args, 1);
    value->number = *name == 'k' ? -size : size;
    return value;
}

/* How many bytes up.buf(address, size, most) keeps: MOST, else the SIZE if that is a constant, else 64. */
static int64_t buffer_size(struct build *build, const char *name, struct value **args, size_t count)
{
    enum { DEFAULT_SIZE = 64 };
    int64_t size = fold_is_number(args[1]) ? fold_integer(build->function, args[1], build->position) : DEFAULT_SIZE;
    bool is_unsigned = args[1]->op == IR_CONSTANT && args[1]->constant.kind == CAPTURED_U64;
    if (size < 0 && !is_unsigned)
        build_fail(build, "up.%s(address, size): a size is not negative", name);
    if (count < 3)
        return size >= 1 && size <= MAX_BUFFER ? size : DEFAULT_SIZE;
    int64_t most = fold_is_number(args[2]) ? fold_integer(build->function, args[2], build->position) : 0;
    if (most < 1 || most > MAX_BUFFER)
        build_fail(build, "up.%s(address, size, most): the most bytes to keep are a constant from 1 to %d", name,
                   MAX_BUFFER);
    return most;
}

static struct value *call_buf(struct build *build, const char *name, struct value **args, size_t count)
{
    if (count < 2 || count > 3)
        build_fail(build,
                   "up.%s takes an address, a size and perhaps the most bytes to keep: up.%s(e.arg0, e.arg1, 256)",
                   name, name);
    int64_t most = buffer_size(build, name, args, count);
    struct value *value = build_value(build, IR_BUFFER, args, 2);
    value->number = *name == 'k' ? -most : most;
    return value;
}

static bool is_constant_string(const struct value *value)
{
    return value->op == IR_CONSTANT && value->constant.kind == CAPTURED_STRING;
}

static struct value *call_starts(struct build *build, struct value **args, size_t count)
{
    if (count != 2)
        build_fail(build, "s:starts(prefix) takes one argument, a string");
    const struct captured *text = &args[0]->constant, *prefix = &args[1]->constant;
    if (!is_constant_string(args[0]) || !is_constant_string(args[1]))
        return build_value(build, IR_STARTS, args, 2);
    return ir_boolean(build->function, text->string.length >= prefix->string.length &&
                                           !memcmp(text->string.bytes, prefix->string.bytes, prefix->string.length));
}

/* The constant number that ARG, where to begin, is; 1 for nil. */
static int64_t find_start(struct build *build, const struct value *arg)
{
    if (arg == ir_nil(build->function))
        return 1;
    if (arg->op == IR_CONSTANT && arg->constant.kind == CAPTURED_BOOLEAN)
        build_fail(build, "s:find(text, init, plain): the second argument is where Lua begins to look; write "
                          "s:find(\"text\", 1, true)");
    int64_t start = fold_is_number(arg) ? fold_integer(build->function, arg, build->position) : 0;
    if (start < 1 || start > MAX_STRING)
        build_fail(build, "s:find(text, init) begins at a constant place from 1 to %d", MAX_STRING);
    return start;
}

/* What s:find(text, init, plain) is to look for, and where it begins. */
static const struct captured *find_text(struct build *build, struct value **args, size_t count, int64_t *start)
{
    if (count < 2 || count > 4)
        build_fail(build,
                   "s:find(text) takes a constant string, and perhaps where to begin: s:find(\"text\", 1, true)");
    if (!is_constant_string(args[1]))
        build_fail(build, "s:find(text): the text is a constant in a handler; do the rest in user space, in the ring's "
                          "callback");
    const struct captured *text = &args[1]->constant;
    *start = count > 2 ? find_start(build, args[2]) : 1;
    int plain = count > 3 ? fold_truth(args[3]) : 0;
    if (plain < 0)
        build_fail(build, "s:find(text, init, plain): plain is true or false when the handler is compiled");
    for (size_t i = 0; i < text->string.length && !plain; i++)
        if (strchr("^$*+?.([%-", text->string.bytes[i]))
            build_fail(
                build,
                "s:find(text): '%c' has a meaning in Lua's patterns, which a handler does not know; for the text "
                "as it stands write s:find(text, 1, true)",
                text->string.bytes[i]);
    if (!text->string.length)
        build_fail(build, "s:find(\"\") finds nothing where it begins: look for some text");
    return text;
}

static void call_find(struct build *build, struct value **args, size_t count, struct value **results)
{
    int64_t start;
    const struct captured *text = find_text(build, args, count, &start);
    size_t length = text->string.length;
    if (is_constant_string(args[0])) {
        size_t size = args[0]->constant.string.length, skipped = (size_t)start - 1;
        const char *bytes = args[0]->constant.string.bytes;
        const char *found = skipped > size ? NULL : memmem(bytes + skipped, size - skipped, text->string.bytes, length);
        results[0] = found ? ir_number(build->function, (double)(found - bytes + 1)) : ir_nil(build->function);
        results[1] = found ? ir_number(build->function, (double)(found - bytes + (ptrdiff_t)length)) : results[0];
        return;
    }
    results[0] = build_value(build, IR_FIND, args, 2);
    results[0]->number = start;
    results[1] = build_value(build, IR_FIND_END, results, 1);
    results[1]->number = (int64_t)length - 1;
}

/* up.cast("struct request *", address), and up.kcast of an address of the kernel's */
static struct value *call_cast(struct build *build, const char *name, struct value **args, size_t count)
{
    bool kernel = *name == 'k' || handler_reads_kernel(build->function->handler);
    const struct ctype *type = NULL;
    const struct captured *constant = count == 2 && args[0]->op == IR_CONSTANT ? &args[0]->constant : NULL;
    if (constant && constant->kind == CAPTURED_STRING)
        type = ctype_parse(build->compiler, build->position, constant->string.bytes, kernel);
    else if (constant && constant->kind == CAPTURED_CTYPE)
        type = ctype_of(build->compiler, constant->handle);
    else
        build_fail(build,
                   "up.%s takes a C type that is known when the handler is compiled and an address: "
                   "up.%s(\"struct request *\", e.arg0)",
                   name, name);
    if (type->kind == CTYPE_INTEGER)
        return arithmetic(build, IR_CAST, type->bits, args[1], NULL);
    if (type->kind != CTYPE_POINTER)
        build_fail(build,
                   "up.%s makes pointers and integers, no '%s': write up.%s(\"%s *\", address) for one in memory", name,
                   type->name, name, type->name);
    struct value *value = build_value(build, IR_POINTER, &args[1], 1);
    value->type = (struct type){.kind = TYPE_POINTER, .optional = true, .ctype = type, .kernel = kernel};
    return value;
}

static struct value *event_value(struct build *build, const struct event_field *field)
{
    struct value *value = build_value(build, IR_EVENT_FIELD, NULL, 0);
    value->event = field;
    value->type = field->type;
    return value;
}

/*
 * up.sym(address): a record of the address, and of whose it is. The kernel's addresses are the same in all processes:
 * zeros. So equal addresses are equal keys; the script side makes one of all addresses of a function
 * (lua/uplua/stack/symbol.lua), since each file's symbol table would be needed here.
 */
static struct value *call_sym(struct build *build, struct value **args, size_t count)
{
    static const struct event_field fields[] = {
        {.name = "pid", .type = {.kind = TYPE_I64, .bits = 32}, .source = EVENT_PID},
        {.name = "program", .type = {.kind = TYPE_U64}, .source = EVENT_PROGRAM},
    };
    if (count != 1)
        build_fail(build, "up.sym takes an address, such as e.caller: n[up.sym(e.caller)]:inc()");
    const struct value *given = ir_value(args[0]);
    const struct event_field *field = given->event;
    if ((field && field->type.kind == TYPE_STRING) || given->op == IR_STRING ||
        (given->op == IR_CONSTANT && given->constant.kind == CAPTURED_STRING))
        build_fail(build, "up.sym takes an address, such as e.caller, not a string: n[up.sym(e.caller)]:inc()");
    struct value *address = arithmetic(build, IR_CAST, 64, args[0], NULL);
    if (field && field->source == EVENT_CALLER) /* what stands behind the call may be another function */
        address = arithmetic(build, IR_SUB, 0, address, ir_number(build->function, 1));
    struct value *half = arithmetic(build, IR_SAR, 0, address, ir_number(build->function, 63));
    struct value *of_process = arithmetic(build, IR_BNOT, 0, half, NULL); /* all ones, or zeros for the kernel's */
    struct value *symbol = build_record(build);
    symbol->type.record->symbol = true;
    for (size_t i = 0; i <= sizeof fields / sizeof *fields; i++) {
        struct captured name = {.kind = CAPTURED_STRING};
        name.string.bytes = i ? fields[i - 1].name : "address";
        name.string.length = strlen(name.string.bytes);
        struct value *value =
            i ? arithmetic(build, IR_AND, 0, event_value(build, &fields[i - 1]), of_process) : address;
        build_assign(build, symbol, ir_constant(build->function, &name), value, NULL);
    }
    return symbol;
}

/* ARGS[0][ARGS[1]], a number of a table of the script, where the key is a text that is constant on each way that leads
 * here: a constant, or a phi of them. Texts that are none of its keys are the caller's mistake: ARGS[2] is what it
 * chooses, and ARGS[3] says which there are. */
static struct value *choose(struct build *build, struct value *const *args)
{
    struct value *key = ir_value(args[1]);
    const char *what = args[2]->constant.string.bytes;
    const struct position *caller = build->frame->called_from ? build->frame->called_from : build->position;
    if (key->op == IR_PHI && !key->block->is_header) {
        struct value **chosen = arena_allocate(build->arena, (key->arg_count + 1) * sizeof *chosen);
        for (size_t i = 0; i < key->arg_count; i++)
            chosen[i] = choose(build, (struct value *[]){args[0], key->args[i], args[2], args[3]});
        struct value *phi = ir_phi(build->function, key->block, build->position);
        memcpy(phi->args, chosen, key->arg_count * sizeof *chosen);
        return phi;
    }
    if (!is_constant_string(key))
        compile_fail(build->compiler, caller,
                     "a %s is known when the handler is compiled: write its name there, or a choice of names", what);
    struct host *host = &build->compiler->host;
    struct captured captured = host->field(host->context, args[0]->constant.handle, &key->constant);
    if (captured.kind != CAPTURED_NUMBER)
        compile_fail(build->compiler, caller, "there is no %s '%s'; there are %s", what, key->constant.string.bytes,
                     args[3]->constant.string.bytes);
    return ir_constant(build->function, &captured);
}

/* The operation OP on the map ARGS[0] with the key ARGS[1] and whatever else, COUNT values in all. */
static struct value *of_map(struct build *build, enum ir_op op, struct value **args, size_t count)
{
    struct value *value = build_value(build, op, args + 1, count);
    value->object = (unsigned)args[0]->constant.handle;
    return value;
}

static struct value *call_builtin(struct build *build, const char *name, struct value **args, size_t count)
{
    int64_t bits = integer_type(name);
    bool reads = !strncmp(name, "read_", 5) && integer_type(name + 5);
    if (bits || reads) {
        if (!count)
            build_fail(build, "up.%s needs %s", name, reads ? "an address" : "a value");
        if (bits)
            return arithmetic(build, IR_CAST, bits, args[0], NULL);
        struct value *value = build_value(build, IR_READ, args, 1);
        value->number = integer_type(name + 5);
        return value;
    }
    if (!strcmp(name, "cast") || !strcmp(name, "kcast"))
        return call_cast(build, name, args, count);
    if (!strncmp(name, "bit.", 4))
        return call_bit(build, name + 4, args, count);
    if (!strcmp(name, "printf")) {
        build_printf(build, args, count);
        return ir_nil(build->function);
    }
    if (!strcmp(name, "exit")) {
        build_exit(build, args, count);
        return ir_nil(build->function);
    }
    if (!strcmp(name, "str") || !strcmp(name, "kstr"))
        return call_str(build, name, args, count);
    if (!strcmp(name, "sym"))
        return call_sym(build, args, count);
    if (!strcmp(name, "buf") || !strcmp(name, "kbuf"))
        return call_buf(build, name, args, count);
    if (!strcmp(name, "starts"))
        return call_starts(build, args, count);
    if (!strcmp(name, "copy") && count)
        return build_value(build, IR_COPY, args, 1);
    if (!strcmp(name, "event"))
        return build->function->event;
    if (!strcmp(name, "choose"))
        return choose(build, args);
    if (!strcmp(name, "stop")) {
        build_value(build, IR_STOP, NULL, 0);
        return ir_nil(build->function);
    }
    if (!strcmp(name, "remove"))
        return of_map(build, IR_MAP_DELETE, args, 1);
    if (!strcmp(name, "fetch_add"))
        return of_map(build, IR_MAP_FETCH_ADD, args, 2);
    build_refuse_call(build, arena_format(build->arena, "up.%s", name));
}

static void expect_arguments(struct build *build, const char *what, size_t count, size_t expected)
{
    if (count != expected)
        build_fail(build, "%s takes %zu argument%s, not %zu", what, expected, expected == 1 ? "" : "s", count);
}

static struct value *call_aggregate(struct build *build, struct value *receiver, const char *name, struct value **args,
                                    size_t count)
{
    bool keyed = receiver->op == IR_CELL;
    unsigned number = keyed ? receiver->object : (unsigned)receiver->constant.handle;
    struct shared *object = build->compiler->objects[number];
    bool increments = !strcmp(name, "inc");
    if (increments && object->kind != OBJECT_COUNT && object->kind != OBJECT_SUM)
        build_fail(build, "it takes values: :add(value)");
    expect_arguments(build, increments ? ":inc()" : ":add(value)", count, increments ? 0 : 1);
    struct value *delta = increments ? ir_number(build->function, 1) : args[0];
    struct value *value = build_value(
        build, IR_AGGREGATE, (struct value *[]){delta, keyed ? ir_value(receiver->args[0]) : NULL}, keyed ? 2 : 1);
    value->object = number;
    return ir_nil(build->function);
}

/* e:ustack(), e:kstack(), and e:stack(): both as one. */
static struct value *call_stack(struct build *build, const char *name, struct value **args, size_t count)
{
    bool joined = !strcmp(name, "stack");
    if (joined && count)
        build_fail(build, "e:stack() is whole and takes no depth; a tuple of parts does: { e:ustack(8), e:kstack(8) }");
    if (count && !fold_is_number(args[0]))
        build_fail(build, "the depth of e:%s(depth) is a constant", name);
    char part = build->function->options->stacks; /* of --user and --kernel */
    if (joined && part) {
        name = part == 'k' ? "kstack" : "ustack";
        joined = false;
    }
    struct value *stack = build_value(build, *name == 'k' ? IR_KSTACK : IR_USTACK, NULL, 0);
    stack->number = count ? fold_integer(build->function, args[0], build->position) : 0;
    /* Where the context is the user's, the kernel has nothing above it. */
    if (!joined || build->function->handler->provider->registers == REGISTERS_USER)
        return stack;
    struct value *kernel = build_value(build, IR_KSTACK, NULL, 0);
    return build_value(build, IR_STACK, (struct value *[]){kernel, stack}, 2);
}

static struct value *call_method(struct build *build, struct value *callee, struct value **args, size_t count)
{
    struct value *receiver = ir_value(callee->args[0]);
    const char *name = callee->name;
    if (!count || args[0] != receiver)
        build_fail(build, "call it with a colon: object:%s(…)", name);
    args++;
    count--;
    if (receiver == build->function->event)
        return call_stack(build, name, args, count);
    if (receiver->op == IR_CELL)
        return call_aggregate(build, receiver, name, args, count);
    unsigned number = (unsigned)receiver->constant.handle;
    struct shared *object = build->compiler->objects[number];
    struct value *value;
    switch (object->kind) {
    case OBJECT_VAR:
        expect_arguments(build, name, count, strcmp(name, "get") ? 1 : 0);
        value = build_value(build,
                            !strcmp(name, "get")   ? IR_VAR_GET
                            : !strcmp(name, "set") ? IR_VAR_SET
                                                   : IR_VAR_ADD,
                            args, count);
        break;
    case OBJECT_RING:
    case OBJECT_RECORDER:
        expect_arguments(build, "emit", count, 1);
        value = build_value(build, IR_EMIT, args, 1);
        break;
    default:
        return call_aggregate(build, receiver, name, args, count);
    }
    value->object = number;
    return value;
}

/* Refuses the call of CALLEE where that looks like a method of a shared object, which took the name for a key. */
static void refuse_member(struct build *build, const struct value *callee)
{
    if ((callee->op != IR_CELL && callee->op != IR_MAP_GET) || !is_constant_string(ir_value(callee->args[0])))
        return;
    const char *name = ir_value(callee->args[0])->constant.string.bytes;
    enum object_kind kind = build->compiler->objects[callee->object]->kind;
    if (callee->op == IR_MAP_GET)
        build_fail(build, "a map has no :%s() in a handler: m[key] reads it, m[key] = value writes it", name);
    build_fail(build, "%s has no :%s(); a handler adds to it by %s",
               kind == OBJECT_COUNT ? "a count" : "this aggregation", name,
               kind == OBJECT_COUNT || kind == OBJECT_SUM ? ":inc() and :add(value)" : ":add(value)");
}

/* s:starts(prefix), s:find(text): what looked like a field of S is a method, since no field holds a function. Returns
 * the number of results. */
static size_t call_string_method(struct build *build, struct value *callee, struct value **args, size_t count,
                                 struct value **results)
{
    bool finds = !strcmp(callee->name, "find");
    if (!finds && strcmp(callee->name, "starts"))
        build_refuse_method(build, callee->name, args, count);
    if (callee->block)
        ir_remove(callee);
    callee->op = IR_METHOD;
    callee->type.kind = TYPE_STATIC;
    if (finds)
        call_find(build, args, count, results);
    else
        results[0] = call_starts(build, args, count);
    return finds ? 2 : 1;
}

void build_call(struct build *build, struct value *callee, struct value **args, size_t arg_count, int wanted,
                const char *name, struct value ***results, size_t *count)
{
    const struct captured *constant = &callee->constant;
    if (callee->op == IR_CONSTANT && constant->kind == CAPTURED_FUNCTION) {
        inline_function(build, constant->handle, args, arg_count, wanted, results, count);
        return;
    }
    *results = arena_allocate(build->arena, 2 * sizeof **results);
    *count = 1;
    if (callee->op == IR_CONSTANT && constant->kind == CAPTURED_BUILTIN)
        (*results)[0] = call_builtin(build, constant->string.bytes, args, arg_count);
    else if ((callee->op == IR_GET_FIELD || callee->op == IR_METHOD) && callee->name && arg_count &&
             args[0] == ir_value(callee->args[0]) && (callee->op == IR_GET_FIELD || is_constant_string(args[0])))
        *count = call_string_method(build, callee, args, arg_count, *results);
    else if (callee->op == IR_METHOD)
        (*results)[0] = call_method(build, callee, args, arg_count);
    else if (callee->op == IR_CONSTANT && constant->kind == CAPTURED_NIL)
        build_fail(build, "'%s' is nil when the handler is compiled: there is no such function", name ? name : "?");
    else if (callee->op == IR_CONSTANT && constant->kind == CAPTURED_OTHER)
        build_refuse_call(build, constant->string.bytes);
    else {
        refuse_member(build, callee);
        build_fail(build, "a handler calls Lua functions that are known when it is compiled; '%s' is none",
                   name ? name : "this");
    }
}
