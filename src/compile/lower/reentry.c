/*
 * Tells calls of functions from the rounds of loops that begin at their first instructions (probe/reentry.h). What a
 * thread is about to do is kept in task storage, for each handler.
 */
#include "compile/lower/reentry.h"

#include <stddef.h>

#include "arch/arch.h"
#include "compile/lower/entry.h"
#include "compile/lower/pairing.h"
#include "sys/cookie.h"

/* What is kept of a thread. */
struct kept_reentry {
    uint64_t next;     /* the stack pointer with which it comes to an entry next, without a call; 0: it does not */
    uint64_t returned; /* the stack pointer at the return that was seen last, if no call has been since; … */
    uint64_t site;     /* … and the number of its function's site */
};

static const char *map_of(struct lower *lower)
{
    return arena_format(lower->function->arena, "uplua_round%zu", lower->function->handler_number % 10000);
}

static struct operand stack_pointer(struct lower *lower)
{
    return machine_load(lower->program, BPF_DW, lower->context, arch_cpu.stack_pointer);
}

static struct operand kept_of_task(struct lower *lower, int64_t flags)
{
    struct operand task = machine_call(lower->program, BPF_FUNC_get_current_task_btf, NULL, 0);
    return pairing_storage(lower->program, map_of(lower), task, flags);
}

static void store(struct lower *lower, struct operand kept, size_t field, struct operand value)
{
    machine_store(lower->program, BPF_DW, kept, (int64_t)field, value);
}

/* Takes down NEXT in KEPT, and ends the program with IGNORED, where the cookie says ROLE; else goes on. */
static void take_down(struct lower *lower, struct operand role, enum cookie_role which, struct operand kept,
                      struct operand next, int64_t ignored)
{
    struct program *program = lower->program;
    struct machine_block *here = machine_block(program), *on = machine_block(program);
    machine_branch(program, BPF_JEQ, role, operand_immediate(which), here, on);
    machine_place(program, here);
    store(lower, kept, offsetof(struct kept_reentry, next), next);
    machine_exit(program, ignored);
    machine_place(program, on);
}

void reentry_expect_call(struct lower *lower, int64_t ignored)
{
    struct program *program = lower->program;
    if (!lower->function->handler->stand.reenters)
        return;
    struct operand role = entry_cookie(lower, COOKIE_ROLE_SHIFT, COOKIE_ROLE_MASK);
    struct operand kept = kept_of_task(lower, BPF_LOCAL_STORAGE_GET_F_CREATE);
    lower_continue_if(lower, BPF_JNE, kept, operand_immediate(0),
                      probe_loss(lower, "no memory for what a thread comes to next: not seen", ignored));
    take_down(lower, role, COOKIE_REENTERS, kept, stack_pointer(lower), ignored);
    take_down(lower, role, COOKIE_PASSED, kept, operand_immediate(0), ignored);
    struct operand entered = entry_word(lower, (unsigned)arch_cpu.stack_pointer / 8);
    struct operand announced = machine_load(program, BPF_DW, kept, offsetof(struct kept_reentry, next));
    struct machine_block *repeats = machine_block(program), *once = machine_block(program),
                         *both = machine_block(program);
    machine_branch(program, BPF_JEQ, role, operand_immediate(COOKIE_REPEATS), repeats, once);
    machine_place(program, repeats);
    store(lower, kept, offsetof(struct kept_reentry, next), entered);
    machine_jump(program, both);
    machine_place(program, once);
    store(lower, kept, offsetof(struct kept_reentry, next), operand_immediate(0));
    machine_continue(program, both);
    lower_continue_if(lower, BPF_JNE, announced, entered, filter_ignore(lower, ignored));
    store(lower, kept, offsetof(struct kept_reentry, returned), operand_immediate(0));
}

void reentry_expect_first_return(struct lower *lower)
{
    struct program *program = lower->program;
    const struct handler *handler = lower->function->handler;
    if (!handler->stand.reenters || handler->by_instruction)
        return;
    struct operand site = entry_cookie(lower, COOKIE_SITE_SHIFT, COOKIE_SITE_MASK);
    struct operand kept = kept_of_task(lower, 0), pointer = stack_pointer(lower);
    struct machine_block *some = machine_block(program), *same = machine_block(program),
                         *first = machine_block(program), *next = machine_block(program);
    machine_branch(program, BPF_JNE, kept, operand_immediate(0), some, next);
    machine_place(program, some);
    machine_branch(program, BPF_JEQ, machine_load(program, BPF_DW, kept, offsetof(struct kept_reentry, returned)),
                   pointer, same, first);
    machine_place(program, same);
    machine_branch(program, BPF_JEQ, machine_load(program, BPF_DW, kept, offsetof(struct kept_reentry, site)), site,
                   filter_ignore(lower, 0), first);
    machine_place(program, first);
    store(lower, kept, offsetof(struct kept_reentry, returned), pointer);
    store(lower, kept, offsetof(struct kept_reentry, site), site);
    machine_continue(program, next);
}

int reentry_declare(struct lower *lower, struct object *result)
{
    if (!lower->function->handler->stand.reenters)
        return 0;
    return object_add_map(result, &(struct object_map){
                                      .name = map_of(lower),
                                      .type = BPF_MAP_TYPE_TASK_STORAGE,
                                      .key_size = 4,
                                      .value_size = sizeof(struct kept_reentry),
                                      .flags = BPF_F_NO_PREALLOC,
                                      .reuse_fd = -1,
                                  });
}
