/*
 * Registers for a program: linear scan over live intervals (M. Poletto, V. Sarkar, Linear Scan Register Allocation, TOPLAS 1999).
 * What lives across a call must be in r6–r9, since calls clobber r0–r5. What finds no register is spilled: stored
 * behind its definition and loaded before each use through short-lived registers; then the scan starts again.
 */
#include "compile/machine.h"

#include <stdlib.h>
#include <string.h>

enum { REGISTERS = 10, FIRST_SAVED = 6, MAX_ROUNDS = 64 };

/* A function keeps its caller's frame in the last one (emit.c). */
static int register_count(const struct program *program)
{
    return program->caller ? REGISTERS - 1 : REGISTERS;
}

/* --- the blocks --- */

static void mark_reachable(struct machine_block *block)
{
    for (; !block->start; block = block->next[block->next_count - 1]) {
        block->start = 1;
        if (!block->next_count)
            return;
        if (block->next_count == 2)
            mark_reachable(block->next[0]);
    }
}

static bool holds(uint8_t code, int64_t a, int64_t b)
{
    switch (code) {
    case BPF_JEQ:
        return a == b;
    case BPF_JNE:
        return a != b;
    case BPF_JLT:
        return (uint64_t)a < (uint64_t)b;
    case BPF_JLE:
        return (uint64_t)a <= (uint64_t)b;
    case BPF_JSLT:
        return a < b;
    case BPF_JSET:
        return (a & b) != 0;
    default:
        return a <= b; /* BPF_JSLE: the lowering uses no others */
    }
}

/* Branches on constants become jumps; what cannot be reached any more goes, since the verifier refuses it. */
static void prune(struct program *program)
{
    for (struct machine_block *block = program->entry; block; block = block->following) {
        struct machine_instruction *end = block->last;
        block->start = 0;
        if (!end || end->op != M_BRANCH || end->a.kind != OPERAND_IMMEDIATE || end->b.kind != OPERAND_IMMEDIATE)
            continue;
        block->next[0] = block->next[holds(end->code, end->a.number, end->b.number) ? 0 : 1];
        block->next_count = 1;
        end->op = M_JUMP;
    }
    mark_reachable(program->entry);
    for (struct machine_block **link = &program->entry, *block; (block = *link);) {
        if (!block->start) {
            *link = block->following;
            continue;
        }
        link = &block->following;
    }
    for (struct machine_block *block = program->entry; block; block = block->following) {
        size_t kept = 0;
        for (size_t i = 0; i < block->predecessor_count; i++) {
            struct machine_block *from = block->predecessors[i];
            bool comes = from->start && (from->next[0] == block || (from->next_count == 2 && from->next[1] == block));
            if (!comes)
                continue;
            block->predecessors[kept] = from;
            for (struct machine_instruction *phi = block->first; phi && phi->op == M_PHI; phi = phi->next)
                phi->args[kept] = phi->args[i];
            kept++;
        }
        block->predecessor_count = kept;
        for (struct machine_instruction *phi = block->first; phi && phi->op == M_PHI; phi = phi->next)
            phi->arg_count = kept;
    }
}

/* --- the instructions --- */

void machine_visit(struct machine_instruction *instruction, void (*visit)(struct operand *, void *), void *context)
{
    visit(&instruction->a, context);
    visit(&instruction->b, context);
    for (size_t i = 0; i < instruction->arg_count; i++)
        visit(&instruction->args[i], context);
}

static void count_use(struct operand *operand, void *context)
{
    (void)context;
    if (operand->kind == OPERAND_REGISTER)
        operand->reg->uses++;
}

static void uncount_use(struct operand *operand, void *context)
{
    (void)context;
    if (operand->kind == OPERAND_REGISTER)
        operand->reg->uses--;
}

void machine_unlink(struct machine_instruction *instruction)
{
    struct machine_block *block = instruction->block;
    *(instruction->previous ? &instruction->previous->next : &block->first) = instruction->next;
    *(instruction->next ? &instruction->next->previous : &block->last) = instruction->previous;
}

static bool is_removable(const struct machine_instruction *instruction)
{
    return instruction->op == M_COPY || instruction->op == M_ALU || instruction->op == M_LOAD ||
           instruction->op == M_PHI || (instruction->op == M_CALL && instruction->pure);
}

static void drop_unused(struct program *program)
{
    for (struct reg *reg = program->registers; reg; reg = reg->next)
        reg->uses = 0;
    for (struct machine_block *block = program->entry; block; block = block->following)
        for (struct machine_instruction *i = block->first; i; i = i->next)
            machine_visit(i, count_use, NULL);
    bool dropped;
    do {
        dropped = false;
        for (struct machine_block *block = program->entry; block; block = block->following)
            for (struct machine_instruction *i = block->last, *previous; i; i = previous) {
                previous = i->previous;
                if (!is_removable(i) || i->result->uses)
                    continue;
                machine_visit(i, uncount_use, NULL);
                machine_unlink(i);
                dropped = true;
            }
    } while (dropped);
}

static struct reg *new_tiny(struct program *program, struct machine_instruction *definition)
{
    struct reg *reg = arena_allocate(program->arena, sizeof *reg);
    reg->id = program->register_count++;
    reg->definition = definition;
    reg->tiny = !program->early;
    reg->number = reg->hint = -1;
    reg->next = program->registers;
    program->registers = reg;
    return reg;
}

static struct machine_instruction *insert_before(struct program *program, struct machine_instruction *at,
                                                 enum machine_op op)
{
    struct machine_instruction *instruction = arena_allocate(program->arena, sizeof *instruction);
    instruction->op = op;
    instruction->size = BPF_DW;
    instruction->position = at->position;
    instruction->block = at->block;
    instruction->next = at;
    instruction->previous = at->previous;
    *(at->previous ? &at->previous->next : &at->block->first) = instruction;
    at->previous = instruction;
    return instruction;
}

static bool fits_immediate(const struct operand *operand)
{
    return operand->kind == OPERAND_IMMEDIATE && operand->number == (int32_t)operand->number;
}

/* Brings OPERAND into a register in front of AT. */
static void to_register(struct program *program, struct machine_instruction *at, struct operand *operand)
{
    struct machine_instruction *copy = insert_before(program, at, M_COPY);
    copy->a = *operand;
    copy->result = new_tiny(program, copy);
    *operand = operand_register(copy->result);
}

/* The comparison that says of b and a what CODE says of a and b; 0 where there is none. */
static uint8_t mirrored(uint8_t code)
{
    static const uint8_t pairs[][2] = { { BPF_JEQ, BPF_JEQ }, { BPF_JNE, BPF_JNE }, { BPF_JLT, BPF_JGT },
                                        { BPF_JLE, BPF_JGE }, { BPF_JSLT, BPF_JSGT }, { BPF_JSLE, BPF_JSGE } };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] == code)
            return pairs[i][1];
    return 0;
}

/* Constants stand on the right, where the instruction holds them. */
static void put_constant_right(struct machine_instruction *i)
{
    bool commutes = i->op == M_ALU && (i->code == BPF_ADD || i->code == BPF_MUL || i->code == BPF_AND || i->code == BPF_OR ||
                                       i->code == BPF_XOR);
    uint8_t code = i->op == M_BRANCH ? mirrored(i->code) : commutes ? i->code : 0;
    if (i->a.kind != OPERAND_IMMEDIATE || i->b.kind != OPERAND_REGISTER || !(code || commutes))
        return;
    struct operand constant = i->a;
    i->a = i->b;
    i->b = constant;
    i->code = code;
}

/* BPF takes registers and 32-bit immediates as second operands, and addresses in registers or the frame. */
static void legalise(struct program *program)
{
    for (struct machine_block *block = program->entry; block; block = block->following)
        for (struct machine_instruction *i = block->first; i; i = i->next) {
            put_constant_right(i);
            bool addresses = i->op == M_LOAD || i->op == M_STORE || i->op == M_ADD_ATOMIC || i->op == M_EXCHANGE;
            if (addresses && i->a.kind != OPERAND_REGISTER && i->a.kind != OPERAND_FRAME)
                to_register(program, i, &i->a);
            if (i->op == M_BRANCH && i->a.kind != OPERAND_REGISTER)
                to_register(program, i, &i->a);
            bool second = i->op == M_ALU || i->op == M_STORE || i->op == M_ADD_ATOMIC || i->op == M_BRANCH;
            if (second && i->b.kind != OPERAND_REGISTER && (i->op == M_ADD_ATOMIC || !fits_immediate(&i->b)))
                to_register(program, i, &i->b);
        }
}

/* --- live intervals --- */

static void number_instructions(struct program *program)
{
    int at = program->caller ? program->caller->end + 2 : 2; /* one order for both: they share a frame */
    for (struct machine_block *block = program->entry; block; block = block->following) {
        block->start = ++at; /* behind the block before: what dies there leaves its register to a phi here */
        for (struct machine_instruction *i = block->first; i; i = i->next)
            i->at = at += 2;
        block->end = program->end = at += 2;
    }
}

static void set_bit(uint64_t *set, unsigned i, bool on)
{
    if (on)
        set[i / 64] |= UINT64_C(1) << i % 64;
    else
        set[i / 64] &= ~(UINT64_C(1) << i % 64);
}

static void live_use(struct operand *operand, void *set)
{
    if (operand->kind == OPERAND_REGISTER && operand->reg->live)
        set_bit(set, operand->reg->live - 1, true);
}

/* What is live at BLOCK's end: what its successors want at their start, and their phis from here. */
static void live_at_end(struct machine_block *block, uint64_t *set, size_t words)
{
    for (unsigned n = 0; n < block->next_count; n++) {
        struct machine_block *next = block->next[n];
        for (size_t w = 0; w < words; w++)
            set[w] |= next->live_in[w];
        for (struct machine_instruction *phi = next->first; phi && phi->op == M_PHI; phi = phi->next)
            for (size_t i = 0; i < next->predecessor_count; i++)
                if (next->predecessors[i] == block)
                    live_use(&phi->args[i], set);
    }
}

struct leaving {
    struct program *program;
    const struct machine_block *block;
};

/* Most registers are wanted in their own block only: the sets are of the others. */
static void note_leaving(struct operand *operand, void *context)
{
    const struct leaving *leaving = context;
    struct program *program = leaving->program;
    struct reg *reg = operand->reg;
    if (operand->kind != OPERAND_REGISTER || reg->live || reg->definition->block == leaving->block)
        return;
    program->live = arena_grow(program->arena, program->live, program->live_count, sizeof reg);
    program->live[program->live_count++] = reg;
    reg->live = program->live_count;
}

static void find_leaving(struct program *program)
{
    program->live = NULL;
    program->live_count = 0;
    for (struct reg *reg = program->registers; reg; reg = reg->next)
        reg->live = 0;
    for (struct machine_block *block = program->entry; block; block = block->following)
        for (struct machine_instruction *i = block->first; i; i = i->next) /* a phi wants its values in the blocks before */
            machine_visit(i, note_leaving, &(struct leaving){ program, i->op == M_PHI ? NULL : block });
}

static bool find_live_in(struct machine_block *block, uint64_t *live, size_t words)
{
    memset(live, 0, words * sizeof *live);
    live_at_end(block, live, words);
    memcpy(block->live_out, live, words * sizeof *live);
    for (struct machine_instruction *i = block->last; i; i = i->previous) {
        if (i->result && i->result->live)
            set_bit(live, i->result->live - 1, false);
        if (i->op != M_PHI)
            machine_visit(i, live_use, live);
    }
    bool changed = memcmp(live, block->live_in, words * sizeof *live);
    memcpy(block->live_in, live, words * sizeof *live);
    return changed;
}

void program_find_live(struct program *program)
{
    find_leaving(program);
    size_t words = program->live_count / 64 + 1, count = 0;
    struct machine_block **blocks = arena_allocate(program->arena, program->block_count * sizeof *blocks);
    for (struct machine_block *block = program->entry; block; block = block->following) {
        block->live_in = arena_allocate(program->arena, words * sizeof *block->live_in);
        block->live_out = arena_allocate(program->arena, words * sizeof *block->live_out);
        blocks[count++] = block;
    }
    uint64_t *live = arena_allocate(program->arena, words * sizeof *live);
    bool changed;
    do { /* once per nesting of loops, plus one: a handful at most */
        changed = false;
        for (size_t n = count; n-- > 0;)
            changed |= find_live_in(blocks[n], live, words);
    } while (changed);
}

static void extend(struct reg *reg, int from, int to)
{
    if (from < reg->start)
        reg->start = from;
    if (to > reg->end)
        reg->end = to;
}

static void extend_use(struct operand *operand, void *at)
{
    if (operand->kind == OPERAND_REGISTER)
        extend(operand->reg, *(int *)at, *(int *)at);
}

/* The registers of SET are live at AT. */
static void extend_live(const struct program *program, const uint64_t *set, int at)
{
    for (size_t w = 0; w * 64 < program->live_count; w++)
        for (uint64_t left = set[w]; left; left &= left - 1)
            extend(program->live[w * 64 + (size_t)__builtin_ctzll(left)], at, at);
}

/* Which registers must outlive a call, and so lie where callees leave them alone. */
static void find_crossings(struct program *program)
{
    size_t count = 0, capacity = 0;
    for (struct machine_block *block = program->entry; block; block = block->following)
        for (struct machine_instruction *i = block->first; i; i = i->next)
            capacity += i->op == M_CALL;
    int *calls = arena_allocate(program->arena, (capacity + 1) * sizeof *calls);
    for (struct machine_block *block = program->entry; block; block = block->following)
        for (struct machine_instruction *i = block->first; i; i = i->next)
            if (i->op == M_CALL)
                calls[count++] = i->at;
    for (struct reg *reg = program->registers; reg; reg = reg->next) {
        size_t low = 0, high = count; /* the first call after the register's start */
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (calls[middle] > reg->start)
                high = middle;
            else
                low = middle + 1;
        }
        reg->crosses_call = low < count && calls[low] < reg->end;
    }
}

static void compute_intervals(struct program *program)
{
    for (struct reg *reg = program->registers; reg; reg = reg->next) {
        reg->start = INT32_MAX;
        reg->end = -1;
        reg->number = reg->hint = -1;
        reg->hint_from = NULL;
    }
    for (struct machine_block *block = program->entry; block; block = block->following) {
        extend_live(program, block->live_in, block->start);
        extend_live(program, block->live_out, block->end);
        for (struct machine_instruction *i = block->first; i; i = i->next) {
            int use = i->at, definition = i->op == M_PHI ? block->start : i->at + 1;
            if (i->op != M_PHI)
                machine_visit(i, extend_use, &use);
            if (i->result)
                extend(i->result, definition, definition);
            /* `result = a op b` writes the result before it reads b, an exchange before it reads a. */
            int late = i->at + 1;
            if (i->op == M_ALU && !(i->a.kind == OPERAND_REGISTER && i->b.kind == OPERAND_REGISTER && i->a.reg == i->b.reg))
                extend_use(&i->b, &late);
            if (i->op == M_EXCHANGE)
                extend_use(&i->a, &late);
        }
    }
    find_crossings(program);
}

/* Where a value would best be, so that it need not be moved. */
static void give_hints(struct program *program)
{
    for (struct machine_block *block = program->entry; block; block = block->following)
        for (struct machine_instruction *i = block->first; i; i = i->next) {
            if (i->op == M_CONTEXT)
                i->result->hint = 1;
            if (i->op == M_CALL) {
                i->result->hint = 0;
                for (size_t n = 0; n < i->arg_count; n++)
                    if (i->args[n].kind == OPERAND_REGISTER && i->args[n].reg->hint < 0)
                        i->args[n].reg->hint = (int)n + 1;
            }
            if ((i->op == M_ALU || i->op == M_COPY) && i->a.kind == OPERAND_REGISTER)
                i->result->hint_from = i->a.reg;
            if (i->op == M_PHI)
                for (size_t n = 0; n < i->arg_count; n++)
                    if (i->args[n].kind == OPERAND_REGISTER) {
                        i->result->hint_from = i->args[n].reg;
                        i->args[n].reg->hint_from = i->result;
                    }
        }
}

/* --- the scan --- */

static int by_start(const void *a, const void *b)
{
    const struct reg *x = *(struct reg *const *)a, *y = *(struct reg *const *)b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static bool allowed(const struct reg *reg, int number)
{
    return !reg->crosses_call || number >= FIRST_SAVED;
}

static bool is_free(const struct reg *reg, struct reg *const *holders, int number)
{
    return number >= 0 && !holders[number] && allowed(reg, number);
}

/* The register of one of the values that the phi of REG takes, the first that is free. */
static int choose_for_phi(const struct reg *reg, struct reg *const *holders)
{
    const struct machine_instruction *phi = reg->definition;
    for (size_t n = 0; phi->op == M_PHI && n < phi->arg_count; n++)
        if (phi->args[n].kind == OPERAND_REGISTER && is_free(reg, holders, phi->args[n].reg->number))
            return phi->args[n].reg->number;
    return -1;
}

static int choose(const struct reg *reg, struct reg *const *holders, int registers)
{
    const struct reg *from = reg->hint_from;
    int wanted[] = { choose_for_phi(reg, holders), from ? from->number : -1, reg->hint };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (is_free(reg, holders, wanted[i]))
            return wanted[i];
    /* What is to be moved into a phi that outlives calls is best where the phi will be. */
    int first = from && from->crosses_call && from->number < 0 && reg->hint < 0 ? FIRST_SAVED : 0;
    for (int i = 0; i < registers; i++)
        if (is_free(reg, holders, (first + i) % registers))
            return (first + i) % registers;
    return -1;
}

/* Gives registers; returns how many values found none (they have .spilled then). */
static size_t scan(struct program *program)
{
    struct reg **sorted = arena_allocate(program->arena, (program->register_count + 1) * sizeof *sorted);
    struct reg *holders[REGISTERS] = { NULL };
    size_t count = 0, spilled = 0;
    for (struct reg *reg = program->registers; reg; reg = reg->next)
        if (reg->end >= 0 && !reg->spilled)
            sorted[count++] = reg;
    qsort(sorted, count, sizeof *sorted, by_start);
    for (size_t i = 0; i < count; i++) {
        struct reg *reg = sorted[i];
        for (int number = 0; number < REGISTERS; number++)
            if (holders[number] && holders[number]->end < reg->start)
                holders[number] = NULL;
        int number = choose(reg, holders, register_count(program));
        if (number < 0) {
            struct reg *victim = reg->tiny ? NULL : reg;
            for (int n = 0; n < register_count(program); n++)
                if (allowed(reg, n) && !holders[n]->tiny && (!victim || holders[n]->end > victim->end))
                    victim = holders[n];
            if (!victim)
                compile_fail(program->compiler, reg->definition->position, "no register is left for this expression: split it");
            victim->spilled = program_slot(program, 8);
            spilled++;
            if (victim == reg)
                continue;
            number = victim->number;
        }
        reg->number = number;
        holders[number] = reg;
    }
    return spilled;
}

/* --- spilling --- */

struct reload {
    struct program *program;
    struct machine_instruction *before;
};

static void reload_operand(struct operand *operand, void *context)
{
    struct reload *reload = context;
    if (operand->kind != OPERAND_REGISTER || !operand->reg->spilled)
        return;
    struct machine_instruction *load = insert_before(reload->program, reload->before, M_LOAD);
    load->a = operand_slot(operand->reg->spilled, 0);
    load->result = new_tiny(reload->program, load);
    *operand = operand_register(load->result);
}

static void store_before(struct program *program, struct machine_instruction *at, struct slot *slot, struct operand value)
{
    struct machine_instruction *store = insert_before(program, at, M_STORE);
    store->a = operand_slot(slot, 0);
    store->b = value;
    if (value.kind != OPERAND_REGISTER && !fits_immediate(&value))
        to_register(program, store, &store->b);
}

static void spill_instruction(struct program *program, struct machine_instruction *i)
{
    machine_visit(i, reload_operand, &(struct reload){ program, i });
    if (!i->result || !i->result->spilled)
        return;
    struct slot *slot = i->result->spilled;
    i->result = new_tiny(program, i);
    store_before(program, i->next, slot, operand_register(i->result));
}

/* True if OPERAND lies where a phi of BLOCK is to be stored. */
static bool is_overwritten(const struct machine_block *block, const struct operand *operand)
{
    if (operand->kind != OPERAND_REGISTER || !operand->reg->spilled)
        return false;
    for (const struct machine_instruction *phi = block->first; phi && phi->op == M_PHI; phi = phi->next)
        if (phi->result == operand->reg)
            return true;
    return false;
}

/* The phis of a block happen at once: what one of them overwrites is loaded before any is stored. */
static void spill_phis(struct program *program, struct machine_block *block)
{
    struct machine_instruction *next;
    for (struct machine_instruction *phi = block->first; phi && phi->op == M_PHI; phi = phi->next)
        for (size_t n = 0; n < phi->arg_count; n++)
            if (!phi->result->spilled || is_overwritten(block, &phi->args[n]))
                reload_operand(&phi->args[n], &(struct reload){ program, block->predecessors[n]->last });
    for (struct machine_instruction *phi = block->first; phi && phi->op == M_PHI; phi = next) {
        next = phi->next;
        if (!phi->result->spilled)
            continue;
        for (size_t n = 0; n < phi->arg_count; n++) {
            reload_operand(&phi->args[n], &(struct reload){ program, block->predecessors[n]->last });
            store_before(program, block->predecessors[n]->last, phi->result->spilled, phi->args[n]);
        }
        machine_unlink(phi);
    }
}

void program_spill(struct program *program, bool early)
{
    program->early = early;
    for (struct machine_block *block = program->entry; block; block = block->following) {
        spill_phis(program, block);
        for (struct machine_instruction *i = block->first, *next; i; i = next) {
            next = i->next;
            if (i->op != M_PHI)
                spill_instruction(program, i);
        }
    }
    /* Spilled registers are used nowhere any more. */
    for (struct reg **link = &program->registers; *link;) {
        if ((*link)->spilled)
            *link = (*link)->next;
        else
            link = &(*link)->next;
    }
    program->early = false;
}

static void assign(struct program *program)
{
    legalise(program);
    for (int round = 0; round < MAX_ROUNDS; round++) {
        number_instructions(program);
        program_find_live(program);
        compute_intervals(program);
        give_hints(program);
        if (!scan(program))
            return;
        program_spill(program, false);
    }
    compile_fail(program->compiler, program->position, "the registers of handler %s cannot be assigned", program->name);
}

uint32_t pass_allocate(struct program *program)
{
    program->lowered_slots = program->slot_count;
    prune(program);
    drop_unused(program);
    if (program->by_rounds)
        pass_resume(program);
    assign(program);
    if (program->rounds)
        assign(program->rounds);
    return frame_lay_out(program);
}
