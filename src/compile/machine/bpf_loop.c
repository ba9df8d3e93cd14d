/*
 * Loops for kernels without may_goto (before Linux 6.9): bpf_loop calls a function again and again. The handler becomes
 * that function, f(index, frame). It runs to the next jump back to a loop's header; there it notes the header's number
 * in `resume` and returns 0, and its next call goes on from that header. Leaving the handler returns 1. So any nest of
 * loops is one bpf_loop, and entering a loop costs nothing. Values that are live across a back edge are in the
 * program's frame, as if spilled: the records, strings and keys, and the values that are live at a header.
 *
 * What kernels before 6.7 verify of it: one call of the function, with the frame as it is at the first. So all must be
 * in that state that may ever be: otherwise the verifier takes branches for impossible, and removes them. Hence the
 * program first clears the frame by a helper that fails: zeros, in which the verifier sees any bytes. Later kernels
 * verify calls until nothing new comes up: so each call begins with a helper that might write to the frame, for all
 * that the verifier can tell, and it sees any bytes again. Pointers it must see as pointers:
 *
 *  - the context, and whatever else the program has before the handler begins, it stores itself;
 *  - where a reference into a map will be, it stores the result of looking up some key, which may be nil or not;
 *    where one that was found not to be nil (machine_copy behind the test), the address of other data;
 *  - the address of a piece of the frame is refused: which piece it is must be known.
 * Pointers have bytes of their own, at the frame's top, which the helpers leave alone.
 */
#include <string.h>

#include "compile/machine/machine.h"

struct resume {
    struct program *program;
    struct machine_block **headers; /* number I + 1 */
    size_t header_count;
    struct slot *number; /* of the header to go on from; 0: the handler's start */
    bool *in_body;       /* by block id */
    unsigned register_count;
    struct reg **registers;   /* by id */
    struct reg **outside;     /* by id: what stands in the function for a register that the program has set before */
    struct pointer *pointers; /* by register id */
};

/* The kind of a register's content, for the verifier. */
struct pointer {
    enum pointer_kind {
        POINTER_UNKNOWN, /* not looked at yet */
        POINTER_NONE,    /* a number */
        POINTER_MAYBE,   /* nil, or an entry of MAP */
        POINTER_SURE,    /* an entry of a map */
        POINTER_FRAME,   /* a place in the frame */
    } kind;
    const struct machine_instruction *lookup; /* POINTER_MAYBE: what found it */
};

/* --- the graph --- */

static void mark_body(struct resume *resume, struct machine_block *block)
{
    for (; !resume->in_body[block->id]; block = block->next[block->next_count - 1]) {
        resume->in_body[block->id] = true;
        if (!block->next_count)
            return;
        if (block->next_count == 2)
            mark_body(resume, block->next[0]);
    }
}

/* In the order of the blocks. */
static void find_headers(struct resume *resume)
{
    bool *is_header = arena_allocate(resume->program->arena, resume->program->block_count * sizeof *is_header);
    for (struct machine_block *block = resume->program->entry; block; block = block->following)
        if (block->leads_back)
            is_header[block->next[0]->id] = true;
    for (struct machine_block *block = resume->program->entry; block; block = block->following)
        if (is_header[block->id]) {
            resume->headers = arena_grow(resume->program->arena, resume->headers, resume->header_count, sizeof block);
            resume->headers[resume->header_count++] = block;
        }
}

static size_t header_number(const struct resume *resume, const struct machine_block *header)
{
    size_t i = 0;
    while (resume->headers[i] != header)
        i++;
    return i + 1;
}

/* --- what is kept --- */

static struct pointer pointer_of(const struct resume *resume, const struct operand *operand)
{
    switch (operand->kind) {
    case OPERAND_REGISTER:
        return resume->pointers[operand->reg->id];
    case OPERAND_FRAME:
        return (struct pointer){.kind = POINTER_FRAME};
    case OPERAND_DATA:
        return (struct pointer){.kind = POINTER_SURE};
    default:
        return (struct pointer){.kind = POINTER_NONE};
    }
}

static struct pointer either(struct pointer a, struct pointer b)
{
    if (a.kind == POINTER_UNKNOWN || b.kind == POINTER_FRAME)
        return b;
    if (a.kind == b.kind || b.kind == POINTER_UNKNOWN || a.kind == POINTER_FRAME)
        return a;
    struct pointer maybe = a.lookup ? a : b;
    maybe.kind = maybe.lookup ? POINTER_MAYBE : POINTER_NONE;
    return maybe;
}

static struct pointer result_of(const struct resume *resume, const struct machine_instruction *i)
{
    struct pointer result = {.kind = POINTER_NONE};
    switch (i->op) {
    case M_CALL:
        if (i->callee == CALL_HELPER && i->number == BPF_FUNC_map_lookup_elem)
            result = (struct pointer){POINTER_MAYBE, i};
        break;
    case M_COPY: /* behind a test */
    case M_ALU:
        result = pointer_of(resume, &i->a);
        if (result.kind == POINTER_MAYBE)
            result.kind = POINTER_SURE;
        break;
    case M_PHI:
        result.kind = POINTER_UNKNOWN;
        for (size_t n = 0; n < i->arg_count; n++)
            result = either(result, pointer_of(resume, &i->args[n]));
        break;
    case M_LOAD: /* where a piece of scratch memory is, is as fixed as in the frame */
        if (i->a.kind == OPERAND_FRAME && i->a.slot == resume->program->scratch_at)
            result.kind = POINTER_FRAME;
        break;
    default:
        break;
    }
    return result;
}

static void find_pointers(struct resume *resume)
{
    bool changed;
    do { /* phis of loops may name each other */
        changed = false;
        for (struct machine_block *block = resume->program->entry; block; block = block->following)
            for (struct machine_instruction *i = block->first; i; i = i->next) {
                if (!i->result)
                    continue;
                struct pointer result = result_of(resume, i);
                changed |= result.kind != resume->pointers[i->result->id].kind;
                resume->pointers[i->result->id] = result;
            }
    } while (changed);
}

static struct slot *keep(struct resume *resume, struct reg *reg)
{
    if (!reg->spilled)
        reg->spilled = program_slot(resume->program, 8);
    return reg->spilled;
}

/* REG is wanted where a round begins, and set by a round. */
static void keep_in_body(struct resume *resume, struct reg *reg)
{
    struct pointer pointer = resume->pointers[reg->id];
    if (pointer.kind == POINTER_FRAME)
        compile_fail(resume->program->compiler, reg->definition->position,
                     "which of several records this is cannot be kept over the rounds of a loop on kernels before "
                     "Linux 6.9; set the "
                     "fields of one record instead");
    keep(resume, reg)->pointer = pointer.kind == POINTER_MAYBE || pointer.kind == POINTER_SURE;
}

static void keep_live(struct resume *resume)
{
    for (size_t n = 0; n < resume->header_count; n++) {
        struct machine_block *header = resume->headers[n];
        for (struct machine_instruction *phi = header->first; phi && phi->op == M_PHI; phi = phi->next)
            keep_in_body(resume, phi->result);
        for (unsigned i = 0; i < resume->program->live_count; i++) {
            struct reg *reg = resume->program->live[i];
            if (header->live_in[i / 64] >> i % 64 & 1 && resume->in_body[reg->definition->block->id])
                keep_in_body(resume, reg);
        }
    }
}

/* What the program has set is read from where it will store it. */
static void use_kept(struct operand *operand, void *context)
{
    struct resume *resume = context;
    if (operand->kind != OPERAND_REGISTER || resume->in_body[operand->reg->definition->block->id])
        return;
    struct reg **outside = &resume->outside[operand->reg->id];
    if (!*outside) {
        *outside = arena_allocate(resume->program->arena, sizeof **outside);
        **outside = *operand->reg;
        keep(resume, *outside)->pointer = true;
    }
    operand->reg = *outside;
}

/* --- the two parts --- */

/* BLOCK, which led back to a header, ends the round. */
static void end_round(struct resume *resume, struct machine_block *block)
{
    struct program *program = resume->program;
    struct machine_block *header = block->next[0];
    size_t kept = 0;
    for (size_t i = 0; i < header->predecessor_count; i++)
        if (header->predecessors[i] != block)
            header->predecessors[kept++] = header->predecessors[i];
    header->predecessor_count = kept;
    machine_unlink(block->last);
    block->next_count = 0;
    block->resumes = header;
    program->block = block;
    machine_store(program, BPF_DW, operand_slot(resume->number, 0), 0,
                  operand_immediate((int64_t)header_number(resume, header)));
    machine_exit(program, 0);
}

/* Rounds end where they jumped back, and the handler's end is the last round's. */
static void end_rounds(struct resume *resume)
{
    for (struct machine_block *block = resume->program->entry; block; block = block->following) {
        if (!resume->in_body[block->id])
            continue;
        if (block->leads_back)
            end_round(resume, block);
        else if (block->last->op == M_EXIT)
            block->last->a = operand_immediate(1);
    }
}

/* Reads nothing into the frame, which the verifier cannot know: the size is a zero from memory. */
static void forget_frame(struct resume *resume, struct program *rounds)
{
    struct operand frame = operand_slot(resume->program->numbers, 0);
    struct operand zero = machine_load(rounds, BPF_DW, operand_slot(resume->program->any_zero, 0), 0);
    struct machine_block *on = machine_block(rounds), *never = machine_block(rounds);
    machine_branch(rounds, BPF_JLE, zero, operand_immediate(0), on, never);
    resume->program->bounds_size = rounds->block->last;
    machine_place(rounds, never);
    machine_exit(rounds, 1);
    machine_place(rounds, on);
    machine_call(rounds, BPF_FUNC_probe_read_user, OPERANDS(frame, zero, frame));
}

/*
 * The function begins by going where the last round ended. The verifier follows the last path first, then the one
 * before. This order shows it each loop first as the rounds see it, with any numbers. The state from before the loop is
 * then nothing new.
 */
static void dispatch(struct resume *resume, struct program *rounds)
{
    struct machine_block *to = resume->program->body;
    to->predecessor_count = 0;
    machine_place(rounds, machine_block(rounds));
    forget_frame(resume, rounds);
    struct operand number = machine_load(rounds, BPF_DW, operand_slot(resume->number, 0), 0);
    for (size_t i = 0; i < resume->header_count; to = resume->headers[i++]) {
        bool last = i + 1 == resume->header_count;
        struct machine_block *next = last ? resume->headers[i] : machine_block(rounds);
        machine_branch(rounds, BPF_JEQ, number, operand_immediate((int64_t)i), to, next);
        if (!last)
            machine_place(rounds, next);
    }
}

static void move_blocks(struct resume *resume, struct program *rounds)
{
    for (struct machine_block **link = &resume->program->entry, *block; (block = *link);) {
        if (!resume->in_body[block->id]) {
            resume->program->last = block;
            link = &block->following;
            continue;
        }
        *link = block->following;
        block->following = NULL;
        machine_place(rounds, block);
    }
}

static void move_registers(struct resume *resume, struct program *rounds)
{
    for (struct reg **link = &resume->program->registers, *reg; (reg = *link);) {
        if (!resume->in_body[reg->definition->block->id]) {
            link = &reg->next;
            continue;
        }
        *link = reg->next;
        reg->next = rounds->registers;
        rounds->registers = reg;
    }
}

static struct program *make_function(struct resume *resume)
{
    struct program *program = resume->program;
    struct program *rounds = arena_allocate(program->arena, sizeof *rounds);
    *rounds = (struct program){
        .compiler = program->compiler,
        .arena = program->arena,
        .name = arena_format(program->arena, "%s_rounds", program->name),
        .caller = program,
        .register_count = program->register_count,
        .block_count = program->block_count,
    };
    dispatch(resume, rounds);
    move_registers(resume, rounds);
    move_blocks(resume, rounds);
    return rounds;
}

/* Zeros, of which the verifier knows nothing: the frame's own address is none of user memory, so that reading from it
 * fails. */
static void clear_frame(struct program *program)
{
    struct operand frame = operand_slot(program->numbers, 0);
    struct operand failed =
        machine_call(program, BPF_FUNC_probe_read_user, OPERANDS(frame, operand_immediate(0), frame));
    program->clears_frame = failed.reg->definition;
}

/* Bytes that are large enough for a key of the map that LOOKUP looks into. */
static uint32_t key_size(const struct resume *resume, const struct machine_instruction *lookup)
{
    const struct compiler *compiler = resume->program->compiler;
    if (lookup->args[1].kind == OPERAND_FRAME)
        return lookup->args[1].slot->size;
    for (size_t i = 0; i < compiler->object_count; i++)
        if (!strcmp(compiler->objects[i]->map_name, lookup->args[0].symbol))
            return type_size(compiler->objects[i]->key);
    return 8;
}

static void store_pointer(struct resume *resume, const struct reg *reg)
{
    struct program *program = resume->program;
    struct pointer pointer = resume->pointers[reg->id];
    struct operand stored;
    if (pointer.kind == POINTER_MAYBE) {
        struct slot *key = program_slot(program, key_size(resume, pointer.lookup)); /* cleared with the frame */
        stored =
            machine_call(program, BPF_FUNC_map_lookup_elem, OPERANDS(pointer.lookup->args[0], operand_slot(key, 0)));
    } else {
        stored = machine_copy(program, operand_data(ZERO_COUNTERS, 0));
    }
    machine_store(program, BPF_DW, operand_slot(reg->spilled, 0), 0, stored);
}

/* What the program does in the handler's place. */
static void call_function(struct resume *resume, struct machine_block *end)
{
    struct program *program = resume->program;
    struct slot *frame = arena_allocate(program->arena, sizeof *frame);
    machine_unlink(end->last);
    end->next_count = 0;
    program->block = end;
    clear_frame(program);
    for (unsigned id = 0; id < resume->register_count; id++) {
        struct reg *reg = resume->registers[id];
        if (reg && resume->outside[id])
            machine_store(program, BPF_DW, operand_slot(resume->outside[id]->spilled, 0), 0, operand_register(reg));
        else if (reg && reg->spilled && reg->spilled->pointer)
            store_pointer(resume, reg);
    }
    /* The budget ends the handler sooner: every jump back ends a round that was counted. */
    machine_call(program, BPF_FUNC_loop,
                 OPERANDS(operand_immediate(program->budget + 1), operand_function(program->rounds->name),
                          operand_slot(frame, 0), operand_immediate(0)));
    machine_exit(program, 0);
}

void pass_bpf_loop(struct program *program)
{
    struct resume resume = {.program = program, .register_count = program->register_count};
    resume.in_body = arena_allocate(program->arena, program->block_count * sizeof *resume.in_body);
    resume.registers = arena_allocate(program->arena, resume.register_count * sizeof *resume.registers);
    resume.outside = arena_allocate(program->arena, resume.register_count * sizeof *resume.outside);
    resume.pointers = arena_allocate(program->arena, resume.register_count * sizeof *resume.pointers);
    find_headers(&resume);
    if (!resume.header_count) /* no loop comes to its end */
        return;
    mark_body(&resume, program->body);
    for (struct reg *reg = program->registers; reg; reg = reg->next)
        resume.registers[reg->id] = reg;
    program_find_liveness(program);
    find_pointers(&resume);
    keep_live(&resume);
    for (struct machine_block *block = program->entry; block; block = block->following)
        for (struct machine_instruction *i = block->first; i && resume.in_body[block->id]; i = i->next)
            machine_visit(i, use_kept, &resume);
    program->has_scratch = false; /* a round's end is none of the ways out that give it back */
    program->scratch_at->pointer = true;
    resume.number = program_slot(program, 8);
    resume.number->lasting = program->any_zero->lasting = true; /* each round begins with them */
    program->numbers = arena_allocate(program->arena, sizeof *program->numbers);
    program->numbers->shared = true;
    program_spill(program, true);
    end_rounds(&resume);
    struct machine_block *end = program->body->predecessors[0];
    program->rounds = make_function(&resume);
    for (struct slot *slot = program->slots; slot; slot = slot->next)
        slot->shared = true;
    call_function(&resume, end);
}
