/*
 * A tracepoint's record as the kernel's BTF has it, for who may not read tracefs: struct trace_event_raw_NAME. Its
 * declaration makes one for each TRACE_EVENT(NAME, …); events of a DECLARE_EVENT_CLASS share that of their class, whose
 * name BTF does not tell. What a __data_loc consists of it does not tell either: nearly always characters.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "probe/attach/tracepoint.h"
#include "sys/kernel_types.h"

/* Fills in the type of FIELD, which is the kernel's TYPE. */
static int describe(struct tracepoint_field *field, uint32_t id)
{
    struct kernel_type type, element = {0};
    char text[KERNEL_TYPE_NAME];
    int code = kernel_type_get(id, &type);
    if (code)
        return code;
    if (type.kind == KERNEL_ARRAY) {
        code = kernel_type_get(type.element, &element);
        if (code)
            return code;
        field->count = (unsigned)type.count;
        field->element = (unsigned)element.size;
    }
    field->size = (unsigned)type.size;
    field->is_signed = type.kind == KERNEL_ARRAY ? element.bits < 0 : type.bits < 0;
    field->type = strdup(kernel_type_name(id, text));
    return field->type ? 0 : -ENOMEM;
}

static int add(struct tracepoint *tracepoint, const char *name, const struct kernel_member *member, uint64_t base,
               bool common)
{
    static const char data[] = "__data_loc_", relative[] = "__rel_loc_";
    struct tracepoint_field *field = array_add(&tracepoint->fields, &tracepoint->field_count, sizeof *field);
    if (!field)
        return -ENOMEM;
    bool is_data = !strncmp(name, data, strlen(data)), is_relative = !strncmp(name, relative, strlen(relative));
    size_t prefix = is_data ? strlen(data) : is_relative ? strlen(relative) : 0;
    *field = (struct tracepoint_field){
        .offset = (unsigned)(base + member->offset),
        .common = common,
        .where = is_data       ? FIELD_DATA_LOC
                 : is_relative ? FIELD_REL_LOC
                               : FIELD_HERE,
    };
    bool named = asprintf(&field->name, "%s%s", common ? "common_" : "", name + prefix) >= 0;
    if (!named) {
        field->name = NULL;
        return -ENOMEM;
    }
    if (!prefix)
        return describe(field, member->type);
    field->size = 4;
    field->element = 1;
    field->type = strdup(is_data ? "__data_loc char[]" : "__rel_loc char[]");
    return field->type ? 0 : -ENOMEM;
}

/* Adds the members of the struct ID, which lies at BASE. */
static int add_all(struct tracepoint *tracepoint, uint32_t id, uint64_t base, bool common)
{
    struct kernel_member member;
    const char *name;
    int code = 0;
    for (unsigned i = 0; !code; i++) {
        code = kernel_type_member_at(id, i, &name, &member);
        if (code == -ERANGE)
            return 0;
        if (!code && !common && !strcmp(name, "ent"))
            code = add_all(tracepoint, member.type, member.offset, true);
        else if (!code && strcmp(name, "__data")) /* where what has no fixed length begins */
            code = add(tracepoint, name, &member, base, common);
    }
    return code;
}

int tracepoint_of_types(const char *spec, struct tracepoint **result)
{
    char name[128];
    uint32_t id, declared;
    const char *colon = strchr(spec, ':');
    *result = NULL;
    if (!colon || snprintf(name, sizeof name, "btf_trace_%s", colon + 1) >= (int)sizeof name ||
        kernel_type_find(name, &declared) ||
        snprintf(name, sizeof name, "struct trace_event_raw_%s", colon + 1) >= (int)sizeof name ||
        kernel_type_find(name, &id))
        return -ENOENT;
    struct tracepoint *tracepoint = calloc(1, sizeof *tracepoint);
    int code = tracepoint && (tracepoint->system = strndup(spec, (size_t)(colon - spec))) &&
                       (tracepoint->name = strdup(colon + 1))
                   ? add_all(tracepoint, id, 0, false)
                   : -ENOMEM;
    if (code)
        tracepoint_free(tracepoint);
    else
        *result = tracepoint;
    return code;
}
