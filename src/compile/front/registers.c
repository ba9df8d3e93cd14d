/* e.regs: the CPU's registers, as a probe's context has them. */
#include <string.h>

#include "arch/arch.h"
#include "base/suggest.h"
#include "compile/front/build.h"

static const struct event_field any_register = {.name = "regs", .source = EVENT_REGISTER};

/* The kinds of probes whose context begins with registers. */
static const char *kinds_with_registers(struct build *build)
{
    const struct provider *provider;
    const char *list = "";
    for (size_t i = 0; (provider = provider_at(i)); i++)
        if (provider_has_registers(provider))
            list = arena_format(build->arena, "%s%s%s", list, *list ? ", " : "", provider->name);
    return list;
}

struct value *registers_value(struct build *build)
{
    const struct handler *handler = build->function->handler;
    const struct provider *provider = handler->provider;
    if (!provider_has_registers(provider))
        build_fail(build, "the event of a%s %s has no registers; e.regs is there in handlers of %s%s",
                   strchr("aeio", *provider->name) ? "n" : "", provider->name, kinds_with_registers(build),
                   provider->arguments ? arena_format(build->arena, ". Its %ss are e.args.NAME", provider->arguments)
                                       : "");
    if (handler->no_registers)
        build_fail(build,
                   "%s %s has no registers: the kernel counts this event itself, and makes up those that a "
                   "sample of it comes with; e:stack() tells where it happens",
                   provider->name, handler->probe);
    struct value *value = ir_append(build->function, NULL, IR_REGISTERS, build->position, NULL, 0);
    value->type.kind = TYPE_STATIC;
    return value;
}

static _Noreturn void fail_unknown(struct build *build, const char *name)
{
    int bits;
    const char *whole = arch_register_whole(name, &bits), *list = "", *other;
    if (whole && bits)
        build_fail(build, "'%s' is a part of the register %s: write up.u%d(e.regs.%s)", name, whole, bits, whole);
    if (whole)
        build_fail(build, "'%s' is a part of the register %s: write up.u8(bit.rshift(e.regs.%s, 8))", name, whole,
                   whole);
    struct suggest suggest;
    suggest_init(&suggest, name);
    for (unsigned i = 0; (other = arch_register_name(i)); i++) {
        suggest_offer(&suggest, other, strlen(other));
        list = arena_format(build->arena, "%s%s%s", list, *list ? ", " : "", other);
    }
    const char *near = suggest_text(&suggest);
    build_fail(build, "this CPU has no register '%s' that a handler could read%s%s It has %s", name, near,
               *near ? "" : ".", list);
}

struct value *registers_index(struct build *build, const char *name)
{
    if (!name)
        build_fail(build, "a register has a name that is known when the handler is compiled: e.regs.%s",
                   arch_register_name(0));
    int offset = arch_register(name);
    if (offset < 0)
        fail_unknown(build, name);
    const struct handler *handler = build->function->handler;
    if (offset == arch_cpu.return_address && handler->provider->pairing && !handler->of_go && !handler->by_instruction)
        build_fail(build,
                   "e.regs.%s is of no use where a function returns: there the kernel has put the address of its own "
                   "code, by which it sees the return; it returns to e.regs.ip",
                   name);
    build->function->handler->reads_registers = true;
    struct value *value = build_value(build, IR_EVENT_FIELD, NULL, 0);
    value->event = &any_register;
    value->name = name;
    value->number = offset;
    bool is_address = offset == arch_cpu.instruction_pointer || offset == arch_cpu.stack_pointer;
    value->type.kind = is_address ? TYPE_U64 : TYPE_I64;
    return value;
}
