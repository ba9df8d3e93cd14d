/*
 * The test in front of a handler that ends it for processes and threads that are not traced. The conditions of the run
 * (PIDs, threads, names, cgroups, CPUs) must all hold; of several of one sort one is enough. What a thread is called
 * and in which cgroup it is may change between a call's entry and its return. A call whose return takes something of
 * its entry belongs to what the thread was at the entry.
 */
#include <string.h>

#include "compile/lower/lower.h"
#include "sys/procstat.h"

static struct shared *object_numbered(const struct compiler *compiler, size_t number)
{
    return number && number <= compiler->object_count ? compiler->objects[number - 1] : NULL;
}

static void use(struct shared *object, const char *name)
{
    if (!object)
        return;
    object->used = true;
    object->name = object->name ? object->name : name;
}

void filter_use(struct compiler *compiler, const struct compile_options *options)
{
    use(object_numbered(compiler, options->followed), "followed");
    use(object_numbered(compiler, options->cgroups), "cgroups");
}

static struct machine_block *ignore(struct lower *lower, int64_t ignored, bool counted)
{
    struct machine_block *other = machine_block(lower->program), *before = lower->program->block;
    other->cold = true;
    machine_place(lower->program, other);
    if (counted)
        state_count_other(lower);
    machine_exit(lower->program, ignored);
    lower->program->block = before;
    return other;
}

struct machine_block *filter_ignore(struct lower *lower, int64_t ignored)
{
    return ignore(lower, ignored, false);
}

/*
 * Goes to TRACED where the thread, or unless OF_THREAD its process, is the one that began at BIRTH, to OTHER if not:
 * numbers are given away again. The kernel's clone and, for a thread that executes a program, its exec see to it that
 * no two have had both in common.
 */
static void expect_birth(struct lower *lower, bool of_thread, struct operand birth, struct machine_block *traced,
                         struct machine_block *other)
{
    const struct compile_options *options = lower->function->options;
    struct program *program = lower->program;
    if (!options->task_birth) {
        machine_jump(program, traced);
        return;
    }
    struct operand task = machine_call(program, BPF_FUNC_get_current_task_btf, NULL, 0);
    if (!of_thread)
        task = machine_load(program, BPF_DW, task, options->task_leader);
    struct operand age = machine_alu(program, BPF_SUB, machine_load(program, BPF_DW, task, options->task_birth), birth);
    machine_branch(program, BPF_JLT, age, operand_immediate(PROCSTAT_BIRTH_WITHIN), traced, other);
}

/* VALUE in a register, whatever its size. */
static struct operand constant(struct program *program, uint64_t value)
{
    struct operand number = operand_immediate((int64_t)value);
    return machine_alu(program, BPF_MOV, number, number);
}

/* Goes on where NUMBER is one of the COUNT NUMBERS, else at OTHER; OF_THREADS: they are those of threads, and the
 * options' births are theirs. */
static void expect_one_of(struct lower *lower, struct operand number, const pid_t *numbers, size_t count,
                          bool of_threads, struct machine_block *other)
{
    const struct compile_options *options = lower->function->options;
    const uint64_t *births = of_threads == (options->tid_count > 0) ? options->births : NULL;
    struct program *program = lower->program;
    struct machine_block *traced = machine_block(program);
    for (size_t i = 0; i < count; i++) {
        struct machine_block *next = i + 1 < count ? machine_block(program) : other;
        struct machine_block *found = births ? machine_block(program) : traced;
        machine_branch(program, BPF_JEQ, number, operand_immediate(numbers[i]), found, next);
        if (births) {
            machine_place(program, found);
            expect_birth(lower, of_threads, constant(program, births[i]), traced, other);
        }
        if (next != other)
            machine_place(program, next);
    }
    machine_place(program, traced);
}

/* Goes on where MAP has an element for the 64-bit NUMBER, else at OTHER. Returns where that is. */
static struct operand expect_element(struct lower *lower, const struct shared *map, struct operand number,
                                     struct machine_block *other)
{
    struct slot *key = program_slot(lower->program, 8);
    machine_store(lower->program, BPF_DW, operand_slot(key, 0), 0, number);
    struct operand found = maps_lookup(lower, map->map_name, operand_slot(key, 0));
    lower_continue_if(lower, BPF_JNE, found, operand_immediate(0), other);
    return found;
}

/* Goes on where the process is in the map FOLLOWED, as it began; else at OTHER. */
static void expect_followed(struct lower *lower, const struct shared *followed, struct machine_block *other)
{
    struct program *program = lower->program;
    struct operand birth = machine_load(program, BPF_DW, expect_element(lower, followed, lower->tgid, other), 0);
    struct machine_block *traced = machine_block(program);
    expect_birth(lower, false, birth, traced, other);
    machine_place(program, traced);
}

/* Goes on where the bytes at NAME begin with the SIZE bytes of WANTED; to OTHERWISE if not. */
static void expect_bytes(struct lower *lower, struct operand name, const char *wanted, size_t size,
                         struct machine_block *otherwise)
{
    static const struct {
        size_t size;
        uint8_t code;
    } pieces[] = {{8, BPF_DW}, {4, BPF_W}, {2, BPF_H}, {1, BPF_B}};
    struct program *program = lower->program;
    size_t at = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        for (; size - at >= pieces[i].size; at += pieces[i].size) {
            uint64_t bytes = 0;
            memcpy(&bytes, wanted + at, pieces[i].size); /* both CPUs are little endian */
            struct operand is = machine_load(program, pieces[i].code, name, (int64_t)at);
            struct operand number = operand_immediate((int64_t)bytes);
            if ((int64_t)bytes != (int32_t)bytes)
                number = constant(program, bytes);
            lower_continue_if(lower, BPF_JEQ, is, number, otherwise);
        }
}

/* Goes on where the thread has one of the names: a whole one, with its NUL, or the beginning before a "*"; else at
 * OTHER. */
static void expect_name(struct lower *lower, const struct compile_options *options, struct machine_block *other)
{
    struct program *program = lower->program;
    struct operand name = probe_comm(lower);
    struct machine_block *traced = machine_block(program);
    for (size_t i = 0; i < options->comm_count; i++) {
        const char *wanted = options->comms[i];
        size_t length = strlen(wanted);
        bool prefix = length && wanted[length - 1] == '*';
        struct machine_block *next = i + 1 < options->comm_count ? machine_block(program) : other;
        expect_bytes(lower, name, wanted, prefix ? length - 1 : length + 1, next);
        machine_jump(program, traced);
        if (next != other)
            machine_place(program, next);
    }
    machine_place(program, traced);
}

void filter_cpus(struct lower *lower)
{
    struct program *program = lower->program;
    const struct handler *handler = lower->function->handler;
    const struct compile_options *options = lower->function->options;
    if (!options->cpu_count || handler->of_every_cpu || handler->provider->of_nobody)
        return;
    struct operand cpu = machine_call_pure(program, BPF_FUNC_get_smp_processor_id, NULL, 0);
    struct machine_block *traced = machine_block(program), *other = filter_ignore(lower, 0);
    for (size_t i = 0, end; i < options->cpu_count; i = end) {
        for (end = i + 1; end < options->cpu_count && options->cpus[end] == options->cpus[end - 1] + 1;)
            end++;
        struct operand from = machine_alu32(program, BPF_SUB, cpu, operand_immediate(options->cpus[i]));
        struct machine_block *next = end < options->cpu_count ? machine_block(program) : other;
        machine_branch(program, BPF_JLE, from, operand_immediate((int64_t)(end - i) - 1), traced, next);
        if (next != other)
            machine_place(program, next);
    }
    machine_place(program, traced);
}

/* True where OPTIONS leave out any process, or unless OF_PROCESSES any thread, for as long as it lives. */
static bool narrows_for_life(const struct compile_options *options, bool of_processes)
{
    return options->followed || options->pid_count || options->except || (!of_processes && options->tid_count);
}

/* True where they leave out threads that may be traced later, or are no more: those of a name or a cgroup. */
static bool narrows_by_turns(const struct compile_options *options)
{
    return options->cgroups || options->comm_count;
}

/* Goes on where what runs is traced by what holds for its life, else at OTHER; OF_PROCESSES: as far as that is a matter
 * of processes. */
static void expect_for_life(struct lower *lower, bool of_processes, struct machine_block *other)
{
    const struct compile_options *options = lower->function->options;
    const struct shared *followed = object_numbered(lower->compiler, options->followed);
    if (followed)
        expect_followed(lower, followed, other);
    else if (options->pid_count)
        expect_one_of(lower, lower->tgid, options->pids, options->pid_count, false, other);
    else if (options->except)
        lower_continue_if(lower, BPF_JNE, lower->tgid, operand_immediate(options->except), other);
    if (options->tid_count && !of_processes)
        expect_one_of(lower, machine_alu32(lower->program, BPF_MOV, lower->pid_tgid, lower->pid_tgid), options->tids,
                      options->tid_count, true, other);
}

/* Goes on where the thread's name and cgroup are traced, else at OTHER. */
static void expect_now(struct lower *lower, struct machine_block *other)
{
    struct program *program = lower->program;
    const struct compile_options *options = lower->function->options;
    const struct shared *cgroups = object_numbered(lower->compiler, options->cgroups);
    if (cgroups) {
        struct operand level = operand_immediate(options->cgroup_level);
        expect_element(lower, cgroups, machine_call_pure(program, BPF_FUNC_get_current_ancestor_cgroup_id, &level, 1),
                       other);
    }
    if (options->comm_count)
        expect_name(lower, options, other);
}

/* Whether the handler runs for what is traced alone. */
static bool is_filtered(const struct lower *lower)
{
    const struct handler *handler = lower->function->handler;
    return !handler->unfiltered && !handler->provider->of_nobody;
}

void filter_for_life(struct lower *lower, int64_t ignored, bool counted)
{
    struct program *program = lower->program;
    bool of_processes = lower->function->handler->of_processes;
    lower->pid_tgid = machine_call_pure(program, BPF_FUNC_get_current_pid_tgid, NULL, 0);
    lower->tgid = machine_alu(program, BPF_RSH, lower->pid_tgid, operand_immediate(32));
    if (is_filtered(lower) && narrows_for_life(lower->function->options, of_processes))
        expect_for_life(lower, of_processes, ignore(lower, ignored, counted));
}

bool filter_turns(const struct lower *lower)
{
    return is_filtered(lower) && !lower->function->handler->of_processes && narrows_by_turns(lower->function->options);
}

void filter_now(struct lower *lower, struct machine_block *other)
{
    if (filter_turns(lower))
        expect_now(lower, other);
}

void filter_lower(struct lower *lower, int64_t ignored, bool counted)
{
    filter_for_life(lower, ignored, counted);
    if (filter_turns(lower))
        expect_now(lower, ignore(lower, ignored, counted));
}

struct machine_block *filter_if_now(struct lower *lower, struct machine_block *to)
{
    struct program *program = lower->program;
    if (!filter_turns(lower))
        return to;
    struct machine_block *here = program->block, *test = machine_block(program);
    test->cold = true;
    machine_place(program, test);
    expect_now(lower, ignore(lower, 0, true));
    machine_jump(program, to);
    program->block = here;
    return test;
}

struct operand filter_asked(struct lower *lower)
{
    struct program *program = lower->program;
    const struct compile_options *options = lower->function->options;
    bool of_processes = lower->function->handler->of_processes, by_turns = !of_processes && narrows_by_turns(options);
    if (!lower->function->handler->unfiltered || !(narrows_for_life(options, of_processes) || by_turns))
        return operand_immediate(1); /* else the handler does not run */
    struct machine_block *no = machine_block(program), *join = machine_block(program);
    expect_for_life(lower, of_processes, no);
    if (by_turns)
        expect_now(lower, no);
    machine_jump(program, join);
    machine_place(program, no);
    machine_continue(program, join);
    return machine_choose(program, join, no, operand_immediate(0), operand_immediate(1));
}
