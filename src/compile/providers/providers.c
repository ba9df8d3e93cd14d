/* Providers by name, and the fields that their events choose from. */
#include <string.h>

#include "compile/providers/providers.h"

#define ADDRESS_OF(kind) &provider_##kind,
static const struct provider *const providers[] = {PROVIDERS(ADDRESS_OF)};

const struct provider *provider_at(size_t number)
{
    return number < sizeof providers / sizeof *providers ? providers[number] : NULL;
}

const struct provider *provider_find(const char *name)
{
    for (size_t i = 0; i < sizeof providers / sizeof *providers; i++)
        if (!strcmp(providers[i]->name, name))
            return providers[i];
    return NULL;
}

uint32_t provider_attach_type(const struct provider *provider, bool at_entry)
{
    return provider->attach_as ? provider->attach_as(at_entry) : provider->attach_type;
}

bool provider_has_registers(const struct provider *provider)
{
    return provider->registers == REGISTERS_USER || provider->registers == REGISTERS_INTERRUPTED;
}

static const struct event_field fields[] = {
    {.name = "time", .type = {.kind = TYPE_I64}, .source = EVENT_TIME},
    {.name = "pid", .type = {.kind = TYPE_I64, .bits = 32}, .source = EVENT_PID},
    {.name = "tid", .type = {.kind = TYPE_I64, .bits = 32}, .source = EVENT_TID},
    {.name = "ppid", .type = {.kind = TYPE_I64, .bits = 32}, .source = EVENT_PARENT},
    {.name = "uid", .type = {.kind = TYPE_I64, .bits = 32}, .source = EVENT_UID},
    {.name = "gid", .type = {.kind = TYPE_I64, .bits = 32}, .source = EVENT_GID},
    {.name = "cpu", .type = {.kind = TYPE_I64, .bits = 32}, .source = EVENT_CPU},
    {.name = "comm", .type = {.kind = TYPE_STRING, .capacity = 16}, .source = EVENT_COMM},
    {.name = "cgroup", .type = {.kind = TYPE_I64}, .source = EVENT_CGROUP},
    {.name = "traced", .type = {.kind = TYPE_BOOLEAN}, .source = EVENT_TRACED},
    {.name = "task", .type = {.kind = TYPE_POINTER, .kernel = true}, .source = EVENT_TASK},
    {.name = "probe", .type = {.kind = TYPE_STRING}, .source = EVENT_PROBE},
    {.name = "func", .type = {.kind = TYPE_STRING}, .source = EVENT_FUNC},
    {.name = "nr", .type = {.kind = TYPE_I64, .bits = 32}, .source = EVENT_CALL, .of_entry = true},
    {.name = "ret", .type = {.kind = TYPE_I64}, .source = EVENT_RETURN},
    {.name = "elapsed", .type = {.kind = TYPE_I64}, .source = EVENT_ELAPSED, .of_entry = true},
    {.name = "taken_off", .type = {.kind = TYPE_I64}, .source = EVENT_TAKEN_OFF, .of_entry = true},
    {.name = "ip", .type = {.kind = TYPE_U64}, .source = EVENT_IP},
    {.name = "sp", .type = {.kind = TYPE_U64}, .source = EVENT_STACK_POINTER},
    {.name = "caller", .type = {.kind = TYPE_U64}, .source = EVENT_CALLER},
    {.name = "period", .type = {.kind = TYPE_I64}, .source = EVENT_PERIOD},
    {.name = "addr", .type = {.kind = TYPE_U64}, .source = EVENT_ADDRESS},
    {.name = "value", .type = {.kind = TYPE_I64}, .source = EVENT_VALUE},
#define ARGUMENT(n)                                                                                                    \
    .name = "arg" #n, .type = {.kind = TYPE_I64}, .source = EVENT_ARGUMENT, .number = n, .of_entry = true
    {ARGUMENT(0)},
    {ARGUMENT(1)},
    {ARGUMENT(2)},
    {ARGUMENT(3)},
    {ARGUMENT(4)},
    {ARGUMENT(5)},
    {ARGUMENT(6)},
    {ARGUMENT(7)},
    {ARGUMENT(8)},
    {ARGUMENT(9)},
    {ARGUMENT(10)},
    {ARGUMENT(11)},
};

/* True if the events of PROVIDER have FIELD. */
static bool has_field(const struct provider *provider, const struct event_field *field)
{
    if (field->source == EVENT_ARGUMENT)
        return field->number < provider->words;
    return provider->fields & 1u << field->source;
}

const struct event_field *event_field_find(const char *name, const struct provider *provider)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (has_field(provider, &fields[i]) && !strcmp(fields[i].name, name))
            return &fields[i];
    return NULL;
}

const char *event_field_list(struct arena *arena, const struct provider *provider)
{
    const char *list = "";
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (has_field(provider, &fields[i]) &&
            (fields[i].source != EVENT_ARGUMENT || provider->argument(fields[i].number) >= 0))
            list = arena_format(arena, "%s%s%s", list, *list ? ", " : "", fields[i].name);
    if (provider->arguments)
        list = arena_format(
            arena, provider->numbered ? "%s, e.args, those of e.arg0 … that the probe has, e.nargs" : "%s, e.args",
            list);
    if (provider->variables)
        list = arena_format(arena, "%s, e.vars", list);
    if (provider_has_registers(provider))
        list = arena_format(arena, "%s, e.regs", list);
    return provider->registers ? arena_format(arena, "%s, e:stack(), e:ustack() and e:kstack()", list) : list;
}
