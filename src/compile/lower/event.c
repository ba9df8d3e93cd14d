/*
 * What a handler sees of its probe: the event's fields, and for a return handler what the entry of the function left
 * for it (pair_calls.c, of system calls pair_syscalls.c). At functions of the kernel and of Go that is an entry of a
 * map keyed by thread or goroutine and stack pointer, which tells nested and recursive calls apart, and interrupts,
 * which have stacks of their own.
 */
#include <string.h>

#include "arch/arch.h"
#include "compile/lower/lower.h"
#include "sys/cookie.h"
#include "sys/feature.h"

/* Calls that may be between entry and return at one time: threads times nesting. */
enum { MAX_PENDING_CALLS = 65536 };

/* Of the map of them. */
enum { KERNEL_KEY_SIZE = 16, GOROUTINE_KEY_SIZE = 24 };

static bool is_of_kernel(const struct lower *lower)
{
    enum handler_kind kind = lower->function->handler->kind;
    return kind == HANDLER_KERNEL_ENTRY || kind == HANDLER_KERNEL_RETURN;
}

static const struct probe_kind *kind_of(const struct lower *lower)
{
    return probe_kind_of(lower->function->handler->kind);
}

static bool is_return(const struct lower *lower)
{
    return kind_of(lower)->of_return;
}

/* Whether the function itself calls the handler, whose context has its arguments, and at its return what it returns. */
static bool is_called_by_function(const struct lower *lower)
{
    return kind_of(lower)->program_type == BPF_PROG_TYPE_TRACING;
}

/* True for the exit of a system call: its thread keeps what the entry leaves (pair_syscalls.c). */
static bool is_system_call(const struct lower *lower)
{
    return kind_of(lower)->registers == REGISTERS_THREAD && !is_called_by_function(lower);
}

static uint32_t program_type(const struct lower *lower)
{
    return lower->function->handler->raw ? BPF_PROG_TYPE_RAW_TRACEPOINT : kind_of(lower)->program_type;
}

/* Whether the handler runs at a return instruction: the function has not returned yet. */
static bool is_at_exit(const struct lower *lower)
{
    const struct handler *handler = lower->function->handler;
    return is_return(lower) && (handler->of_go || handler->by_instruction);
}

/*
 * Whether there is something to do at the entry for the return: to leave what the handler asks for; at a function in
 * any case to count the returns that the kernel leaves out, since it follows only so many calls at a time; at a system
 * call so that none is seen that began before it was traced.
 */
static bool keeps_calls(const struct lower *lower)
{
    return is_return(lower) && !is_called_by_function(lower) && (lower->saved_count || !is_at_exit(lower));
}

/* Whether it leaves that in a map of pending calls. */
static bool keeps_in_map(const struct lower *lower)
{
    return is_of_kernel(lower) || is_at_exit(lower);
}

static const char *pending_map(struct lower *lower)
{
    return arena_format(lower->function->arena, "uplua_calls%zu", lower->function->handler_number % 10000);
}

void probe_find_saved(struct lower *lower)
{
    struct function *function = lower->function;
    if (!is_return(lower))
        return;
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next) {
            if (value->op != IR_EVENT_FIELD || !value->event->of_entry)
                continue;
            bool known = false;
            for (size_t i = 0; i < lower->saved_count; i++)
                known |= lower->saved[i].event == value->event;
            if (known)
                continue;
            lower->saved = arena_grow(function->arena, lower->saved, lower->saved_count, sizeof *lower->saved);
            lower->saved[lower->saved_count++] = (struct saved){.event = value->event};
        }
}

/* The ARGUMENT register, return value … of the context; fails where the CPU has none. */
static struct operand context_word(struct lower *lower, int offset, const char *what)
{
    if (offset < 0)
        compile_fail(lower->compiler, lower->program->position, "%s is not in a register on this CPU", what);
    return machine_load(lower->program, BPF_DW, lower->context, offset);
}

struct operand probe_entry_value(struct lower *lower, const struct event_field *event)
{
    if (event->source == EVENT_GIVEN)
        return argument_word(lower, event->argument);
    if (event->source == EVENT_CALL) /* behind the record's head, and behind the registers: at the same place */
        return machine_load(lower->program, BPF_W, lower->context, 8);
    int (*argument)(unsigned) = lower->function->handler->of_go ? arch_go_argument : kind_of(lower)->argument;
    return context_word(lower, argument(event->number), event->name);
}

static struct operand read_user(struct lower *lower, struct slot *to, uint32_t size, struct operand address)
{
    struct operand args[] = {operand_slot(to, 0), operand_immediate(size), address};
    return machine_call(lower->program, BPF_FUNC_probe_read_user, args, 3);
}

/*
 * The goroutine, which several threads work on in turn, and how far from the end of its stack its stack pointer is: the
 * same at the entry and at the return instruction, also where the stack was moved in between, and another one in each
 * nested call.
 */
static struct operand goroutine_key(struct lower *lower)
{
    enum { STACK_HIGH = 8 }; /* struct g begins with struct stack { lo, hi } */
    struct program *program = lower->program;
    struct slot *key = program_slot(program, GOROUTINE_KEY_SIZE), *high = program_slot(program, 8);
    struct operand goroutine = context_word(lower, arch_goroutine(), "the goroutine");
    struct operand pointer = context_word(lower, arch_stack_pointer(), "the stack pointer");
    machine_store(program, BPF_DW, operand_slot(high, 0), 0, operand_immediate(0));
    read_user(lower, high, 8, machine_alu(program, BPF_ADD, goroutine, operand_immediate(STACK_HIGH)));
    struct operand left =
        machine_alu(program, BPF_SUB, machine_load(program, BPF_DW, operand_slot(high, 0), 0), pointer);
    machine_store(program, BPF_DW, operand_slot(key, 0), 0, lower->tgid);
    machine_store(program, BPF_DW, operand_slot(key, 0), 8, goroutine);
    machine_store(program, BPF_DW, operand_slot(key, 0), 16, left);
    return operand_slot(key, 0);
}

/* What tells a pending call of the kernel or of Go from others: for the kernel's, thread and stack pointer at the
 * entry, POPPED bytes ago. */
static struct operand call_key(struct lower *lower, int64_t popped)
{
    if (lower->function->handler->of_go)
        return goroutine_key(lower);
    struct program *program = lower->program;
    struct slot *key = program_slot(program, KERNEL_KEY_SIZE);
    struct operand pointer = context_word(lower, arch_stack_pointer(), "the stack pointer");
    if (popped)
        pointer = machine_alu(program, BPF_SUB, pointer, operand_immediate(popped));
    /* On stacks that a program switches between, another thread may go on with a call. */
    machine_store(program, BPF_DW, operand_slot(key, 0), 0, is_at_exit(lower) ? lower->tgid : lower->pid_tgid);
    machine_store(program, BPF_DW, operand_slot(key, 0), 8, pointer);
    return operand_slot(key, 0);
}

/* Bytes that the entry leaves. */
static uint32_t saved_size(const struct lower *lower)
{
    return lower->saved_count ? (uint32_t)(8 * lower->saved_count) : 8;
}

/*
 * At the entry of a function of the kernel: ends the program, and counts the loss, where the kernel has not put its
 * trampoline in the place of the address that the function returns to, since it follows no more calls. It has by now
 * where it would: of several probes at one place the last that was attached comes first (kernel/kprobes.c,
 * add_new_kprobe), and the return half is attached after this one.
 */
static void expect_return(struct lower *lower)
{
    struct program *program = lower->program;
    uint64_t trampoline = lower->function->options->return_trampoline;
    if (!trampoline)
        return;
    struct operand back;
    if (arch_return_address() >= 0) {
        back = context_word(lower, arch_return_address(), "the return address");
    } else {
        struct slot *slot = program_slot(program, 8);
        machine_store(program, BPF_DW, operand_slot(slot, 0), 0, operand_immediate(0));
        struct operand args[] = {operand_slot(slot, 0), operand_immediate(8),
                                 context_word(lower, arch_stack_pointer(), "the stack pointer")};
        machine_call(program, BPF_FUNC_probe_read_kernel, args, 3);
        back = machine_load(program, BPF_DW, operand_slot(slot, 0), 0);
    }
    unsigned entry =
        ledger_add(lower->compiler,
                   arena_format(program->arena, "%s: return not seen: more calls at one time than the kernel follows",
                                lower->function->handler->probe));
    struct operand expected =
        machine_alu(program, BPF_MOV, operand_immediate((int64_t)trampoline), operand_immediate((int64_t)trampoline));
    lower_continue_if(lower, BPF_JEQ, back, expected, lower_loss(lower, entry, NULL, 0));
}

/*
 * Counts a call that began where the one with KEY begins, and is still waited for: it was left by another way than its
 * return instructions, or that one would not be there.
 */
static void count_left(struct lower *lower, struct operand key)
{
    struct program *program = lower->program;
    struct operand args[] = {operand_map(pending_map(lower)), key};
    struct operand found = machine_call(program, BPF_FUNC_map_lookup_elem, args, 2);
    const char *cause =
        arena_format(program->arena,
                     "%s: calls left by longjmp, an exception, a jump to another function or the like: return not seen",
                     lower->function->handler->probe);
    struct machine_block *next = machine_block(program);
    struct machine_block *left = lower_loss(lower, ledger_add(lower->compiler, cause), next, 0);
    machine_branch(program, BPF_JEQ, found, operand_immediate(0), next, left);
    machine_place(program, next);
}

/* Puts what the return needs into the map of pending calls; ends the program. */
static void save_in_map(struct lower *lower)
{
    struct program *program = lower->program;
    if (is_of_kernel(lower))
        expect_return(lower);
    struct operand key = call_key(lower, 0);
    if (lower->function->handler->by_instruction)
        count_left(lower, key);
    struct slot *values = program_slot(program, saved_size(lower));
    if (!lower->saved_count)
        machine_store(program, BPF_DW, operand_slot(values, 0), 0, operand_immediate(0));
    bool timed = false;
    for (size_t i = 0; i < lower->saved_count; i++) {
        bool of_time = lower->saved[i].event->source == EVENT_ELAPSED;
        timed |= of_time;
        machine_store(program, BPF_DW, operand_slot(values, 0), 8 * (int64_t)i,
                      of_time ? operand_immediate(0) : probe_entry_value(lower, lower->saved[i].event));
    }
    struct operand args[] = {operand_map(pending_map(lower)), key, operand_slot(values, 0), operand_immediate(BPF_ANY)};
    struct operand result = machine_call(program, BPF_FUNC_map_update_elem, args, 4);
    struct machine_block *saved = machine_block(program);
    unsigned entry =
        ledger_add(lower->compiler, arena_format(program->arena, "%s: more than %d calls at one time: return not seen",
                                                 lower->function->handler->probe, MAX_PENDING_CALLS));
    machine_branch(program, BPF_JEQ, result, operand_immediate(0), saved, lower_loss(lower, entry, NULL, 0));
    machine_place(program, saved);
    if (timed) { /* last of all, since what comes behind counts for the function */
        struct operand found = machine_call(program, BPF_FUNC_map_lookup_elem, args, 2);
        lower_continue_if(lower, BPF_JNE, found, operand_immediate(0), filter_ignore(lower, 0));
        elapsed_begin(lower, found, 0);
    }
    machine_exit(program, 0);
}

static void recover_from_map(struct lower *lower)
{
    struct program *program = lower->program;
    struct operand key = call_key(lower, is_at_exit(lower) ? 0 : arch_return_pops());
    struct operand args[] = {operand_map(pending_map(lower)), key};
    struct operand found = machine_call(program, BPF_FUNC_map_lookup_elem, args, 2);
    unsigned entry =
        ledger_add(lower->compiler, arena_format(program->arena, "%s: return of a call whose entry was not seen",
                                                 lower->function->handler->probe));
    lower_continue_if(lower, BPF_JNE, found, operand_immediate(0), lower_loss(lower, entry, NULL, 0));
    for (size_t i = 0; i < lower->saved_count; i++)
        lower->saved[i].value = machine_load(program, BPF_DW, found, 8 * (int64_t)i);
    machine_call(program, BPF_FUNC_map_delete_elem, args, 2);
}

/* Both halves in one program; the kernel calls it at the entry and at the return. */
static void session(struct lower *lower)
{
    struct program *program = lower->program;
    const struct compile_options *options = lower->function->options;
    /* Newer kernels want the context, older ones ignore it. */
    struct operand returns =
        machine_call_kernel(program, "bpf_session_is_return", options->session_is_return, &lower->context, 1);
    struct machine_block *at_return = machine_block(program), *at_entry = machine_block(program);
    /* a bool: the low byte counts */
    machine_branch(program, BPF_JSET, returns, operand_immediate(1), at_return, at_entry);
    machine_place(program, at_entry);
    filter_lower(lower, 1); /* 1: it needs no return */
    calls_save(lower, 0, 1);
    machine_place(program, at_return);
    elapsed_end(lower);
    filter_lower(lower, 0);
    calls_recover(lower);
}

static int pending_declare(struct lower *lower, struct object *result)
{
    return object_add_map(result,
                          &(struct object_map){
                              .name = pending_map(lower),
                              .type = BPF_MAP_TYPE_HASH,
                              .key_size = lower->function->handler->of_go ? GOROUTINE_KEY_SIZE : KERNEL_KEY_SIZE,
                              .value_size = saved_size(lower),
                              .max_entries = MAX_PENDING_CALLS,
                              .flags = BPF_F_NO_PREALLOC,
                              .reuse_fd = -1,
                          });
}

void probe_declare(struct lower *lower, struct object *result)
{
    names_declare(lower, result);
    if (!keeps_calls(lower))
        return;
    int status = is_system_call(lower) ? syscall_declare(lower, result)
                 : keeps_in_map(lower) ? pending_declare(lower, result)
                                       : calls_declare(lower, result);
    compile_expect(lower->compiler, lower->function->position, status);
}

/* The expected attach type of a program of KIND. Links of many kprobes stand at functions' entries alone. */
static uint32_t attach_type_of(const struct lower *lower, enum handler_kind kind)
{
    return is_of_kernel(lower) && !lower->function->handler->at_entry ? 0
                                                                      : lower->function->options->attach_types[kind];
}

void probe_prologue(struct lower *lower)
{
    struct handler *handler = lower->function->handler;
    const struct compile_options *options = lower->function->options;
    struct arena *arena = lower->function->arena;
    handler->session =
        lower->saved_count && options->session_is_return && !keeps_in_map(lower) && !is_system_call(lower);
    const char *name = arena_format(arena, "uplua_handler%zu", lower->function->handler_number);
    memcpy(handler->program, name, strlen(name) + 1);
    uint32_t attach_type = handler->session ? options->session_attach_type : attach_type_of(lower, handler->kind);
    lower->program = program_new(lower->compiler, name, program_type(lower), attach_type);
    lower->program->of_kernel = is_of_kernel(lower);
    lower->program->target = is_called_by_function(lower) ? handler->symbol : NULL;
    lower->program->position = lower->function->position;
    lower->context = machine_context(lower->program);
    if (handler->session) {
        session(lower);
        return;
    }
    if (is_return(lower))
        elapsed_end(lower);
    filter_lower(lower, 0);
    if (handler->raw && !is_return(lower))
        syscall_expect_native(lower);
    if (is_return(lower) && is_system_call(lower))
        syscall_recover(lower);
    else if (keeps_calls(lower) && keeps_in_map(lower))
        recover_from_map(lower);
    else if (keeps_calls(lower))
        calls_recover(lower);
}

struct program *probe_entry_half(struct lower *lower)
{
    struct handler *handler = lower->function->handler;
    if (!keeps_calls(lower) || handler->session)
        return NULL;
    const char *name = arena_format(lower->function->arena, "uplua_handler%zu_entry", lower->function->handler_number);
    memcpy(handler->entry_program, name, strlen(name) + 1);
    bool of_call = is_return(lower) && is_system_call(lower);
    enum handler_kind kind = is_of_kernel(lower) ? HANDLER_KERNEL_RETURN : HANDLER_ENTRY;
    lower->program =
        program_new(lower->compiler, name, of_call ? program_type(lower) : probe_kind_of(kind)->program_type,
                    of_call ? 0 : attach_type_of(lower, kind));
    lower->program->of_kernel = is_of_kernel(lower);
    lower->program->position = lower->function->position;
    lower->context = machine_context(lower->program);
    filter_lower(lower, 0);
    if (handler->raw)
        syscall_expect_native(lower);
    if (of_call)
        syscall_save(lower);
    else if (keeps_in_map(lower))
        save_in_map(lower);
    else
        calls_save(lower, 0, 0);
    lower_fatal_losses(lower);
    return lower->program;
}

/* --- fields --- */

static struct operand caller(struct lower *lower)
{
    if (is_return(lower) && !is_at_exit(lower))
        return context_word(lower, arch_instruction_pointer(), "e.caller");
    if (!lower->function->handler->at_entry)
        compile_fail(lower->compiler, lower->program->position,
                     "e.caller is only known at a function's first instruction");
    if (arch_return_address() >= 0)
        return context_word(lower, arch_return_address(), "e.caller");
    struct slot *slot = program_slot(lower->program, 8);
    machine_store(lower->program, BPF_DW, operand_slot(slot, 0), 0, operand_immediate(0));
    read_user(lower, slot, 8, context_word(lower, arch_stack_pointer(), "the stack pointer"));
    return machine_load(lower->program, BPF_DW, operand_slot(slot, 0), 0);
}

/* Bytes between the function's entry and the probe. */
static struct operand slid(struct lower *lower)
{
    int distance = lower->function->handler->slid;
    if (distance >= 0)
        return operand_immediate(distance);
    struct program *program = lower->program;
    struct operand cookie = machine_call_pure(program, BPF_FUNC_get_attach_cookie, &lower->context, 1);
    cookie = machine_alu(program, BPF_RSH, cookie, operand_immediate(COOKIE_SLID_SHIFT));
    return machine_alu(program, BPF_AND, cookie, operand_immediate(COOKIE_SLID_MASK));
}

/* Where the probe stands, for a function's entry that one. */
static struct operand instruction(struct lower *lower)
{
    struct operand at = context_word(lower, arch_instruction_pointer(), "e.ip");
    if (is_return(lower) || !lower->function->handler->slid)
        return at;
    return machine_alu(lower->program, BPF_SUB, at, slid(lower));
}

/* What the walk up the stack wants to know of where it begins: 0, or for a function's entry 1 and how far the probe
 * slid. */
static struct operand entry_of_stack(struct lower *lower)
{
    const struct handler *handler = lower->function->handler;
    if (is_at_exit(lower))
        return operand_immediate(1); /* the frame is gone by then, as it is not there yet at the entry */
    if (is_return(lower) || !handler->at_entry)
        return operand_immediate(0);
    if (handler->slid >= 0)
        return operand_immediate(1 + handler->slid);
    return machine_alu(lower->program, BPF_ADD, slid(lower), operand_immediate(1));
}

struct operand probe_call_for_word(struct lower *lower, int32_t helper, const struct operand *number)
{
    struct program *program = lower->program;
    struct slot *slot = program_slot(program, 8);
    machine_store(program, BPF_DW, operand_slot(slot, 0), 0, operand_immediate(0));
    struct operand args[3] = {lower->context};
    size_t count = 1;
    if (number)
        args[count++] = *number;
    args[count++] = operand_slot(slot, 0);
    machine_call(program, helper, args, count);
    return machine_load(program, BPF_DW, operand_slot(slot, 0), 0);
}

/* Where the probe stands: the function, whatever the kernel has put at its first instructions; or inside of it. */
static struct operand kernel_ip(struct lower *lower)
{
    if (lower->function->handler->at_entry)
        return machine_call_pure(lower->program, BPF_FUNC_get_func_ip, &lower->context, 1);
    struct operand ip = context_word(lower, arch_instruction_pointer(), "e.ip");
    return machine_alu(lower->program, BPF_SUB, ip, operand_immediate(arch_breakpoint_size()));
}

static struct operand comm(struct lower *lower)
{
    struct slot *slot = program_slot(lower->program, 16);
    /*
     * Equal names must be equal in all 16 bytes. Most kernels pad with zeros to the buffer's size, but some, such
     * as 6.1, copy by strscpy, which leaves what is behind the word with the NUL as it was: so that is zero.
     */
    for (int i = 0; i < 16; i += 8)
        machine_store(lower->program, BPF_DW, operand_slot(slot, 0), i, operand_immediate(0));
    struct operand args[] = {operand_slot(slot, 0), operand_immediate(16)};
    machine_call(lower->program, BPF_FUNC_get_current_comm, args, 2);
    return operand_slot(slot, 0);
}

void probe_event_field(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    struct place *place = lower_place(lower, value);
    const struct event_field *event = value->event;
    if (is_return(lower) && event->of_entry) {
        for (size_t i = 0; i < lower->saved_count; i++)
            if (lower->saved[i].event == event)
                place->value = lower->saved[i].value;
        if (value->type.kind == TYPE_POINTER)
            place->present = place->value;
        if (event->source == EVENT_ELAPSED)
            place->value = elapsed_value(lower, place->value, is_at_exit(lower));
        return;
    }
    switch (event->source) {
    case EVENT_TIME:
        place->value = machine_call_pure(program, BPF_FUNC_ktime_get_ns, NULL, 0);
        break;
    case EVENT_PID:
        place->value = lower->tgid;
        break;
    case EVENT_TID:
        place->value = machine_alu32(program, BPF_MOV, lower->pid_tgid, lower->pid_tgid);
        break;
    case EVENT_UID:
    case EVENT_GID: {
        struct operand both = machine_call_pure(program, BPF_FUNC_get_current_uid_gid, NULL, 0);
        place->value = event->source == EVENT_UID ? machine_alu32(program, BPF_MOV, both, both)
                                                  : machine_alu(program, BPF_RSH, both, operand_immediate(32));
        break;
    }
    case EVENT_CPU:
        place->value = machine_call_pure(program, BPF_FUNC_get_smp_processor_id, NULL, 0);
        break;
    case EVENT_CGROUP:
        place->value = machine_call_pure(program, BPF_FUNC_get_current_cgroup_id, NULL, 0);
        break;
    case EVENT_COMM:
        place->value = comm(lower);
        place->capacity = 16;
        break;
    case EVENT_ARGUMENT:
    case EVENT_CALL:
        place->value = probe_entry_value(lower, event);
        break;
    case EVENT_GIVEN:
        argument_lower(lower, value);
        break;
    case EVENT_RETURN:
        place->value =
            is_called_by_function(lower)
                ? probe_call_for_word(lower, BPF_FUNC_get_func_ret, NULL)
                : context_word(lower,
                               is_system_call(lower) ? (lower->function->handler->raw ? 8 : 16) : arch_return_value(),
                               "e.ret");
        break;
    case EVENT_IP:
        place->value = is_of_kernel(lower) || is_called_by_function(lower) ? kernel_ip(lower) : instruction(lower);
        break;
    case EVENT_STACK_POINTER: /* as at the entry: a probe slides past nothing that moves it */
        place->value = context_word(lower, arch_stack_pointer(), "e.sp");
        break;
    case EVENT_CALLER:
        place->value = caller(lower);
        break;
    case EVENT_PERIOD:
        place->value = context_word(lower, arch_sample_period(), "e.period");
        break;
    case EVENT_ADDRESS:
        place->value = context_word(lower, arch_sample_address(), "e.addr");
        break;
    case EVENT_FUNC:
        place->value = names_read(lower);
        place->capacity = names_capacity(lower->function->handler);
        break;
    case EVENT_ELAPSED:
    case EVENT_PROBE: /* a constant since build.c */
    case EVENT_VALUE: /* a read since then */
        break;
    }
}

void probe_stack(struct lower *lower, struct value *value)
{
    bool of_user = value->op == IR_USTACK, of_probe = kind_of(lower)->registers == REGISTERS_USER;
    uint32_t type = program_type(lower);
    bool of_raw = type == BPF_PROG_TYPE_RAW_TRACEPOINT, fired = of_raw || type == BPF_PROG_TYPE_TRACEPOINT;
    struct operand third = of_user ? entry_of_stack(lower) : operand_immediate(of_raw);
    struct operand args[] = {lower->context, operand_immediate(value->number), third};
    const char *name = !of_user                                        ? fired ? "uplua_kstack_fired" : "uplua_kstack"
                       : of_probe                                      ? "uplua_ustack"
                       : kind_of(lower)->registers == REGISTERS_THREAD ? "uplua_ustack_thread"
                                                                       : "uplua_ustack_sampled";
    if (of_user && !feature_available(FEATURE_MAY_GOTO))
        name = arena_format(lower->program->arena, "%s_older", name);
    if (of_user)
        lower->compiler->walks = lower->function->position;
    lower_place(lower, value)->value =
        machine_call_library(lower->program, name, args, (of_user ? of_probe : fired) ? 3 : 2);
}

void probe_joined_stack(struct lower *lower, struct value *value)
{
    struct operand args[] = {lower_place(lower, value->args[0])->value, lower_place(lower, value->args[1])->value};
    lower_place(lower, value)->value = machine_call_library(lower->program, "uplua_stack_join", args, 2);
}
