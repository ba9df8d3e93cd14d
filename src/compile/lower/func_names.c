/*
 * e.func of a handler with several sites: the cookie has the site's number, and an array the names by that. A name is a
 * string as string.c describes them, with the mark where it is cut.
 */
#include <bpf/bpf.h>
#include <string.h>

#include "compile/lower/func_names.h"
#include "compile/lower/lower.h"
#include "sys/cookie.h"

void func_names_declare(struct lower *lower, struct object *result)
{
    const struct handler *handler = lower->function->handler;
    if (!*handler->names_map)
        return;
    compile_expect(lower->compiler, lower->function->position,
                   object_add_map(result, &(struct object_map){
                                              .name = handler->names_map,
                                              .type = BPF_MAP_TYPE_ARRAY,
                                              .key_size = 4,
                                              .value_size = names_capacity(handler),
                                              .max_entries = (uint32_t)handler->name_count,
                                              .reuse_fd = -1,
                                          }));
}

struct operand func_names_read(struct lower *lower)
{
    struct program *program = lower->program;
    struct handler *handler = lower->function->handler;
    uint32_t capacity = names_capacity(handler);
    const char *name = arena_format(program->arena, "uplua_names%zu", lower->function->handler_number % 10000);
    memcpy(handler->names_map, name, strlen(name) + 1);
    struct slot *number = program_slot(program, 8), *text = program_slot(program, capacity);
    struct operand cookie = machine_call_pure(program, BPF_FUNC_get_attach_cookie, &lower->context, 1);
    machine_store(program, BPF_DW, operand_slot(number, 0), 0,
                  machine_alu(program, BPF_AND,
                              machine_alu(program, BPF_RSH, cookie, operand_immediate(COOKIE_SITE_SHIFT)),
                              operand_immediate(COOKIE_SITE_MASK)));
    struct operand found = maps_lookup(lower, handler->names_map, operand_slot(number, 0));
    lower_continue_if(lower, BPF_JNE, found, operand_immediate(0),
                      probe_loss(lower, "hit at a place that is not known", 0));
    memory_copy(lower, operand_slot(text, 0), 0, found, 0, capacity);
    return operand_slot(text, 0);
}

int func_names_fill(const struct handler *handler, const struct loaded *loaded)
{
    char text[NAMES_MAX_CAPACITY];
    if (!*handler->names_map)
        return 0;
    int fd = loaded_map_fd(loaded, handler->names_map), result = fd < 0 ? fd : 0;
    size_t capacity = names_capacity(handler);
    for (uint32_t i = 0; i < handler->name_count && !result; i++) {
        size_t length = strlen(handler->names[i]);
        memset(text, 0, sizeof text);
        memcpy(text, handler->names[i], length < capacity ? length : capacity - 1);
        text[capacity - 1] = length >= capacity;
        result = bpf_map_update_elem(fd, &i, text, BPF_ANY);
    }
    return result;
}
