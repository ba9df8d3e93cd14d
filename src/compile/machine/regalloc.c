/*
 * Registers for a program: linear scan over live intervals (M. Poletto, V. Sarkar, Linear Scan Register Allocation,
 * TOPLAS 1999). A live range across a call must be in r6–r9, since calls clobber r0–r5. A value that gets no register
 * is spilled: stored after its definition and loaded before each use through short-lived registers (spill.c). Then the
 * scan starts again.
 */
#include "compile/machine/machine.h"

#include <stdlib.h>

enum { REGISTERS = 10, FIRST_SAVED = 6, MAX_ROUNDS = 64 };

/* A function keeps its caller's frame in the last one (emit.c). */
static int register_count(const struct program *program)
{
    return program->caller ? REGISTERS - 1 : REGISTERS;
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

/* The virtual registers that are live across a call, and so need a callee-saved register. */
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
            /* `result = a op b` writes the result before it reads b, a fetch before it reads a. */
            int late = i->at + 1;
            if (i->op == M_ALU &&
                !(i->a.kind == OPERAND_REGISTER && i->b.kind == OPERAND_REGISTER && i->a.reg == i->b.reg))
                extend_use(&i->b, &late);
            if (i->op == M_FETCH)
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
    int wanted[] = {choose_for_phi(reg, holders), from ? from->number : -1, reg->hint};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (is_free(reg, holders, wanted[i]))
            return wanted[i];
    /* A value that is moved into a phi that is live across calls is best in the phi's register. */
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
    struct reg *holders[REGISTERS] = {NULL};
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
                compile_fail(program->compiler, reg->definition->position,
                             "no register is left for this expression: split it");
            victim->spilled = program_slot(program, 8);
            victim->spilled->pointer = program->clears_frame != NULL; /* out of reach of what clears the rest */
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

static void assign(struct program *program)
{
    program_legalise(program);
    for (int round = 0; round < MAX_ROUNDS; round++) {
        number_instructions(program);
        program_find_liveness(program);
        compute_intervals(program);
        give_hints(program);
        if (!scan(program))
            return;
        program_spill(program, false);
    }
    compile_fail(program->compiler, program->position, "the registers of handler %s cannot be assigned", program->name);
}

uint32_t pass_allocate_registers(struct program *program)
{
    program->lowered_slots = program->slot_count;
    program_drop_dead(program);
    if (program->by_rounds)
        pass_bpf_loop(program);
    assign(program);
    if (program->rounds)
        assign(program->rounds);
    return frame_lay_out(program);
}
