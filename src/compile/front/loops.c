/* The loops of a function's bytecode, found before it is translated: where jumps lead back to, and what a round may
 * change. */
#include "compile/front/build.h"
#include "compile/front/bytecode_verify.h"

/* Marks in WRITTEN the slots that INSTRUCTION sets. */
static void mark_written(const struct instruction *instruction, bool *written)
{
    unsigned a = instruction->a, last = a;
    switch (instruction->op) {
    case BYTECODE_KNIL:
        last = instruction->d;
        break;
    case BYTECODE_CALL:
    case BYTECODE_CALLM:
        last = instruction->b ? a + instruction->b - 2u : 255;
        if (instruction->b == 1)
            return;
        break;
    case BYTECODE_FORI:
    case BYTECODE_FORL:
        written[a + 3 < 256 ? a + 3 : 255] = true;
        break;
    default:
        if (!bytecode_sets_a(instruction->op))
            return;
    }
    for (unsigned slot = a; slot <= last && slot < 256; slot++)
        written[slot] = true;
}

bool build_writes(const struct instruction *instruction, unsigned slot)
{
    bool written[256] = {false};
    mark_written(instruction, written);
    return slot < 256 && written[slot];
}

/* The loop that jumps from LAST back to FIRST. */
static void add_loop(struct build *build, uint32_t first, uint32_t last, bool numeric)
{
    struct loop **loop = &build->frame->loops[first];
    if (!*loop) {
        *loop = arena_allocate(build->arena, sizeof **loop);
        (*loop)->first = first;
        (*loop)->numeric = numeric;
    }
    (*loop)->last = last; /* jumps are looked at in their order */
    for (uint32_t pc = first; pc <= last; pc++)
        mark_written(&build->frame->bytecode->instructions[pc], (*loop)->written);
}

/* LOOP, which stands where a round of `while` and `repeat` begins, leads behind the loop. A loop by goto has none. */
static void mark_loop(struct build *build, uint32_t pc, uint32_t behind)
{
    for (uint32_t first = 0; first <= pc; first++)
        if (build->frame->loops[first] && build->frame->loops[first]->last + 1 == behind)
            build->frame->loops[first]->marked = true;
}

/* Marks where jumps lead, so that straight code behind them starts a block, and which of them make loops. */
void build_find_jumps(struct build *build)
{
    const struct bytecode *bytecode = build->frame->bytecode;
    for (uint32_t pc = 0; pc < bytecode->instruction_count; pc++) {
        const struct instruction *instruction = &bytecode->instructions[pc];
        bool is_for = instruction->op == BYTECODE_FORI || instruction->op == BYTECODE_FORL;
        if (instruction->op != BYTECODE_JMP && instruction->op != BYTECODE_UCLO && !is_for)
            continue;
        uint32_t target = pc + 1 + instruction->d - 0x8000u;
        if (target < bytecode->instruction_count)
            build->frame->leaders[target] = true;
        if (pc + 1 < bytecode->instruction_count)
            build->frame->leaders[pc + 1] = true;
        if (target <= pc)
            add_loop(build, target, pc, instruction->op == BYTECODE_FORL);
    }
    for (uint32_t pc = 0; pc < bytecode->instruction_count; pc++)
        if (bytecode->instructions[pc].op == BYTECODE_LOOP)
            mark_loop(build, pc, pc + 1 + bytecode->instructions[pc].d - 0x8000u);
}

const struct loop *build_loop_around(const struct build *build, uint32_t pc)
{
    const struct loop *loop = build->loop;
    while (loop != build->frame->outside && loop->last < pc)
        loop = loop->outer;
    return loop;
}
