/* The fields of an event, by kind of probe: one row each. */
#include <string.h>

#include "compile/ir.h"

enum { ANY = 1 << HANDLER_ENTRY | 1 << HANDLER_RETURN, RETURN = 1 << HANDLER_RETURN };

#define SIGNED { .kind = TYPE_I64 }
#define ADDRESS { .kind = TYPE_U64 }
#define TEXT(bytes) { .kind = TYPE_STRING, .capacity = bytes }

static const struct event_field fields[] = {
    { .name = "time", .kinds = ANY, .type = SIGNED, .source = EVENT_TIME },
    { .name = "pid", .kinds = ANY, .type = SIGNED, .source = EVENT_PID },
    { .name = "tid", .kinds = ANY, .type = SIGNED, .source = EVENT_TID },
    { .name = "uid", .kinds = ANY, .type = SIGNED, .source = EVENT_UID },
    { .name = "gid", .kinds = ANY, .type = SIGNED, .source = EVENT_GID },
    { .name = "cpu", .kinds = ANY, .type = SIGNED, .source = EVENT_CPU },
    { .name = "comm", .kinds = ANY, .type = TEXT(16), .source = EVENT_COMM },
    { .name = "cgroup", .kinds = ANY, .type = SIGNED, .source = EVENT_CGROUP },
    { .name = "probe", .kinds = ANY, .type = { .kind = TYPE_STRING }, .source = EVENT_PROBE },
    { .name = "func", .kinds = ANY, .type = { .kind = TYPE_STRING }, .source = EVENT_FUNC },
    { .name = "ret", .kinds = RETURN, .type = SIGNED, .source = EVENT_RETURN },
    { .name = "elapsed", .kinds = RETURN, .type = SIGNED, .source = EVENT_ELAPSED, .of_entry = true },
    { .name = "ip", .kinds = ANY, .type = ADDRESS, .source = EVENT_IP },
    { .name = "caller", .kinds = ANY, .type = ADDRESS, .source = EVENT_CALLER },
#define ARGUMENT(n) \
    { .name = "arg" #n, .kinds = ANY, .type = SIGNED, .source = EVENT_ARGUMENT, .number = n, .of_entry = true }
    ARGUMENT(0), ARGUMENT(1), ARGUMENT(2), ARGUMENT(3), ARGUMENT(4), ARGUMENT(5), ARGUMENT(6), ARGUMENT(7),
};

const struct event_field *event_field_find(const char *name, enum handler_kind kind)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].kinds & 1u << kind && !strcmp(fields[i].name, name))
            return &fields[i];
    return NULL;
}

const char *event_field_list(struct arena *arena, enum handler_kind kind)
{
    const char *list = "";
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].kinds & 1u << kind)
            list = arena_format(arena, "%s%s%s", list, *list ? ", " : "", fields[i].name);
    return list;
}
