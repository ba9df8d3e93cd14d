/* Where debug information has a parameter when its function is entered. */
#include "probe/args/parameter_entry.h"

#include <errno.h>

#include "arch/arch.h"

int parameter_register(unsigned dwarf_register)
{
    return dwarf_register < 32 ? arch_register(arch_dwarf_register(arch_cpu.elf_machine, (int)dwarf_register)) : -1;
}

static bool parameter_is_register(int offset)
{
    for (unsigned i = 0; i < ARCH_MAX_ARGUMENTS; i++)
        if (offset >= 0 && arch_argument(i) == offset)
            return true;
    return false;
}

static void found_not(struct parameter *parameter, const char *why)
{
    parameter->found = FOUND_NOT;
    parameter->why = why;
}

/* At the entry the frame is no more than the caller's part of it: arguments on the stack, above the return address. */
static void found_in_frame(struct parameter *parameter, int64_t offset)
{
    parameter->found = offset >= 0 ? FOUND_MEMORY : FOUND_LATER;
    parameter->offset = arch_cpu.stack_pointer;
    parameter->number = offset + arch_cpu.return_pops;
}

/* RANGED: the place is that of the entry; else of the whole function, which compilers vouch for only once the prologue
 * has run. */
static void found_in_memory(struct parameter *parameter, const struct location_number *address, bool ranged)
{
    int offset = address->base == LOCATION_REGISTER ? parameter_register(address->reg) : -1;
    if (address->bits < 64 || address->loads > 1) {
        found_not(parameter, "its address is computed in a way that is not understood");
    } else if (address->loads) { /* its address is in the frame: an object that is passed by address */
        parameter->found = FOUND_LATER;
    } else if (address->base == LOCATION_FRAME) {
        found_in_frame(parameter, address->offset);
    } else if (offset == arch_cpu.stack_pointer && ranged) {
        found_in_frame(parameter, address->offset - arch_cpu.return_pops);
    } else if (offset == arch_cpu.stack_pointer || offset == arch_cpu.frame_pointer) {
        parameter->found = FOUND_LATER;
    } else if (parameter_is_register(offset)) {
        parameter->found = FOUND_MEMORY;
        parameter->offset = offset;
        parameter->number = address->offset;
    } else {
        found_not(parameter, "the debug information has it where a probe at the entry does not find it");
    }
}

static void found_number(struct parameter *parameter, const struct location_number *number)
{
    bool plain = !number->loads && number->base == LOCATION_REGISTER;
    int offset = plain ? parameter_register(number->reg) : -1;
    parameter->offset = offset;
    parameter->number = number->offset;
    if (number->base == LOCATION_ZERO && !number->loads)
        parameter->found = FOUND_CONSTANT;
    else if (parameter_is_register(offset))
        parameter->found = number->offset || number->bits < 8 * parameter->type.size ? FOUND_COMPUTED : FOUND_REGISTER;
    else
        found_not(parameter, "the debug information computes it in a way that is not understood");
}

static void found_piece(struct parameter *parameter, const struct location_piece *piece, bool ranged)
{
    switch (piece->kind) {
    case LOCATION_MISSING:
        found_not(parameter, piece->why);
        break;
    case LOCATION_IN_REGISTER:
        parameter->offset = parameter_register(piece->number.reg);
        /* Of the whole function, it may be one that the prologue copies it to. */
        parameter->found = parameter_is_register(parameter->offset) || (ranged && parameter->offset >= 0)
                               ? FOUND_REGISTER
                               : FOUND_LATER;
        break;
    case LOCATION_IN_MEMORY:
        found_in_memory(parameter, &piece->number, ranged);
        break;
    case LOCATION_IS_NUMBER:
        found_number(parameter, &piece->number);
        break;
    case LOCATION_IS_BYTES:
        found_not(parameter, "the compiler has replaced it by a constant");
        break;
    }
}

/* Clang has locations begin behind a landing pad, which changes nothing. */
int parameter_location(const struct parameters *all, const struct parameter *parameter, struct location *location)
{
    const struct debugfunction *function = all->function;
    int code =
        location_find(all->debuginfo, parameter->debug.instance, function->instance, function->address, true, location);
    if (function->landing && (code == -ENODATA || code == -ERANGE))
        code = location_find(all->debuginfo, parameter->debug.instance, function->instance,
                             function->address + function->landing, true, location);
    return code;
}

enum told parameter_told(const struct location *location)
{
    if (location->count != 1 || location->pieces[0].kind != LOCATION_IN_MEMORY)
        return TOLD_NOTHING;
    const struct location_number *address = &location->pieces[0].number;
    bool by_frame = address->base == LOCATION_FRAME || (address->base == LOCATION_REGISTER &&
                                                        (parameter_register(address->reg) == arch_cpu.stack_pointer ||
                                                         parameter_register(address->reg) == arch_cpu.frame_pointer));
    bool by_register = address->base == LOCATION_REGISTER && parameter_is_register(parameter_register(address->reg)) &&
                       !address->offset;
    if (!by_frame && !by_register)
        return TOLD_NOTHING;
    if (address->loads == 1 && address->after[0]) /* a part of something */
        return TOLD_NOTHING;
    return address->loads == (by_register ? 0 : 1) ? TOLD_ADDRESS : TOLD_VALUE;
}

void parameter_find(const struct parameters *all, struct parameter *parameter)
{
    struct location location;
    int code = -ENODATA;
    if (parameter->debug.instance)
        code = parameter_location(all, parameter, &location);
    if (code == -ENODATA || code == -ERANGE)
        found_not(parameter, "the compiler has optimised it away: by the debug information nothing holds it when the "
                             "function is entered");
    else if (code)
        found_not(parameter, "its debug information is damaged");
    else if (all->function->compiler == COMPILER_GCC_UNOPTIMISED) /* also registers are those behind the prologue */
        parameter->found = FOUND_LATER;
    else
        found_piece(parameter, &location.pieces[0], location.ranged);
    parameter->ranged = !code && location.ranged;
    parameter->by_reference = !code && (all->function->of_fortran || parameter->type.kind != DEBUGTYPE_STRUCT) &&
                              parameter_told(&location) == TOLD_ADDRESS;
}
