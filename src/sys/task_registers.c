/*
 * The registers of sleeping threads. An iterator of BPF's (include/linux/bpf.h, BPF_TRACE_ITER) is called for each
 * task; its program writes one record of words, which is read from a descriptor.
 */
#include "sys/task_registers.h"

#include <asm/ptrace.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/btf.h"
#include "sys/kernel_types.h"

#ifdef __x86_64__
enum { REGISTERS = sizeof(struct pt_regs) / 8, NUMBER_AT = offsetof(struct pt_regs, orig_rax), NUMBER_SIZE = 8 };
#define STACK_POINTER_AT (offsetof(struct pt_regs, rsp) / 8)
#define THREAD_POINTER "thread.fsbase"
#else
/* The kernel's struct pt_regs goes on behind what programs see of it: orig_x0, then the call's number. */
enum { REGISTERS = sizeof(struct user_pt_regs) / 8, NUMBER_AT = sizeof(struct user_pt_regs) + 8, NUMBER_SIZE = 4 };
#define STACK_POINTER_AT (offsetof(struct user_pt_regs, sp) / 8)
#define THREAD_POINTER "thread.uw.tp_value"
#endif

/* What the program writes of a task. */
struct record {
    uint64_t process, thread, state, on_cpu, number, thread_pointer;
    uint64_t registers[REGISTERS];
};
_Static_assert(sizeof(struct record) <= 512, "the stack of a BPF program");

struct task_registers {
    int program;
};

struct offsets {
    uint32_t process, thread, state, on_cpu, thread_pointer;
};

static int find_offsets(struct offsets *offsets)
{
    struct kernel_field fields[] = {
        {"task_struct", "tgid", 0, 0},   {"task_struct", "pid", 0, 0},          {"task_struct", "__state", 0, 0},
        {"task_struct", "on_cpu", 0, 0}, {"task_struct", THREAD_POINTER, 0, 0},
    };
    int code = kernel_btf_fields(fields, sizeof fields / sizeof *fields);
    *offsets =
        (struct offsets){fields[0].offset, fields[1].offset, fields[2].offset, fields[3].offset, fields[4].offset};
    return code;
}

/* --- the program --- */

#define MOVE(to, from) ((struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (to), .src_reg = (from)})
#define SET(to, value) ((struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (to), .imm = (value)})
#define ADD(to, value) ((struct bpf_insn){.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = (to), .imm = (value)})
#define CALL(function) ((struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = (function)})
#define LOAD(size, to, from, offset)                                                                                   \
    ((struct bpf_insn){.code = BPF_LDX | BPF_MEM | (size), .dst_reg = (to), .src_reg = (from), .off = (short)(offset)})
#define STORE(from, offset)                                                                                            \
    ((struct bpf_insn){.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 10, .src_reg = (from), .off = (short)(offset)})

enum { AT = -(int)sizeof(struct record), MOST = 32 + 2 * REGISTERS };

/* *PLACE: the word of the record that register 2 gets from OFFSET behind register FROM. */
static size_t copy_word(struct bpf_insn *at, int size, int from, uint32_t offset, size_t place)
{
    at[0] = LOAD(size, 2, from, offset);
    at[1] = STORE(2, AT + (int)place);
    return 2;
}

static size_t write_program(const struct offsets *o, struct bpf_insn code[static MOST])
{
    size_t n = 0;
    code[n++] = MOVE(6, 1);            /* struct bpf_iter__task: meta, task */
    code[n++] = LOAD(BPF_DW, 7, 6, 8); /* the task; NULL at the end */
    size_t jump = n++;
    n += copy_word(code + n, BPF_W, 7, o->process, offsetof(struct record, process));
    n += copy_word(code + n, BPF_W, 7, o->thread, offsetof(struct record, thread));
    n += copy_word(code + n, BPF_W, 7, o->state, offsetof(struct record, state));
    n += copy_word(code + n, BPF_W, 7, o->on_cpu, offsetof(struct record, on_cpu));
    n += copy_word(code + n, BPF_DW, 7, o->thread_pointer, offsetof(struct record, thread_pointer));
    code[n++] = MOVE(1, 7);
    code[n++] = CALL(BPF_FUNC_task_pt_regs);
    for (size_t i = 0; i < REGISTERS; i++)
        n += copy_word(code + n, BPF_DW, 0, 8 * i, offsetof(struct record, registers) + 8 * i);
    n += copy_word(code + n, NUMBER_SIZE == 8 ? BPF_DW : BPF_W, 0, NUMBER_AT, offsetof(struct record, number));
    code[n++] = LOAD(BPF_DW, 1, 6, 0);
    code[n++] = LOAD(BPF_DW, 1, 1, 0); /* meta->seq */
    code[n++] = MOVE(2, 10);
    code[n++] = ADD(2, AT);
    code[n++] = SET(3, sizeof(struct record));
    code[n++] = CALL(BPF_FUNC_seq_write);
    code[jump] = (struct bpf_insn){.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 7, .off = (short)(n - jump - 1)};
    code[n++] = SET(0, 0);
    code[n++] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
    return n;
}

struct task_registers *task_registers_open(int *code)
{
    struct offsets offsets;
    struct bpf_insn instructions[MOST];
    int function = kernel_btf_function("bpf_iter_task");
    *code = function < 0 ? function : find_offsets(&offsets);
    if (*code)
        return NULL;
    LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_ITER,
                .attach_btf_id = (uint32_t)function);
    size_t count = write_program(&offsets, instructions);
    int program = bpf_prog_load(BPF_PROG_TYPE_TRACING, "uplua_threads", "GPL", instructions, count, &options);
    *code = program < 0 ? program : 0;
    struct task_registers *tasks = program < 0 ? NULL : malloc(sizeof *tasks);
    if (tasks)
        tasks->program = program;
    else if (program >= 0) {
        close(program);
        *code = -ENOMEM;
    }
    return tasks;
}

void task_registers_close(struct task_registers *tasks)
{
    if (tasks)
        close(tasks->program);
    free(tasks);
}

/* --- reading --- */

/* Whether the thread is in a call of the kernel, and not on a CPU: then its registers are those of the call. */
static bool sleeps(const struct record *record)
{
    bool calls = NUMBER_SIZE == 8 ? (int64_t)record->number >= 0 : (int32_t)record->number >= 0;
    return record->state && !record->on_cpu && calls;
}

static void tell(const struct record *record, void (*visit)(void *context, const struct thread_words *thread),
                 void *context)
{
    struct thread_words thread = {.tid = (pid_t)record->thread};
    if (sleeps(record)) {
        thread.words = record->registers;
        thread.count = REGISTERS;
        thread.stack_pointer = record->registers[STACK_POINTER_AT];
        thread.thread_pointer = record->thread_pointer;
    }
    visit(context, &thread);
}

/* The descriptor from which the records of PID's threads are read, or -errno. Before Linux 6.1 it has all tasks. */
static int open_iterator(int program, pid_t pid)
{
    union bpf_iter_link_info of = {.task = {.pid = (uint32_t)pid}};
    LIBBPF_OPTS(bpf_link_create_opts, options, .iter_info = &of, .iter_info_len = sizeof of);
    int link = bpf_link_create(program, 0, BPF_TRACE_ITER, &options);
    if (link < 0)
        link = bpf_link_create(program, 0, BPF_TRACE_ITER, NULL);
    if (link < 0)
        return link;
    int fd = bpf_iter_create(link);
    close(link);
    return fd;
}

int task_registers_read(struct task_registers *tasks, pid_t pid,
                        void (*visit)(void *context, const struct thread_words *thread), void *context)
{
    int fd = open_iterator(tasks->program, pid);
    if (fd < 0)
        return fd;
    struct record records[32];
    size_t held = 0, found = 0;
    ssize_t got;
    while ((got = read(fd, (char *)records + held, sizeof records - held)) > 0 || (got < 0 && errno == EINTR)) {
        held += got > 0 ? (size_t)got : 0;
        size_t whole = held / sizeof *records;
        for (size_t i = 0; i < whole; i++)
            if ((pid_t)records[i].process == pid && ++found)
                tell(&records[i], visit, context);
        held -= whole * sizeof *records;
        memmove(records, records + whole, held);
    }
    int code = got < 0 ? -errno : found ? 0 : -ESRCH;
    close(fd);
    return code;
}
