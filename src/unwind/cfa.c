/* Interprets call frame information into rows. */
#include "unwind/cfa.h"

#include <dwarf.h>
#include <string.h>

#include "sym/location.h"
#include "unwind/rules.h"

enum { REMEMBERED = 16 }; /* depth of DW_CFA_remember_state; compilers use 1 */

struct cfa_machine {
    const struct cie *cie;
    const struct cfa_state *initial; /* NULL during the CIE's own instructions */
    struct cfa_state state, remembered[REMEMBERED];
    int depth;
    uint64_t address;
    bool failed;
};

static struct saved_register *saved_of(struct cfa_machine *machine, uint64_t number)
{
    if (number == machine->cie->arch->frame_pointer)
        return &machine->state.frame;
    return number == machine->cie->return_register ? &machine->state.link : NULL;
}

static void save(struct cfa_machine *machine, uint64_t number, struct saved_register saved)
{
    struct saved_register *place = saved_of(machine, number);
    if (place)
        *place = saved;
}

static int64_t scaled(struct cfa_machine *machine, int64_t factored)
{
    int64_t offset = 0;
    if (__builtin_mul_overflow(factored, machine->cie->data_align, &offset))
        machine->failed = true;
    return offset;
}

static void save_at(struct cfa_machine *machine, uint64_t number, int64_t factored)
{
    save(machine, number, (struct saved_register){.kind = SAVED_AT_CFA, .offset = scaled(machine, factored)});
}

static void restore(struct cfa_machine *machine, uint64_t number)
{
    struct saved_register *place = saved_of(machine, number);
    if (place && machine->initial)
        *place = place == &machine->state.frame ? machine->initial->frame : machine->initial->link;
}

static void define(struct cfa_machine *machine, uint64_t base, int64_t offset)
{
    machine->state.expression = (struct bytes){0};
    machine->state.base = base < UINT16_MAX ? (unsigned)base : UINT16_MAX; /* no CPU has so many */
    machine->state.offset = offset;
}

static void advance(struct cfa_machine *machine, uint64_t factored)
{
    uint64_t delta;
    if (__builtin_mul_overflow(factored, machine->cie->code_align, &delta) ||
        __builtin_add_overflow(machine->address, delta, &machine->address))
        machine->failed = true;
}

/* The instructions whose operation has a byte of its own. */
static void execute_extended(struct cfa_machine *machine, uint8_t operation, struct bytes *bytes)
{
    struct cfa_state *state = &machine->state;
    uint64_t number;
    struct saved_register saved = {.kind = SAVED_OTHERWISE};
    switch (operation) {
    case DW_CFA_nop:
        break;
    case DW_CFA_advance_loc1:
    case DW_CFA_advance_loc2:
    case DW_CFA_advance_loc4:
        advance(machine, bytes_unsigned(bytes, (size_t)1 << (operation - DW_CFA_advance_loc1)));
        break;
    case DW_CFA_offset_extended:
        number = bytes_uleb(bytes);
        save_at(machine, number, (int64_t)bytes_uleb(bytes));
        break;
    case DW_CFA_offset_extended_sf:
        number = bytes_uleb(bytes);
        save_at(machine, number, bytes_sleb(bytes));
        break;
    case DW_CFA_GNU_negative_offset_extended:
        number = bytes_uleb(bytes);
        save_at(machine, number, -(int64_t)(bytes_uleb(bytes) & INT64_MAX));
        break;
    case DW_CFA_restore_extended:
        restore(machine, bytes_uleb(bytes));
        break;
    case DW_CFA_undefined:
        save(machine, bytes_uleb(bytes), (struct saved_register){.kind = SAVED_NOWHERE});
        break;
    case DW_CFA_same_value:
        save(machine, bytes_uleb(bytes), (struct saved_register){.kind = SAVED_UNCHANGED});
        break;
    case DW_CFA_register:
        number = bytes_uleb(bytes);
        saved.kind = SAVED_REGISTER;
        saved.offset = (int64_t)bytes_uleb(bytes);
        save(machine, number, saved);
        break;
    case DW_CFA_val_offset:
    case DW_CFA_val_offset_sf:
        number = bytes_uleb(bytes);
        bytes_uleb(bytes);
        save(machine, number, saved);
        break;
    case DW_CFA_expression:
    case DW_CFA_val_expression:
        number = bytes_uleb(bytes);
        saved.kind = operation == DW_CFA_expression ? SAVED_EXPRESSION : SAVED_VALUE;
        saved.expression = bytes_inside(bytes, bytes_uleb(bytes));
        save(machine, number, saved);
        break;
    case DW_CFA_remember_state:
        if (machine->depth < REMEMBERED)
            machine->remembered[machine->depth++] = *state;
        else
            machine->failed = true;
        break;
    case DW_CFA_restore_state:
        if (machine->depth)
            *state = machine->remembered[--machine->depth];
        else
            machine->failed = true;
        break;
    case DW_CFA_def_cfa:
        number = bytes_uleb(bytes);
        define(machine, number, (int64_t)bytes_uleb(bytes));
        break;
    case DW_CFA_def_cfa_sf:
        number = bytes_uleb(bytes);
        define(machine, number, scaled(machine, bytes_sleb(bytes)));
        break;
    case DW_CFA_def_cfa_register:
        define(machine, bytes_uleb(bytes), state->offset);
        break;
    case DW_CFA_def_cfa_offset:
        define(machine, state->base, (int64_t)bytes_uleb(bytes));
        break;
    case DW_CFA_def_cfa_offset_sf:
        define(machine, state->base, scaled(machine, bytes_sleb(bytes)));
        break;
    case DW_CFA_def_cfa_expression:
        state->expression = bytes_inside(bytes, bytes_uleb(bytes));
        break;
    case DW_CFA_GNU_args_size:
        bytes_uleb(bytes);
        break;
    case DW_CFA_GNU_window_save: /* on aarch64: return addresses are signed from here on */
        break;
    default: /* DW_CFA_set_loc too: no compiler makes it */
        machine->failed = true;
    }
}

/* One instruction. */
static void execute(struct cfa_machine *machine, struct bytes *bytes)
{
    uint8_t operation = (uint8_t)bytes_unsigned(bytes, 1), operand = operation & 0x3f;
    switch (operation & 0xc0) {
    case DW_CFA_advance_loc:
        advance(machine, operand);
        break;
    case DW_CFA_offset:
        save_at(machine, operand, (int64_t)bytes_uleb(bytes));
        break;
    case DW_CFA_restore:
        restore(machine, operand);
        break;
    default:
        execute_extended(machine, operation, bytes);
    }
    machine->failed |= bytes->failed;
}

bool cfa_start(const struct cie *cie, struct cfa_state *state)
{
    struct cfa_machine machine = {.cie = cie};
    machine.state.frame.kind = machine.state.link.kind = SAVED_UNCHANGED;
    struct bytes bytes = bytes_of(cie->code, cie->code_size);
    while (!machine.failed && bytes_left(&bytes))
        execute(&machine, &bytes);
    *state = machine.state;
    return !machine.failed && !machine.address;
}

/* Where a register is saved, and whether that is counted from the CFA or from the register that the CFA comes from. */
struct saved_place {
    enum { PLACE_REGISTER, PLACE_CFA, PLACE_BASE } from; /* PLACE_REGISTER: it is unchanged */
    int64_t offset;
};

/* Files may have any numbers: what is too large for a rule is found out when there is one. */
static int64_t difference(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* The PLACE that the expression of SAVED says, if it can be counted from where CFA comes from. */
static bool place_of_expression(const struct saved_register *saved, const struct location_number *cfa,
                                struct saved_place *place)
{
    struct location_number at;
    if (!location_compute(saved->expression, true, &at) || at.loads > 1)
        return false;
    if (saved->kind == SAVED_VALUE) { /* a word in memory, mostly: then that is where the register is saved */
        if (!at.loads || at.after[0])
            return false;
        at.loads = 0;
    }
    place->from = PLACE_CFA;
    place->offset = at.offset;
    if (at.base == LOCATION_FRAME)
        return !at.loads;
    if (at.base != LOCATION_REGISTER || at.reg != cfa->reg)
        return false;
    if (at.loads) {
        place->offset = difference(at.after[0], cfa->after[0]);
        return cfa->loads && at.offset == cfa->offset;
    }
    if (cfa->loads)
        place->from = PLACE_BASE;
    else
        place->offset = difference(at.offset, cfa->offset);
    return true;
}

/* False where a rule cannot say it. */
static bool place_of(const struct saved_register *saved, const struct location_number *cfa, struct saved_place *place)
{
    *place = (struct saved_place){.from = saved->kind == SAVED_UNCHANGED ? PLACE_REGISTER : PLACE_CFA,
                                  .offset = saved->offset};
    if (saved->kind == SAVED_EXPRESSION || saved->kind == SAVED_VALUE) {
        if (!place_of_expression(saved, cfa, place))
            return false;
    } else if (saved->kind != SAVED_UNCHANGED && saved->kind != SAVED_AT_CFA) {
        return false;
    }
    return place->from != PLACE_CFA || place->offset; /* in a rule 0 stands for a register that is unchanged */
}

/* True if the registers are where the kernel puts them for a signal handler, as RULE_SIGNAL says. */
static bool is_signal(const struct arch_unwind *arch, const struct cfa_state *state, const struct location_number *cfa)
{
    struct saved_place frame, link;
    return arch->signal_instruction_pointer && cfa->loads && !cfa->after[0] && cfa->reg == arch->stack_pointer &&
           cfa->offset == arch->signal_stack_pointer && place_of(&state->frame, cfa, &frame) &&
           frame.from == PLACE_BASE && frame.offset == arch->signal_frame_pointer &&
           place_of(&state->link, cfa, &link) && link.from == PLACE_BASE &&
           link.offset == arch->signal_instruction_pointer;
}

/*
 * True if EXPRESSION is the linker's for a lazily bound PLT, rsp + 8 + ((rip & 15) >= N) * 8 (binutils,
 * elf_x86_64_eh_frame_lazy_plt): N, the size of an entry up to the end of its push, in *PUSHED.
 */
static bool is_lazy_plt(struct bytes expression, int64_t *pushed)
{
    static const uint8_t before[] = {DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and};
    static const uint8_t after[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
    const uint8_t *at = expression.at;
    if (bytes_left(&expression) != sizeof before + 1 + sizeof after || memcmp(at, before, sizeof before) ||
        memcmp(at + sizeof before + 1, after, sizeof after))
        return false;
    *pushed = at[sizeof before] - DW_OP_lit0;
    return *pushed >= 0 && *pushed <= 15;
}

/*
 * True if the return address is in another register than where calls leave it, as glibc's vfork of x86_64 has it in
 * rdi and its rawmemchr of aarch64 in x15: which, in *REG.
 */
static bool is_held(const struct cie *cie, const struct cfa_state *state, int64_t *reg)
{
    bool unchanged = state->link.kind == SAVED_UNCHANGED && cie->return_register != cie->arch->return_address;
    *reg = unchanged ? (int64_t)cie->return_register : state->link.offset;
    return unchanged || state->link.kind == SAVED_REGISTER;
}

/* The rule of a frame whose return address is in register REG, and whose CFA is not in memory. */
static uint64_t rule_of_held(const struct cfa_state *state, const struct location_number *cfa, int64_t reg)
{
    struct saved_place frame;
    if (cfa->base != LOCATION_REGISTER || cfa->loads || !place_of(&state->frame, cfa, &frame) || reg < 0 || reg > 31)
        return RULE_UNEXPRESSED;
    return unwind_rule(RULE_HELD, cfa->reg, cfa->offset, frame.offset, reg * 8);
}

/* The rule that STATE amounts to. */
static uint64_t rule_of(const struct cie *cie, const struct cfa_state *state)
{
    if (state->link.kind == SAVED_NOWHERE)
        return RULE_END;
    struct location_number cfa = {.base = LOCATION_REGISTER, .reg = state->base, .offset = state->offset};
    int64_t pushed;
    bool is_plt = is_lazy_plt(state->expression, &pushed);
    if (is_plt)
        cfa = (struct location_number){.base = LOCATION_REGISTER, .reg = cie->arch->stack_pointer, .offset = pushed};
    else if (state->expression.at && (!location_compute(state->expression, false, &cfa) || cfa.loads > 1))
        return RULE_UNEXPRESSED;
    if (cie->signal)
        return is_signal(cie->arch, state, &cfa) ? RULE_SIGNAL : RULE_UNEXPRESSED;
    int64_t reg;
    if (is_held(cie, state, &reg))
        return is_plt ? RULE_UNEXPRESSED : rule_of_held(state, &cfa, reg);
    struct saved_place frame, link;
    if (cfa.base != LOCATION_REGISTER || !place_of(&state->frame, &cfa, &frame) ||
        !place_of(&state->link, &cfa, &link) || link.from == PLACE_BASE ||
        (link.from == PLACE_REGISTER && cie->arch->return_address_saved))
        return RULE_UNEXPRESSED;
    if (cfa.loads)
        return unwind_rule_deref(frame.from == PLACE_BASE ? RULE_DEREF_BASE : RULE_DEREF, cfa.reg, cfa.offset,
                                 cfa.after[0], frame.offset, link.offset);
    return unwind_rule(is_plt ? RULE_PLT : RULE_REGISTER, cfa.reg, cfa.offset, frame.offset, link.offset);
}

bool cfa_run(const struct cie *cie, const struct fde *fde, const struct cfa_state *initial,
             void (*row)(void *context, uint64_t address, uint64_t rule), void *context)
{
    struct cfa_machine machine = {.cie = cie, .initial = initial, .state = *initial, .address = fde->start};
    struct bytes bytes = bytes_of(fde->code, fde->code_size);
    uint64_t from = fde->start;
    while (!machine.failed && bytes_left(&bytes)) {
        execute(&machine, &bytes);
        if (machine.address == from || machine.failed)
            continue;
        /* The state before this instruction, which was an advance, is that of the row that it ends. */
        row(context, from, rule_of(cie, &machine.state));
        from = machine.address;
        if (from >= fde->end)
            return true;
    }
    row(context, from, machine.failed ? RULE_UNEXPRESSED : rule_of(cie, &machine.state));
    return !machine.failed;
}
