/* The kinds of probes and the fields of their events: one row each. */
#include <linux/bpf.h>
#include <string.h>

#include "arch/arch.h"
#include "compile/context/handler.h"

/* BPF_PROG_TEST_RUN gives a raw tracepoint program up to 12 words. */
static int test_argument(unsigned n)
{
    return n < 12 ? (int)(8 * n) : -1;
}

/* In user space only the probe's own thread waits for a handler; a kind that runs in the kernel's time has 4,096
 * rounds. */
enum { ROUNDS = 65536, KERNEL_ROUNDS = 4096 };

static int no_argument(unsigned n)
{
    (void)n;
    return -1;
}

static const struct probe_kind kinds[HANDLER_KINDS] = {
    [HANDLER_ENTRY] = {.name = "uprobe",
                       .program_type = BPF_PROG_TYPE_KPROBE,
                       .sleeps = true,
                       .registers = REGISTERS_USER,
                       .rounds = ROUNDS,
                       .argument = arch_argument,
                       .arguments = "argument"},
    [HANDLER_RETURN] = {.name = "uretprobe",
                        .program_type = BPF_PROG_TYPE_KPROBE,
                        .of_return = true,
                        .sleeps = true,
                        .registers = REGISTERS_USER,
                        .rounds = ROUNDS,
                        .argument = arch_argument,
                        .arguments = "argument"},
    [HANDLER_KERNEL_ENTRY] = {.name = "kprobe",
                              .program_type = BPF_PROG_TYPE_KPROBE,
                              .kernel_memory = true,
                              .registers = REGISTERS_INTERRUPTED,
                              .rounds = KERNEL_ROUNDS,
                              .argument = arch_argument,
                              .arguments = "argument"},
    [HANDLER_KERNEL_RETURN] = {.name = "kretprobe",
                               .program_type = BPF_PROG_TYPE_KPROBE,
                               .of_return = true,
                               .kernel_memory = true,
                               .registers = REGISTERS_INTERRUPTED,
                               .rounds = KERNEL_ROUNDS,
                               .argument = arch_argument,
                               .arguments = "argument"},
    [HANDLER_FENTRY] = {.name = "fentry",
                        .program_type = BPF_PROG_TYPE_TRACING,
                        .kernel_memory = true,
                        .registers = REGISTERS_THREAD,
                        .rounds = KERNEL_ROUNDS,
                        .argument = no_argument,
                        .arguments = "argument",
                        .numbered = true},
    [HANDLER_FEXIT] = {.name = "fexit",
                       .program_type = BPF_PROG_TYPE_TRACING,
                       .kernel_memory = true,
                       .registers = REGISTERS_THREAD,
                       .rounds = KERNEL_ROUNDS,
                       .argument = no_argument,
                       .arguments = "argument",
                       .numbered = true},
    [HANDLER_USDT] = {.name = "usdt",
                      .program_type = BPF_PROG_TYPE_KPROBE,
                      .sleeps = true,
                      .registers = REGISTERS_USER,
                      .rounds = ROUNDS,
                      .argument = no_argument,
                      .arguments = "argument",
                      .numbered = true},
    [HANDLER_PROFILE] = {.name = "profile",
                         .program_type = BPF_PROG_TYPE_PERF_EVENT,
                         .registers = REGISTERS_INTERRUPTED,
                         .rounds = KERNEL_ROUNDS,
                         .argument = no_argument},
    [HANDLER_PERF] = {.name = "perf",
                      .program_type = BPF_PROG_TYPE_PERF_EVENT,
                      .registers = REGISTERS_INTERRUPTED,
                      .rounds = KERNEL_ROUNDS,
                      .argument = no_argument},
    [HANDLER_WATCH] = {.name = "watch",
                       .program_type = BPF_PROG_TYPE_PERF_EVENT,
                       .registers = REGISTERS_INTERRUPTED,
                       .rounds = KERNEL_ROUNDS,
                       .argument = no_argument},
    [HANDLER_INTERVAL] = {.name = "interval",
                          .program_type = BPF_PROG_TYPE_PERF_EVENT,
                          .rounds = KERNEL_ROUNDS,
                          .argument = no_argument,
                          .of_nobody = true},
    [HANDLER_TRACEPOINT] = {.name = "tracepoint",
                            .program_type = BPF_PROG_TYPE_TRACEPOINT,
                            .kernel_memory = true,
                            .registers = REGISTERS_THREAD,
                            .rounds = KERNEL_ROUNDS,
                            .argument = no_argument,
                            .arguments = "field"},
    [HANDLER_RAW_TRACEPOINT] = {.name = "rawtracepoint",
                                .program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
                                .kernel_memory = true,
                                .registers = REGISTERS_THREAD,
                                .rounds = KERNEL_ROUNDS,
                                .argument = no_argument,
                                .arguments = "argument",
                                .numbered = true},
    [HANDLER_SYSCALL] = {.name = "syscall",
                         .program_type = BPF_PROG_TYPE_TRACEPOINT,
                         .registers = REGISTERS_THREAD,
                         .rounds = KERNEL_ROUNDS,
                         .argument = no_argument,
                         .arguments = "argument",
                         .numbered = true},
    [HANDLER_SYSRETURN] = {.name = "sysreturn",
                           .program_type = BPF_PROG_TYPE_TRACEPOINT,
                           .of_return = true,
                           .registers = REGISTERS_THREAD,
                           .rounds = KERNEL_ROUNDS,
                           .argument = no_argument,
                           .arguments = "argument",
                           .numbered = true},
    [HANDLER_TEST] = {.name = "testrun",
                      .program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
                      .rounds = ROUNDS,
                      .argument = test_argument},
};

const struct probe_kind *probe_kind_of(enum handler_kind kind)
{
    return &kinds[kind];
}

bool handler_reads_kernel(const struct handler *handler)
{
    return kinds[handler->kind].kernel_memory && !handler->user_memory;
}

enum handler_kind probe_kind_find(const char *name)
{
    enum handler_kind kind = HANDLER_ENTRY;
    while (kind < HANDLER_KINDS && strcmp(kinds[kind].name, name))
        kind++;
    return kind;
}

enum {
    RETURN = 1 << HANDLER_RETURN | 1 << HANDLER_KERNEL_RETURN,
    TEST = 1 << HANDLER_TEST,
    USER_FUNCTION = 1 << HANDLER_ENTRY | 1 << HANDLER_RETURN,
    FUNCTION = 1 << HANDLER_ENTRY | 1 << HANDLER_KERNEL_ENTRY | RETURN,
    WATCH = 1 << HANDLER_WATCH,
    EVENT = 1 << HANDLER_PERF | WATCH,
    SAMPLE = 1 << HANDLER_PROFILE | EVENT,
    TRACEPOINT = 1 << HANDLER_TRACEPOINT | 1 << HANDLER_RAW_TRACEPOINT,
    TRAMPOLINE = 1 << HANDLER_FENTRY | 1 << HANDLER_FEXIT,
    SYSRETURN = 1 << HANDLER_SYSRETURN,
    SYSCALL = 1 << HANDLER_SYSCALL | SYSRETURN,
    USDT = 1 << HANDLER_USDT,
    CALL = FUNCTION | TEST,
    ANY = CALL | USDT | SAMPLE | TRACEPOINT | TRAMPOLINE | SYSCALL,
    EVEN_INTERVAL = ANY | 1 << HANDLER_INTERVAL,
};

#define SIGNED                                                                                                         \
    {                                                                                                                  \
        .kind = TYPE_I64                                                                                               \
    }
#define HALF                                                                                                           \
    {                                                                                                                  \
        .kind = TYPE_I64, .bits = 32                                                                                   \
    }
#define ADDRESS                                                                                                        \
    {                                                                                                                  \
        .kind = TYPE_U64                                                                                               \
    }
#define TEXT(bytes)                                                                                                    \
    {                                                                                                                  \
        .kind = TYPE_STRING, .capacity = bytes                                                                         \
    }

static const struct event_field fields[] = {
    {.name = "time", .kinds = EVEN_INTERVAL, .type = SIGNED, .source = EVENT_TIME},
    {.name = "pid", .kinds = ANY, .type = HALF, .source = EVENT_PID},
    {.name = "tid", .kinds = ANY, .type = HALF, .source = EVENT_TID},
    {.name = "uid", .kinds = ANY, .type = HALF, .source = EVENT_UID},
    {.name = "gid", .kinds = ANY, .type = HALF, .source = EVENT_GID},
    {.name = "cpu", .kinds = EVEN_INTERVAL, .type = HALF, .source = EVENT_CPU},
    {.name = "comm", .kinds = ANY, .type = TEXT(16), .source = EVENT_COMM},
    {.name = "cgroup", .kinds = ANY, .type = SIGNED, .source = EVENT_CGROUP},
    {.name = "probe", .kinds = EVEN_INTERVAL, .type = {.kind = TYPE_STRING}, .source = EVENT_PROBE},
    {.name = "func",
     .kinds = CALL | USDT | TRAMPOLINE | SYSCALL | TRACEPOINT,
     .type = {.kind = TYPE_STRING},
     .source = EVENT_FUNC},
    {.name = "nr", .kinds = SYSCALL, .type = HALF, .source = EVENT_CALL, .of_entry = true},
    {.name = "ret", .kinds = RETURN | 1 << HANDLER_FEXIT | SYSRETURN, .type = SIGNED, .source = EVENT_RETURN},
    {.name = "elapsed", .kinds = RETURN | SYSRETURN, .type = SIGNED, .source = EVENT_ELAPSED, .of_entry = true},
    {.name = "ip", .kinds = FUNCTION | USDT | TRAMPOLINE | SAMPLE, .type = ADDRESS, .source = EVENT_IP},
    {.name = "sp", .kinds = USER_FUNCTION | USDT, .type = ADDRESS, .source = EVENT_STACK_POINTER},
    {.name = "caller", .kinds = USER_FUNCTION, .type = ADDRESS, .source = EVENT_CALLER},
    {.name = "period", .kinds = SAMPLE & ~WATCH, .type = SIGNED, .source = EVENT_PERIOD},
    {.name = "addr", .kinds = EVENT, .type = ADDRESS, .source = EVENT_ADDRESS},
    {.name = "value", .kinds = WATCH, .type = SIGNED, .source = EVENT_VALUE},
#define ARGUMENT(n, of)                                                                                                \
    {                                                                                                                  \
        .name = "arg" #n, .kinds = of, .type = SIGNED, .source = EVENT_ARGUMENT, .number = n, .of_entry = true         \
    }
    ARGUMENT(0, CALL),
    ARGUMENT(1, CALL),
    ARGUMENT(2, CALL),
    ARGUMENT(3, CALL),
    ARGUMENT(4, CALL),
    ARGUMENT(5, CALL),
    ARGUMENT(6, CALL),
    ARGUMENT(7, CALL),
    ARGUMENT(8, TEST),
    ARGUMENT(9, TEST),
    ARGUMENT(10, TEST),
    ARGUMENT(11, TEST),
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
        if (fields[i].kinds & 1u << kind &&
            (fields[i].source != EVENT_ARGUMENT || kinds[kind].argument(fields[i].number) >= 0))
            list = arena_format(arena, "%s%s%s", list, *list ? ", " : "", fields[i].name);
    if (kinds[kind].arguments)
        list = arena_format(
            arena, kinds[kind].numbered ? "%s, e.args, those of e.arg0 … that the probe has, e.nargs" : "%s, e.args",
            list);
    return kinds[kind].registers ? arena_format(arena, "%s, e:stack(), e:ustack() and e:kstack()", list) : list;
}
