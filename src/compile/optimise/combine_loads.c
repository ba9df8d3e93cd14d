/*
 * Fields that lie close to each other are read by one call, where the first of them is read: of eight fields, that
 * halves the time that the handler takes. Where the call fails, perhaps because the last of them lies on a page that is
 * not there, each is read by itself, so that nothing is lost that could be read.
 */
#include "compile/infer/typed_memory.h"
#include "compile/optimise/optimise.h"

enum { WINDOW_BYTES = 64 };

/* The pointer that VALUE reads through, by whatever name. */
static const struct value *pointer_of(const struct value *value)
{
    const struct value *pointer = ir_value(value->args[0]);
    while (pointer->op == IR_PRESENT ||
           (pointer->op == IR_POINTER && ir_value(pointer->args[0])->type.kind == TYPE_POINTER))
        pointer = ir_value(pointer->args[0]);
    return pointer;
}

/* A number, a boolean or a pointer that lies where the stack can hold a copy of its surroundings: aligned. */
static bool can_share(const struct value *value)
{
    if (!value->access || value->access->is_text || access_is_place(value->type))
        return false;
    uint32_t bytes = access_bytes(value->access);
    return !(bytes & (bytes - 1)) && value->access->offset % bytes == 0;
}

/* True if VALUE's bytes and those of WINDOW fit together into one, which WINDOW becomes. */
static bool join_window(struct window *window, const struct value *value)
{
    const struct value *first = window->first;
    const struct access *a = first->access, *b = value->access;
    if (first->arg_count != value->arg_count || a->stride != b->stride || a->bound != b->bound ||
        first->block->loop != value->block->loop || !ir_dominates(first->block, value->block) ||
        pointer_of(first) != pointer_of(value) ||
        (first->arg_count > 1 && ir_value(first->args[1]) != ir_value(value->args[1])))
        return false;
    int64_t start = b->offset & ~INT64_C(7), end = b->offset + access_bytes(b);
    start = window->start < start ? window->start : start;
    end = window->end > end ? window->end : end;
    if (end - start > WINDOW_BYTES)
        return false;
    window->start = start;
    window->end = end;
    return true;
}

void pass_combine_loads(struct function *function)
{
    struct window **windows = NULL;
    size_t count = 0;
    ir_dominators(function);
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next) {
            if (!can_share(value))
                continue;
            struct window *found = NULL;
            for (size_t i = count; i-- > 0 && !found;)
                found = join_window(windows[i], value) ? windows[i] : NULL;
            if (found) {
                value->access->window = found->first->access->window = found;
                continue;
            }
            int64_t offset = value->access->offset;
            found = arena_allocate(function->arena, sizeof *found);
            *found = (struct window){value, offset & ~INT64_C(7), offset + access_bytes(value->access)};
            windows = arena_grow(function->arena, windows, count, sizeof *windows);
            windows[count++] = found;
        }
}
