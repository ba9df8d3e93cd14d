/*
 * Memory for what does not fit on the stack. A handler that needs more than the kernel gives has its largest records,
 * strings and keys in a piece of the array `scratch` instead, for as long as it runs.
 *
 * Other programs can interrupt a program on its CPU, and a program that sleeps gives the CPU to other threads. So a
 * program claims a piece by an atomic exchange of the piece's first word, and gives it back on every path out
 * (machine_exit). Each CPU has PIECES of its own; a program stays on its CPU, also where it sleeps, so that only
 * programs of one CPU meet at a piece.
 *
 * The records to move are known once registers are allocated and the frame is laid out. The handler is then lowered
 * once more, which makes the same slots in the same order; those that moved are now reached through an address that is
 * kept in the frame.
 */
#include <bpf/libbpf.h>

#include "compile/lower/lower.h"

enum {
    PIECES = 8,
    HEAD = 8,    /* the word that says that a piece is taken */
    MARGIN = 48, /* bytes of stack kept free for registers that spill because of the accesses */
};

/* The largest slot of PROGRAM that can be moved; NULL if none is left. */
static struct slot *find_largest(const struct program *program)
{
    struct slot *largest = NULL;
    for (struct slot *slot = program->slots; slot; slot = slot->next) {
        bool movable = slot->end >= 0 && !slot->moved && slot->number > program->scratch_at->number &&
                       slot->number < program->lowered_slots;
        if (movable && (!largest || slot->size > largest->size))
            largest = slot;
    }
    return largest;
}

static const struct slot *find_widest(const struct program *program)
{
    const struct slot *widest = program->slots;
    for (const struct slot *slot = program->slots; slot; slot = slot->next)
        if (slot->size > widest->size)
            widest = slot;
    return widest;
}

void scratch_move(struct program *program, struct scratch *scratch, uint32_t excess)
{
    for (uint32_t wanted = excess + MARGIN; excess;) {
        struct slot *slot = find_largest(program);
        if (!slot)
            compile_fail(program->compiler, program->position,
                         "the handler keeps too many values at one time: they need %u bytes of stack more than there "
                         "are; use fewer locals, "
                         "or end their lives earlier",
                         excess);
        slot->moved = true;
        wanted = wanted > slot->size ? wanted - slot->size : 0;
        if (!wanted) {
            excess = frame_lay_out(program);
            wanted = excess;
        }
    }
    uint32_t start = scratch->size ? scratch->size : HEAD;
    scratch->size = frame_lay_out_moved(program, start);
    if (scratch->size > MAX_RECORD) {
        const struct slot *widest = find_widest(program);
        compile_fail(program->compiler, widest->position,
                     "the handler needs %u bytes at one time for its records, strings and keys, of %d that there are: "
                     "use fewer or "
                     "shorter ones; the largest, of %u bytes, is made here",
                     scratch->size, MAX_RECORD, widest->size);
    }
    int *offsets = arena_allocate(program->arena, program->lowered_slots * sizeof *offsets);
    for (const struct slot *slot = program->slots; slot; slot = slot->next)
        if (slot->moved)
            offsets[slot->number] = slot->offset;
    scratch->offsets = offsets;
    scratch->count = program->lowered_slots;
    if (scratch->size > program->compiler->scratch_size)
        program->compiler->scratch_size = scratch->size;
}

/* Tries piece NUMBER, an operand; goes on where it is taken. Returns its address in the block that jumps to CLAIMED. */
static struct operand try_piece(struct lower *lower, struct slot *key, struct operand number,
                                struct machine_block *none, struct machine_block *claimed)
{
    struct program *program = lower->program;
    machine_store(program, BPF_DW, operand_slot(key, 0), 0, number);
    struct operand piece = maps_lookup(lower, "uplua_scratch", operand_slot(key, 0));
    lower_continue_if(lower, BPF_JNE, piece, operand_immediate(0), none);
    struct operand was_taken = machine_exchange(program, piece, 0, operand_immediate(1));
    struct machine_block *taken = machine_block(program), *free = machine_block(program);
    machine_branch(program, BPF_JEQ, was_taken, operand_immediate(0), free, taken);
    machine_place(program, free);
    machine_jump(program, claimed);
    machine_place(program, taken);
    taken->cold = true;
    return piece;
}

void scratch_claim(struct lower *lower)
{
    struct program *program = lower->program;
    struct slot *key = program_slot(program, 8);
    program->scratch_at = program_slot(program, 8);
    if (!program->scratch)
        return;
    unsigned entry = ledger_add(
        lower->compiler, "handler not run: others on its CPU were using the memory for large records and strings");
    struct machine_block *none = lower_loss(lower, entry, NULL, 0), *claimed = machine_block(program);
    struct operand cpu = machine_call_pure(program, BPF_FUNC_get_smp_processor_id, NULL, 0), pieces[PIECES];
    struct operand first = machine_alu(program, BPF_MUL, cpu, operand_immediate(PIECES));
    for (int i = 0; i < PIECES; i++)
        pieces[i] = try_piece(lower, key, i ? machine_alu(program, BPF_ADD, first, operand_immediate(i)) : first, none,
                              claimed);
    machine_jump(program, none);
    machine_place(program, claimed);
    struct machine_instruction *phi = machine_phi(program, claimed);
    for (int i = 0; i < PIECES; i++)
        phi->args[i] = pieces[i];
    machine_store(program, BPF_DW, operand_slot(program->scratch_at, 0), 0, operand_register(phi->result));
    program->has_scratch = true;
}

int scratch_declare(const struct compiler *compiler, struct object *result)
{
    int cpus = libbpf_num_possible_cpus();
    if (!compiler->scratch_size)
        return 0;
    if (cpus < 0)
        return cpus;
    return object_add_map(result, &(struct object_map){
                                      .name = "uplua_scratch",
                                      .type = BPF_MAP_TYPE_ARRAY,
                                      .key_size = 4,
                                      .value_size = compiler->scratch_size,
                                      .max_entries = (uint32_t)(cpus * PIECES),
                                      .reuse_fd = -1,
                                  });
}
