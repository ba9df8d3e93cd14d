/* Machine operations with registers → BPF instructions, references and lines, added to the object. */
#include "compile/machine/machine.h"

#include "compile/object/object.h"

enum {
    MAX_MOVES = 64,
    MAY_GOTO = 0xe0,          /* BPF_JCOND with source 0: Linux 6.9 */
    CALLER_FRAME = BPF_REG_9, /* in a function: the frame of the program (bpf_loop.c) */
};

enum { RESULTS = 2 }; /* programs return 0 or 1 */

struct jump {
    size_t instruction;
    const struct machine_block *to;
};

struct emit {
    struct program *program;
    const struct compile_options *options;
    struct bpf_insn *code;
    size_t count, block_start;
    struct object_reference *references;
    size_t reference_count;
    struct object_line *lines;
    size_t line_count;
    struct jump *jumps;
    size_t jump_count;
    const struct position *position;    /* of the last line entry */
    struct machine_block ends[RESULTS]; /* stand for the place of the last end with each result */
};

/* --- instructions --- */

static void put(struct emit *emit, struct bpf_insn instruction)
{
    emit->code = arena_grow(emit->program->arena, emit->code, emit->count, sizeof *emit->code);
    emit->code[emit->count++] = instruction;
}

static void put_reference(struct emit *emit, enum reference_kind kind, const char *symbol)
{
    emit->references =
        arena_grow(emit->program->arena, emit->references, emit->reference_count, sizeof *emit->references);
    emit->references[emit->reference_count++] = (struct object_reference){(uint32_t)emit->count, kind, symbol};
}

/* A reference to a map or to counters looks like a constant, as in clang's output: libbpf marks it when it relocates.
 */
static void put_wide(struct emit *emit, int number, int64_t value)
{
    put(emit,
        (struct bpf_insn){.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = (uint8_t)number & 15, .imm = (int32_t)value});
    put(emit, (struct bpf_insn){.imm = (int32_t)(value >> 32)});
}

/* TO CODE OPERAND, a register or a constant. */
static void put_binary(struct emit *emit, uint8_t code, int to, const struct operand *operand)
{
    struct bpf_insn instruction = {.code = code | BPF_K, .dst_reg = (uint8_t)to & 15};
    if (operand->kind == OPERAND_REGISTER) {
        instruction.code |= BPF_X;
        instruction.src_reg = (uint8_t)operand->reg->number & 15;
    } else {
        instruction.imm = (int32_t)operand->number;
    }
    put(emit, instruction);
}

static void put_alu(struct emit *emit, uint8_t code, bool wide, int to, const struct operand *operand)
{
    put_binary(emit, code | (wide ? BPF_ALU64 : BPF_ALU), to, operand);
}

/* True if the instruction before has just moved TO to FROM, so that TO still holds it. */
static bool holds_already(const struct emit *emit, int to, int from)
{
    if (emit->count == emit->block_start)
        return false;
    const struct bpf_insn *last = &emit->code[emit->count - 1];
    return last->code == (BPF_ALU64 | BPF_MOV | BPF_X) && last->dst_reg == from && last->src_reg == to;
}

static void put_register_move(struct emit *emit, int to, int from)
{
    if (to != from && !holds_already(emit, to, from))
        put(emit, (struct bpf_insn){
                      .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (uint8_t)to & 15, .src_reg = (uint8_t)from & 15});
}

/* The register that SLOT's offset counts from. */
static int frame_of(const struct emit *emit, const struct slot *slot)
{
    return emit->program->caller && slot->shared ? CALLER_FRAME : BPF_REG_10;
}

static void put_move(struct emit *emit, int to, const struct operand *from)
{
    switch (from->kind) {
    case OPERAND_REGISTER:
        put_register_move(emit, to, from->reg->number);
        break;
    case OPERAND_NONE:
    case OPERAND_IMMEDIATE:
        if (from->number == (int32_t)from->number)
            put_alu(emit, BPF_MOV, true, to, &(struct operand){.kind = OPERAND_IMMEDIATE, .number = from->number});
        else
            put_wide(emit, to, from->number);
        break;
    case OPERAND_FRAME: {
        struct operand offset = operand_immediate(from->slot->offset + from->number);
        put_register_move(emit, to, frame_of(emit, from->slot));
        put_alu(emit, BPF_ADD, true, to, &offset);
        break;
    }
    case OPERAND_MAP:
        put_reference(emit, REFERENCE_MAP, from->symbol);
        put_wide(emit, to, 0);
        break;
    case OPERAND_DATA:
        put_reference(emit, REFERENCE_DATA, from->symbol);
        put_wide(emit, to, from->number);
        break;
    case OPERAND_FUNCTION:
        put_reference(emit, REFERENCE_FUNCTION, from->symbol);
        put_wide(emit, to, 0);
        emit->code[emit->count - 2].src_reg = BPF_PSEUDO_FUNC; /* this mark libbpf wants to find */
        break;
    }
}

static void put_memory(struct emit *emit, uint8_t class, uint8_t mode, uint8_t size, int to, int from, int64_t offset,
                       int32_t immediate)
{
    put(emit, (struct bpf_insn){.code = class | mode | size,
                                .dst_reg = (uint8_t)to & 15,
                                .src_reg = (uint8_t)from & 15,
                                .off = (int16_t)offset,
                                .imm = immediate});
}

/* The register and offset of an address operand. */
static int base_of(const struct emit *emit, const struct operand *base, int64_t *offset)
{
    if (base->kind == OPERAND_REGISTER)
        return base->reg->number;
    *offset += base->slot->offset + base->number;
    return frame_of(emit, base->slot);
}

/* --- moves that happen at once --- */

struct move {
    int to;
    struct operand from;
    bool from_spare, done;
};

static bool is_needed(const struct move *moves, size_t count, int number)
{
    for (size_t i = 0; i < count; i++)
        if (!moves[i].done && !moves[i].from_spare && moves[i].from.kind == OPERAND_REGISTER &&
            moves[i].from.reg->number == number)
            return true;
    return false;
}

static void put_one(struct emit *emit, struct move *move)
{
    if (move->from_spare)
        put_memory(emit, BPF_LDX, BPF_MEM, BPF_DW, move->to, BPF_REG_10, emit->program->spare, 0);
    else
        put_move(emit, move->to, &move->from);
    move->done = true;
}

/* Registers first, each when nothing needs its old value any more; a cycle goes through memory. Then what needs no
 * register. */
static void put_moves(struct emit *emit, struct move *moves, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (moves[i].from.kind == OPERAND_REGISTER && moves[i].from.reg->number == moves[i].to)
            moves[i].done = true;
    for (;;) {
        bool progress = false;
        struct move *stuck = NULL;
        for (size_t i = 0; i < count; i++) {
            if (moves[i].done || moves[i].from.kind != OPERAND_REGISTER)
                continue;
            if (!is_needed(moves, count, moves[i].to)) {
                put_one(emit, &moves[i]);
                progress = true;
            } else {
                stuck = &moves[i];
            }
        }
        if (progress)
            continue;
        if (!stuck)
            break;
        put_memory(emit, BPF_STX, BPF_MEM, BPF_DW, BPF_REG_10, stuck->from.reg->number, emit->program->spare, 0);
        stuck->from_spare = true;
        emit->program->stack_size = (uint32_t)-emit->program->spare;
    }
    for (size_t i = 0; i < count; i++)
        if (!moves[i].done)
            put_one(emit, &moves[i]);
}

/* The arguments of the phis of BLOCK's successor. */
static void put_phi_moves(struct emit *emit, const struct machine_block *block)
{
    struct move moves[MAX_MOVES];
    size_t count = 0;
    struct machine_block *next = block->next[0];
    if (block->next_count != 1)
        return;
    size_t from = 0;
    while (from < next->predecessor_count && next->predecessors[from] != block)
        from++;
    for (struct machine_instruction *phi = next->first; phi && phi->op == M_PHI; phi = phi->next) {
        if (count == MAX_MOVES)
            compile_fail(emit->program->compiler, phi->position, "more than %d variables change on one way", MAX_MOVES);
        moves[count++] = (struct move){.to = phi->result->number, .from = phi->args[from]};
    }
    put_moves(emit, moves, count);
}

static void put_call(struct emit *emit, const struct machine_instruction *i)
{
    struct move moves[MAX_CALL_ARGUMENTS];
    for (size_t n = 0; n < i->arg_count; n++)
        moves[n] = (struct move){.to = (int)n + 1, .from = i->args[n]};
    put_moves(emit, moves, i->arg_count);
    struct bpf_insn call = {.code = BPF_JMP | BPF_CALL, .imm = i->number};
    if (i->callee == CALL_LIBRARY) {
        put_reference(emit, REFERENCE_LIBRARY, i->symbol);
        call.src_reg = BPF_PSEUDO_CALL;
        call.imm = -1;
    } else if (i->callee == CALL_KERNEL) {
        put_reference(emit, REFERENCE_KERNEL, i->symbol);
        call.src_reg = BPF_PSEUDO_KFUNC_CALL;
    }
    put(emit, call);
    if (i->result->end > i->at + 1)
        put_register_move(emit, i->result->number, BPF_REG_0);
}

/* --- control flow --- */

static uint8_t inverse(uint8_t code)
{
    static const uint8_t pairs[][2] = {
        {BPF_JEQ, BPF_JNE}, {BPF_JLT, BPF_JGE}, {BPF_JLE, BPF_JGT}, {BPF_JSLT, BPF_JSGE}, {BPF_JSLE, BPF_JSGT}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int side = 0; side < 2; side++)
            if (pairs[i][side] == code)
                return pairs[i][1 - side];
    return code;
}

static void put_jump(struct emit *emit, uint8_t code, const struct machine_instruction *branch,
                     const struct machine_block *to)
{
    emit->jumps = arena_grow(emit->program->arena, emit->jumps, emit->jump_count, sizeof *emit->jumps);
    emit->jumps[emit->jump_count++] = (struct jump){emit->count, to};
    if (branch)
        put_binary(emit, BPF_JMP | code, branch->a.reg->number, &branch->b);
    else
        put(emit, (struct bpf_insn){.code = BPF_JMP | code});
}

/* What the program ends with at END, as an index; −1 if that is no end. */
static int result_of(const struct machine_instruction *end)
{
    return end->op == M_EXIT && end->a.number >= 0 && end->a.number < RESULTS ? (int)end->a.number : -1;
}

static void put_end(struct emit *emit, const struct machine_instruction *end, const struct machine_block *following)
{
    struct machine_block *const *next = end->block->next;
    if (end->op == M_EXIT) {
        int result = result_of(end);
        if (result >= 0 && end->block->cold && emit->ends[result].emitted_at >= 0)
            return put_jump(emit, BPF_JA, NULL, &emit->ends[result]);
        if (result >= 0)
            emit->ends[result].emitted_at = (int)emit->count;
        put_move(emit, BPF_REG_0, &end->a);
        put(emit, (struct bpf_insn){.code = BPF_JMP | BPF_EXIT});
    } else if (end->op == M_JUMP) {
        put_phi_moves(emit, end->block);
        if (next[0] != following)
            put_jump(emit, BPF_JA, NULL, next[0]);
    } else if (end->op == M_MAY_GOTO) {
        put_jump(emit, MAY_GOTO, NULL, next[1]);
        if (next[0] != following)
            put_jump(emit, BPF_JA, NULL, next[0]);
    } else if (next[0] == following && end->code != BPF_JSET) { /* which has no inverse */
        put_jump(emit, inverse(end->code), end, next[1]);
    } else {
        put_jump(emit, end->code, end, next[0]);
        if (next[1] != following)
            put_jump(emit, BPF_JA, NULL, next[1]);
    }
}

static void put_instruction(struct emit *emit, const struct machine_instruction *i,
                            const struct machine_block *following)
{
    int64_t offset = i->offset;
    int base;
    switch (i->op) {
    case M_PHI: /* moved by the predecessors */
        break;
    case M_CONTEXT:
        if (i->result->end > i->at + 1)
            put_register_move(emit, i->result->number, BPF_REG_1);
        break;
    case M_COPY:
        put_move(emit, i->result->number, &i->a);
        break;
    case M_ALU:
        if (i->code == BPF_MOV) { /* the 32-bit move cuts */
            put_alu(emit, BPF_MOV, i->wide, i->result->number, &i->b);
            break;
        }
        put_move(emit, i->result->number, &i->a);
        put_alu(emit, i->code, i->wide, i->result->number, &i->b);
        break;
    case M_LOAD:
        base = base_of(emit, &i->a, &offset);
        put_memory(emit, BPF_LDX, BPF_MEM, i->size, i->result->number, base, offset, 0);
        break;
    case M_STORE:
        base = base_of(emit, &i->a, &offset);
        if (i->b.kind == OPERAND_REGISTER)
            put_memory(emit, BPF_STX, BPF_MEM, i->size, base, i->b.reg->number, offset, 0);
        else
            put_memory(emit, BPF_ST, BPF_MEM, i->size, base, 0, offset, (int32_t)i->b.number);
        break;
    case M_ADD_ATOMIC:
        base = base_of(emit, &i->a, &offset);
        put_memory(emit, BPF_STX, BPF_ATOMIC, i->size, base, i->b.reg->number, offset, BPF_ADD);
        break;
    case M_FETCH:
        put_move(emit, i->result->number, &i->b);
        put_memory(emit, BPF_STX, BPF_ATOMIC, BPF_DW, i->a.reg->number, i->result->number, offset, i->code);
        break;
    case M_CALL:
        put_call(emit, i);
        break;
    case M_JUMP:
    case M_BRANCH:
    case M_MAY_GOTO:
    case M_EXIT:
        put_end(emit, i, following);
        break;
    }
}

static void put_line(struct emit *emit, const struct position *position)
{
    if (!position || position == emit->position ||
        (emit->position && position->line == emit->position->line && position->file == emit->position->file))
        return;
    struct object_line line = {(uint32_t)emit->count, position->file, position->line, ""};
    if (emit->options->source_line)
        line.text = emit->options->source_line(emit->options->context, position->file, position->line);
    emit->position = position;
    if (emit->line_count && emit->lines[emit->line_count - 1].instruction == line.instruction)
        emit->line_count--; /* the line before has no instruction of its own */
    emit->lines = arena_grow(emit->program->arena, emit->lines, emit->line_count, sizeof *emit->lines);
    emit->lines[emit->line_count++] = line;
}

/* --- the order of the blocks --- */

/* True if BLOCK only ends the program. */
static bool only_ends(const struct machine_block *block)
{
    return block->first == block->last && result_of(block->last) >= 0;
}

/*
 * All paths that only end the program with one result share one exit, emit->ends[result]. It is the end of a block that
 * does something before, if there is one outside of the cold paths; otherwise a block that only ends.
 */
static void find_ends(struct emit *emit, struct machine_block *ends[RESULTS])
{
    for (struct machine_block *block = emit->program->entry; block; block = block->following) {
        int result = block->cold ? -1 : result_of(block->last);
        if (result >= 0 && !only_ends(block))
            ends[result] = &emit->ends[result];
        else if (result >= 0 && !ends[result])
            ends[result] = block;
    }
}

/* Where control really goes when it enters BLOCK: past blocks that only jump on, and to the one of ENDS. */
static struct machine_block *destination(struct machine_block *block, struct machine_block *const ends[RESULTS])
{
    while (block->first == block->last && block->first->op == M_JUMP && block->next[0]->first->op != M_PHI)
        block = block->next[0];
    int result = only_ends(block) ? result_of(block->last) : -1;
    return result >= 0 && ends[result] ? ends[result] : block;
}

/* True if nothing has to be moved on the way from BLOCK, which has one, for the phis that it leads to. */
static bool moves_nothing(const struct machine_block *block)
{
    const struct machine_block *next = block->next[0];
    size_t from = 0;
    while (from < next->predecessor_count && next->predecessors[from] != block)
        from++;
    for (const struct machine_instruction *phi = next->first; phi && phi->op == M_PHI; phi = phi->next)
        if (phi->args[from].kind != OPERAND_REGISTER || phi->args[from].reg->number != phi->result->number)
            return false;
    return true;
}

/* Branches whose ways lead to the same place become jumps. */
static void shorten_ways(struct emit *emit)
{
    struct machine_block *ends[RESULTS] = {NULL};
    find_ends(emit, ends);
    for (struct machine_block *block = emit->program->entry; block; block = block->following) {
        bool joins = block->last->op == M_BRANCH;
        for (unsigned i = 0; i < block->next_count; i++) {
            bool has_phi = block->next[i]->first->op == M_PHI;
            if (!has_phi)
                block->next[i] = destination(block->next[i], ends);
            struct machine_block *next = block->next[i];
            if (block->next_count == 2 && next->first && next->first == next->last && next->first->op == M_JUMP &&
                moves_nothing(next)) {
                block->next[i] = next->next[0];
                has_phi = true;
            }
            joins &= block->next[i] == block->next[0] && !has_phi;
        }
        if (joins) {
            block->last->op = M_JUMP;
            block->next_count = 1;
        }
    }
}

static void mark_entered(struct machine_block *block)
{
    if (block->emitted_at)
        return;
    block->emitted_at = 1;
    for (unsigned i = 0; i < block->next_count; i++)
        mark_entered(block->next[i]);
}

/* The blocks in the order in which they are written, cold ones last, NULL behind them. */
static struct machine_block **order_blocks(struct emit *emit)
{
    struct program *program = emit->program;
    struct machine_block **order = arena_allocate(program->arena, ((size_t)program->block_count + 1) * sizeof *order);
    size_t count = 0;
    shorten_ways(emit);
    mark_entered(program->entry);
    for (int cold = 0; cold < 2; cold++)
        for (struct machine_block *block = program->entry; block; block = block->following)
            if (block->emitted_at && block->cold == cold)
                order[count++] = block;
    return order;
}

/* Programs that call others by bpf_tail_call are given no private stack: this one seems to. Nothing of this is left
 * when it runs. */
static void refuse_private_stack(struct emit *emit)
{
    enum { BPF_TAIL_CALL = 12 };
    if (!frame_refuses_private_stack(emit->program))
        return;
    put(emit, (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0});
    put(emit, (struct bpf_insn){.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 1});
    put(emit, (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = BPF_TAIL_CALL});
}

static const struct position *first_position(struct program *program)
{
    static const struct position unknown = {"uplua", 1, NULL};
    for (struct machine_block *block = program->entry; block; block = block->following)
        for (struct machine_instruction *i = block->first; i; i = i->next)
            if (i->position)
                return i->position;
    return &unknown;
}

void pass_emit(struct program *program, struct object *object, const struct compile_options *options,
               const char *section)
{
    struct emit emit = {.program = program, .options = options};
    struct machine_block **order = order_blocks(&emit);
    for (int result = 0; result < RESULTS; result++)
        emit.ends[result].emitted_at = -1;
    put_line(&emit, first_position(program));
    if (program->caller) /* f(index, frame) */
        put_register_move(&emit, CALLER_FRAME, BPF_REG_2);
    refuse_private_stack(&emit);
    for (size_t n = 0; order[n]; n++) {
        order[n]->emitted_at = (int)emit.count;
        emit.block_start = emit.count;
        for (struct machine_instruction *i = order[n]->first; i; i = i->next) {
            put_line(&emit, i->position);
            put_instruction(&emit, i, order[n + 1]);
        }
    }
    for (size_t n = 0; n < emit.jump_count; n++) {
        const struct jump *jump = &emit.jumps[n];
        int64_t distance = jump->to->emitted_at - (int64_t)jump->instruction - 1;
        if (distance != (int16_t)distance)
            compile_fail(program->compiler, program->position,
                         "the handler is too long: a jump in its %zu instructions spans more than the kernel's 32,767; "
                         "split it into "
                         "several probes",
                         emit.count);
        emit.code[jump->instruction].off = (int16_t)distance;
    }
    while (emit.line_count && emit.lines[emit.line_count - 1].instruction >= emit.count)
        emit.line_count--;
    int status = object_add_program(object, &(struct object_program){
                                                .name = program->name,
                                                .section = section,
                                                .type = program->type,
                                                .attach_type = program->attach_type,
                                                .target = program->target,
                                                .of_kernel = program->of_kernel,
                                                .flags = program->sleepable ? BPF_F_SLEEPABLE : 0,
                                                .instructions = emit.code,
                                                .instruction_count = emit.count,
                                                .references = emit.references,
                                                .reference_count = emit.reference_count,
                                                .lines = emit.lines,
                                                .line_count = emit.line_count,
                                                .stack_size = program->stack_size,
                                                .alone = program->private_stack,
                                                .scratch_size = program->scratch ? program->scratch->size : 0,
                                            });
    compile_expect(program->compiler, program->position, status);
}
