/*
 * Lowers the event's fields. A return handler also gets the values that the function's entry saved for it, by the
 * pairing of its provider (pairing.h).
 */
#include <string.h>

#include "arch/arch.h"
#include "compile/lower/entry.h"
#include "compile/lower/lower.h"
#include "compile/lower/pairing.h"
#include "compile/lower/reentry.h"
#include "sys/feature.h"

#include "../bpf/stack.h"
#include "../bpf/system_calls.h"

static const struct provider *provider_of(const struct lower *lower)
{
    return lower->function->handler->provider;
}

static bool is_return(const struct lower *lower)
{
    return provider_of(lower)->pairing;
}

bool probe_is_at_exit(const struct lower *lower)
{
    const struct handler *handler = lower->function->handler;
    return is_return(lower) && (handler->of_go || handler->by_instruction);
}

static uint32_t program_type(const struct lower *lower)
{
    return lower->function->handler->raw ? BPF_PROG_TYPE_RAW_TRACEPOINT : provider_of(lower)->program_type;
}

/*
 * How the handler finds what its entry has left. NULL: there is nothing to do at the entry. At a return instruction
 * that is so if the handler needs no saved value. At other returns the entry is needed in any case: the kernel follows
 * only so many calls at a time, and the entry counts the others. At a system call the entry keeps out calls that began
 * before tracing.
 */
static const struct pairing *choose_pairing(const struct lower *lower)
{
    if (probe_is_at_exit(lower))
        return lower->saved_count ? &pairing_by_map : NULL;
    return provider_of(lower)->pairing;
}

/* The values that the entry half must save, into lower->saved. */
static void find_saved(struct lower *lower)
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

void probe_pair(struct lower *lower)
{
    find_saved(lower);
    lower->pairing = choose_pairing(lower);
}

const char *probe_calls_map(struct lower *lower)
{
    return arena_format(lower->function->arena, "uplua_calls%zu", lower->function->handler_number % 10000);
}

unsigned probe_ledger(struct lower *lower, const char *what)
{
    return ledger_add(lower->compiler,
                      arena_format(lower->function->arena, "%s: %s", lower->function->handler->probe, what));
}

struct machine_block *probe_loss(struct lower *lower, const char *what, int64_t result)
{
    return lower_loss(lower, probe_ledger(lower, what), NULL, result);
}

struct operand probe_context_word(struct lower *lower, int offset, const char *what)
{
    if (offset < 0)
        compile_fail(lower->compiler, lower->program->position, "%s is not in a register on this CPU%s", what,
                     strncmp(what, "arg", 3) ? "" : ", but on the stack: e.args has it by its name, where known");
    return machine_load(lower->program, BPF_DW, lower->context, offset);
}

/* The register at OFFSET of the context as it was at the function's entry. */
static struct operand entry_register(struct lower *lower, int offset, const char *what)
{
    return offset < 0 ? probe_context_word(lower, offset, what) : entry_word(lower, (unsigned)offset / 8);
}

struct operand probe_entry_value(struct lower *lower, const struct event_field *event)
{
    if (event->source == EVENT_GIVEN)
        return argument_word(lower, event->argument);
    if (event->source == EVENT_CALL) /* behind the record's head, and behind the registers: at the same place */
        return machine_load(lower->program, BPF_W, lower->context, 8);
    int (*argument)(unsigned) = lower->function->handler->of_go ? arch_go_argument : provider_of(lower)->argument;
    return entry_register(lower, argument(event->number), event->name);
}

struct operand probe_read_user(struct lower *lower, struct slot *to, uint32_t size, struct operand address)
{
    return machine_call(lower->program, BPF_FUNC_probe_read_user,
                        OPERANDS(operand_slot(to, 0), operand_immediate(size), address));
}

/* True if the return handler runs for calls whose entry was kept, and for no others. */
static bool is_paired(const struct lower *lower)
{
    return lower->pairing && (lower->saved_count || lower->pairing != &pairing_by_storage);
}

/* At the program's start, or at a return: ends it unless it is awake, for what is traced. Which thread a return is of
 * that takes something of its entry, that entry tells. */
static void expect_return_traced(struct lower *lower, bool counted)
{
    if (is_paired(lower)) {
        filter_for_life(lower, 0, counted);
        return;
    }
    state_expect_awake(lower, 0);
    filter_lower(lower, 0, counted);
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
    elapsed_enter(lower);
    state_expect_awake(lower, 1); /* 1: it needs no return */
    filter_lower(lower, 1, true);
    reentry_expect_call(lower, 1);
    lower->pairing->save(lower, 1);
    machine_place(program, at_return);
    elapsed_end(lower);
    expect_return_traced(lower, false);
    lower->pairing->recover(lower);
}

void probe_declare(struct lower *lower, struct object *result)
{
    func_names_declare(lower, result);
    compile_expect(lower->compiler, lower->function->position, reentry_declare(lower, result));
    if (lower->pairing)
        compile_expect(lower->compiler, lower->function->position, lower->pairing->declare(lower, result));
}

/* A program at the handler's probe called NAME, to be written from here on. */
static void begin_program(struct lower *lower, const char *name, uint32_t attached_as)
{
    lower->program = program_new(lower->compiler, name, program_type(lower), attached_as);
    lower->program->of_kernel = provider_of(lower)->of_kernel;
    lower->program->target = provider_of(lower)->called ? lower->function->handler->symbol : NULL;
    lower->program->position = lower->function->position;
    lower->context = machine_context(lower->program);
}

void probe_prologue(struct lower *lower)
{
    struct handler *handler = lower->function->handler;
    const struct compile_options *options = lower->function->options;
    struct arena *arena = lower->function->arena;
    /* In a session the entry tells the kernel whether to follow the call. */
    handler->session = (lower->saved_count || handler->stand.reenters) && options->session_is_return &&
                       lower->pairing && lower->pairing->sessions;
    const char *name = arena_format(arena, "uplua_handler%zu", lower->function->handler_number);
    memcpy(handler->program, name, strlen(name) + 1);
    begin_program(lower, name,
                  handler->session
                      ? options->session_attach_type
                      : provider_attach_type(provider_of(lower), handler->at_entry && !handler->reads_registers));
    if (handler->session) {
        session(lower);
    } else {
        if (is_return(lower))
            elapsed_end(lower);
        if (handler->call == SYSTEM_CALL_COMPAT)
            syscall_expect_compat(lower);
        expect_return_traced(lower, true);
        if (is_return(lower))
            reentry_expect_first_return(lower);
        else
            reentry_expect_call(lower, 0);
        if (handler->call == SYSTEM_CALL_COMPAT || (handler->raw && !is_return(lower)))
            syscall_expect_native(lower);
        if (lower->pairing)
            lower->pairing->recover(lower);
    }
    filter_cpus(lower); /* behind what a return takes away of its entry, which may have been on another CPU */
    state_count_hit(lower);
    if (is_paired(lower))
        state_expect_returns(lower);
}

struct program *probe_entry_half(struct lower *lower)
{
    struct handler *handler = lower->function->handler;
    if (!lower->pairing || handler->session)
        return NULL;
    const char *name = arena_format(lower->function->arena, "uplua_handler%zu_entry", lower->function->handler_number);
    memcpy(handler->entry_program, name, strlen(name) + 1);
    begin_program(lower, name, provider_attach_type(provider_of(lower), handler->at_entry));
    elapsed_enter(lower);
    state_expect_awake(lower, 0);
    filter_for_life(lower, 0, false);
    reentry_expect_call(lower, 0);
    lower->pairing->save(lower, 0);
    lower_fatal_losses(lower);
    return lower->program;
}

/* --- fields --- */

/* A number that no instruction has room for, in a register. */
static struct operand in_register(struct program *program, uint64_t number)
{
    return machine_alu(program, BPF_MOV, operand_immediate((int64_t)number), operand_immediate((int64_t)number));
}

struct operand probe_return_address(struct lower *lower, struct operand link, struct operand slot)
{
    enum { INSIDE_PAGE = 4095 }; /* what is put there lies at a page's beginning */
    struct program *program = lower->program;
    const struct kernel_returns *returns = lower->function->options->returns();
    struct machine_block *plain = machine_block(program), *maybe = machine_block(program);
    struct machine_block *found = machine_block(program), *join = machine_block(program);
    struct operand inside = machine_alu(program, BPF_AND, link, operand_immediate(INSIDE_PAGE));
    machine_branch(program, BPF_JNE, inside, operand_immediate(0), plain, maybe);
    maybe->cold = found->cold = true;
    machine_place(program, maybe);
    struct operand original = machine_call_library(
        program, "uplua_return_address",
        OPERANDS(link, slot, in_register(program, returns->trampoline_fields), in_register(program, returns->chain)));
    unsigned entry = lower_ledger(lower, "a return address is hidden by a return probe");
    machine_branch(program, BPF_JNE, original, operand_immediate(0), found, lower_loss(lower, entry, plain, 0));
    machine_place(program, found);
    machine_jump(program, join);
    machine_place(program, plain);
    machine_continue(program, join);
    return machine_choose(program, join, found, original, link);
}

static struct operand caller(struct lower *lower)
{
    if (is_return(lower) && !probe_is_at_exit(lower))
        return probe_context_word(lower, arch_cpu.instruction_pointer, "e.caller");
    if (!lower->function->handler->at_entry)
        compile_fail(lower->compiler, lower->program->position,
                     "e.caller is only known at a function's first instruction");
    struct operand top = entry_register(lower, arch_cpu.stack_pointer, "the stack pointer");
    if (arch_cpu.return_address >= 0)
        return probe_return_address(lower, entry_register(lower, arch_cpu.return_address, "e.caller"), top);
    struct slot *slot = program_slot(lower->program, 8);
    machine_store(lower->program, BPF_DW, operand_slot(slot, 0), 0, operand_immediate(0));
    probe_read_user(lower, slot, 8, top);
    return probe_return_address(lower, machine_load(lower->program, BPF_DW, operand_slot(slot, 0), 0), top);
}

struct operand probe_instruction(struct lower *lower)
{
    struct operand at = probe_context_word(lower, arch_cpu.instruction_pointer, "e.ip");
    if (is_return(lower) || !lower->function->handler->stand.slid)
        return at;
    return machine_alu(lower->program, BPF_SUB, at, entry_slid(lower));
}

struct operand probe_interrupted_instruction(struct lower *lower)
{
    return machine_call_library(lower->program, "uplua_sampled_ip", OPERANDS(lower->context));
}

/* Tells the stack walk where it begins: 0, or for a function's entry 1 and how far the probe slid. */
static struct operand entry_of_stack(struct lower *lower)
{
    const struct handler *handler = lower->function->handler;
    if (probe_is_at_exit(lower))
        return operand_immediate(1); /* the frame is gone by then, as it is not there yet at the entry */
    if (is_return(lower))
        return operand_immediate(STACK_AT_RETURN);
    if (!handler->at_entry)
        return operand_immediate(0);
    if (handler->stand.slid >= 0)
        return operand_immediate(1 + handler->stand.slid);
    return machine_alu(lower->program, BPF_ADD, entry_slid(lower), operand_immediate(1));
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

struct operand probe_kernel_function(struct lower *lower)
{
    if (lower->function->handler->at_entry)
        return machine_call_pure(lower->program, BPF_FUNC_get_func_ip, &lower->context, 1);
    struct operand ip = probe_context_word(lower, arch_cpu.instruction_pointer, "e.ip");
    return machine_alu(lower->program, BPF_SUB, ip, operand_immediate(arch_cpu.breakpoint_size));
}

struct operand probe_comm(struct lower *lower)
{
    enum { COMM_SIZE = 16 }; /* TASK_COMM_LEN, with the NUL */
    struct operand name = operand_slot(program_slot(lower->program, COMM_SIZE), 0);
    /*
     * Equal names must be equal in all 16 bytes. Most kernels pad with zeros to the buffer's size, but some, such
     * as 6.1, copy by strscpy, which leaves what is behind the word with the NUL as it was: so that is zero.
     */
    for (int i = 0; i < COMM_SIZE; i += 8)
        machine_store(lower->program, BPF_DW, name, i, operand_immediate(0));
    machine_call(lower->program, BPF_FUNC_get_current_comm, OPERANDS(name, operand_immediate(COMM_SIZE)));
    return name;
}

/* The register at OFFSET of the context: of a function's entry as it was there. */
static struct operand register_at(struct lower *lower, int offset, const char *what)
{
    return is_return(lower) ? probe_context_word(lower, offset, what) : entry_register(lower, offset, what);
}

/* The stack pointer with which the thread has entered the kernel; 0 where it cannot be read. */
static struct operand thread_stack_pointer(struct lower *lower)
{
    struct program *program = lower->program;
    struct slot *slot = program_slot(program, 8);
    machine_store(program, BPF_DW, operand_slot(slot, 0), 0, operand_immediate(0));
    struct operand task = machine_call(program, BPF_FUNC_get_current_task_btf, NULL, 0);
    struct operand registers = machine_call(program, BPF_FUNC_task_pt_regs, OPERANDS(task));
    struct operand at = machine_alu(program, BPF_ADD, registers, operand_immediate(arch_cpu.stack_pointer));
    machine_call(program, BPF_FUNC_probe_read_kernel, OPERANDS(operand_slot(slot, 0), operand_immediate(8), at));
    return machine_load(program, BPF_DW, operand_slot(slot, 0), 0);
}

/* What EVENT, which no entry has saved and which is no argument and no register, is. */
static struct operand field_value(struct lower *lower, const struct event_field *event)
{
    struct program *program = lower->program;
    switch (event->source) {
    case EVENT_TIME:
        return machine_call_pure(program, BPF_FUNC_ktime_get_ns, NULL, 0);
    case EVENT_PID:
        return lower->tgid;
    case EVENT_TID:
        return machine_alu32(program, BPF_MOV, lower->pid_tgid, lower->pid_tgid);
    case EVENT_UID:
    case EVENT_GID: {
        struct operand both = machine_call_pure(program, BPF_FUNC_get_current_uid_gid, NULL, 0);
        return event->source == EVENT_UID ? machine_alu32(program, BPF_MOV, both, both)
                                          : machine_alu(program, BPF_RSH, both, operand_immediate(32));
    }
    case EVENT_CPU:
        return machine_call_pure(program, BPF_FUNC_get_smp_processor_id, NULL, 0);
    case EVENT_CGROUP:
        return machine_call_pure(program, BPF_FUNC_get_current_cgroup_id, NULL, 0);
    case EVENT_TRACED:
        return filter_asked(lower);
    case EVENT_TASK:
        return machine_call_pure(program, BPF_FUNC_get_current_task, NULL, 0);
    case EVENT_COMM:
        return probe_comm(lower);
    case EVENT_ARGUMENT:
    case EVENT_CALL:
        return probe_entry_value(lower, event);
    case EVENT_RETURN:
        return provider_of(lower)->result(lower);
    case EVENT_IP:
        return provider_of(lower)->ip(lower);
    case EVENT_STACK_POINTER:
        if (provider_of(lower)->registers == REGISTERS_THREAD)
            return thread_stack_pointer(lower);
        return register_at(lower, arch_cpu.stack_pointer, "e.sp");
    case EVENT_CALLER:
        return caller(lower);
    case EVENT_PERIOD:
        return probe_context_word(lower, arch_cpu.sample_period, "e.period");
    case EVENT_ADDRESS:
        return probe_context_word(lower, arch_cpu.sample_address, "e.addr");
    case EVENT_FUNC:
        return func_names_read(lower);
    case EVENT_PROGRAM:
        lower->compiler->walks = lower->function->position;
        return machine_call_library(program, "uplua_unwind_program", NULL, 0);
    case EVENT_GIVEN:
    case EVENT_REGISTER:
    case EVENT_ELAPSED:
    case EVENT_TAKEN_OFF:
    case EVENT_PROBE:  /* a constant since build.c */
    case EVENT_PARENT: /* a read since then */
    case EVENT_VALUE:
        break;
    }
    return (struct operand){0};
}

/* e.ret of a probe of which some functions return no integer: those of the handler, or others. */
static void result_lower(struct lower *lower, struct place *place)
{
    const struct handler *handler = lower->function->handler;
    bool is_there = !handler->no_result || !*handler->no_result;
    place->value = operand_immediate(0);
    if (is_there)
        place->value = provider_of(lower)->result(lower);
    if (is_there && handler->result_bits)
        place->value = lower_cast(lower->program, place->value, handler->result_bits);
    place->present = machine_copy(lower->program, operand_immediate(is_there));
}

void probe_event_field(struct lower *lower, struct value *value)
{
    struct place *place = lower_place(lower, value);
    const struct event_field *event = value->event;
    if (is_return(lower) && event->of_entry) {
        for (size_t i = 0; i < lower->saved_count; i++)
            if (lower->saved[i].event == event)
                place->value = lower->saved[i].value;
        if (value->type.kind == TYPE_POINTER)
            place->present = place->value;
        if (event->source == EVENT_ELAPSED)
            place->value = elapsed_value(lower, place->value, probe_is_at_exit(lower));
        if (event->source == EVENT_TAKEN_OFF)
            place->value = elapsed_taken_off(lower, place->value);
    } else if (event->source == EVENT_GIVEN) {
        argument_lower(lower, value);
    } else if (event->source == EVENT_REGISTER) {
        bool is_place = value->number == arch_cpu.instruction_pointer && !is_return(lower);
        place->value = is_place ? provider_of(lower)->ip(lower) : register_at(lower, (int)value->number, "e.regs");
    } else if (event->source == EVENT_RETURN && value->type.optional) {
        result_lower(lower, place);
    } else {
        place->value = field_value(lower, event);
        place->capacity = value->type.capacity;
    }
}

/* The id of the stack of a function's entry where the registers that it begins with have changed since. */
static struct operand stack_of_entry(struct lower *lower, const struct value *value)
{
    struct operand link = operand_immediate(0);
    if (arch_cpu.return_address >= 0)
        link = entry_register(lower, arch_cpu.return_address, "e.caller");
    const char *name = feature_available(FEATURE_MAY_GOTO) ? "uplua_ustack_entry" : "uplua_ustack_entry_older";
    return machine_call_library(
        lower->program, name,
        OPERANDS(probe_instruction(lower), entry_register(lower, arch_cpu.stack_pointer, "e.sp"),
                 entry_register(lower, arch_cpu.frame_pointer, "e.fp"), link, operand_immediate(value->number)));
}

void probe_stack(struct lower *lower, struct value *value)
{
    bool of_user = value->op == IR_USTACK, of_probe = provider_of(lower)->registers == REGISTERS_USER;
    uint32_t type = program_type(lower);
    bool of_raw = type == BPF_PROG_TYPE_RAW_TRACEPOINT, fired = of_raw || type == BPF_PROG_TYPE_TRACEPOINT;
    struct operand third = of_user ? entry_of_stack(lower) : operand_immediate(of_raw);
    struct operand args[] = {lower->context, operand_immediate(value->number), third};
    const char *name = !of_user   ? fired ? "uplua_kstack_fired" : "uplua_kstack"
                       : of_probe ? "uplua_ustack"
                       : provider_of(lower)->registers == REGISTERS_THREAD ? "uplua_ustack_thread"
                                                                           : "uplua_ustack_sampled";
    if (of_user && !feature_available(FEATURE_MAY_GOTO))
        name = arena_format(lower->program->arena, "%s_older", name);
    if (of_user)
        lower->compiler->walks = lower->function->position;
    if (of_user && of_probe && !is_return(lower) && !entry_is_whole(lower)) {
        lower_place(lower, value)->value = stack_of_entry(lower, value);
        return;
    }
    lower_place(lower, value)->value =
        machine_call_library(lower->program, name, args, (of_user ? of_probe : fired) ? 3 : 2);
}

void probe_joined_stack(struct lower *lower, struct value *value)
{
    lower_place(lower, value)->value = machine_call_library(
        lower->program, "uplua_stack_join",
        OPERANDS(lower_place(lower, value->args[0])->value, lower_place(lower, value->args[1])->value));
}
