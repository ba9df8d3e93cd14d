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
/* Where the kernel keeps what XSAVE has stored of a thread: struct fpu, which lies behind the task from Linux 6.16 on.
 */
#define VECTOR_FIELDS                                                                                                  \
    {"task_struct", "thread.fpu", 0, 0}, {"fpu", "fpstate", 0, 0}, {"fpstate", "size", 0, 0},                          \
    {                                                                                                                  \
        "fpstate", "regs", 0, 0                                                                                        \
    }
#else
/* The kernel's struct pt_regs goes on behind what programs see of it: orig_x0, then the call's number. */
enum { REGISTERS = sizeof(struct user_pt_regs) / 8, NUMBER_AT = sizeof(struct user_pt_regs) + 8, NUMBER_SIZE = 4 };
#define STACK_POINTER_AT (offsetof(struct user_pt_regs, sp) / 8)
#define THREAD_POINTER "thread.uw.tp_value"
#define VECTOR_FIELDS                                                                                                  \
    {                                                                                                                  \
        "task_struct", "thread.uw.fpsimd_state", 0, 0                                                                  \
    }
#endif

/* The vector registers are copied by pieces; MOST_VECTORS: as many bytes as AVX-512 has, or the 32 registers of NEON.
 */
enum { PIECE = 64, MOST_VECTORS = 42 * PIECE, NEON = 512 };

/* What the program writes of a task; VECTOR_BYTES of its vector registers follow. */
struct record {
    uint64_t process, thread, state, on_cpu, number, thread_pointer, vector_bytes;
    uint64_t registers[REGISTERS];
};
_Static_assert(sizeof(struct record) + PIECE <= 512, "the stack of a BPF program");

struct task_registers {
    int program;
};

struct offsets {
    uint32_t process, thread, state, on_cpu, thread_pointer;
    /* in the task, where the vector registers are, or on x86_64 a pointer to a struct fpstate; UINT32_MAX: not known */
    uint32_t vectors;
    uint32_t state_size, state_registers; /* in that: how many bytes there are, and where */
};

/* Vector registers that are not found are left out: before Linux 5.16 they lie elsewhere. */
static void find_vectors(struct offsets *offsets)
{
    struct kernel_field fields[] = {VECTOR_FIELDS};
    kernel_btf_fields(fields, sizeof fields / sizeof *fields);
    offsets->vectors = fields[0].offset;
#ifdef __x86_64__
    uint32_t id;
    struct kernel_type task;
    if (offsets->vectors == UINT32_MAX && !kernel_type_find("struct task_struct", &id) && !kernel_type_get(id, &task))
        offsets->vectors = (uint32_t)task.size;
    bool known = fields[1].offset != UINT32_MAX && fields[2].offset != UINT32_MAX && fields[3].offset != UINT32_MAX;
    offsets->vectors = known && offsets->vectors != UINT32_MAX ? offsets->vectors + fields[1].offset : UINT32_MAX;
    offsets->state_size = fields[2].offset;
    offsets->state_registers = fields[3].offset;
#endif
}

static int find_offsets(struct offsets *offsets)
{
    struct kernel_field fields[] = {
        {"task_struct", "tgid", 0, 0},   {"task_struct", "pid", 0, 0},          {"task_struct", "__state", 0, 0},
        {"task_struct", "on_cpu", 0, 0}, {"task_struct", THREAD_POINTER, 0, 0},
    };
    int code = kernel_btf_fields(fields, sizeof fields / sizeof *fields);
    *offsets = (struct offsets){.process = fields[0].offset,
                                .thread = fields[1].offset,
                                .state = fields[2].offset,
                                .on_cpu = fields[3].offset,
                                .thread_pointer = fields[4].offset};
    if (!code)
        find_vectors(offsets);
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

#define JUMP_IF(operation, register, value)                                                                            \
    ((struct bpf_insn){.code = BPF_JMP | (operation) | BPF_K, .dst_reg = (register), .imm = (value)})

/* Of the program's stack: a piece of vector registers, below the record. */
enum { AT = -(int)sizeof(struct record), PIECE_AT = AT - PIECE };
enum { MOST_PIECES = MOST_VECTORS / PIECE, MOST = 64 + 2 * REGISTERS + 16 * MOST_PIECES };

/* *PLACE: the word of the record that register 2 gets from OFFSET behind register FROM. */
static size_t copy_word(struct bpf_insn *at, int size, int from, uint32_t offset, size_t place)
{
    at[0] = LOAD(size, 2, from, offset);
    at[1] = STORE(2, AT + (int)place);
    return 2;
}

/* Puts SIZE bytes, which are the kernel's at register FROM + OFFSET, into the piece. */
static size_t read_piece(struct bpf_insn *code, int size, int from, uint32_t offset)
{
    size_t n = 0;
    code[n++] = MOVE(1, 10);
    code[n++] = ADD(1, PIECE_AT);
    code[n++] = SET(2, size);
    code[n++] = MOVE(3, from);
    code[n++] = ADD(3, (int)offset);
    code[n++] = CALL(BPF_FUNC_probe_read_kernel);
    return n;
}

/* Register 8: where the vector registers of the task in register 7 are; 9: how many bytes. */
static size_t find_task_vectors(const struct offsets *o, struct bpf_insn *code)
{
    size_t n = 0;
    code[n++] = SET(9, 0);
    if (o->vectors == UINT32_MAX)
        return n;
#ifdef __x86_64__
    n += read_piece(code + n, 8, 7, o->vectors);
    code[n++] = LOAD(BPF_DW, 8, 10, PIECE_AT);
    n += read_piece(code + n, 4, 8, o->state_size);
    code[n++] = LOAD(BPF_W, 9, 10, PIECE_AT);
    code[n++] = ADD(8, (int)o->state_registers);
#else
    code[n++] = MOVE(8, 7);
    code[n++] = ADD(8, (int)o->vectors);
    code[n++] = SET(9, NEON);
#endif
    code[n++] = JUMP_IF(BPF_JLE, 9, MOST_VECTORS);
    code[n - 1].off = 1;
    code[n++] = SET(9, MOST_VECTORS);
    code[n++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_AND | BPF_K, .dst_reg = 9, .imm = -PIECE};
    return n;
}

/* Writes SIZE bytes of the stack, from AT on, to the reader. */
static size_t write_bytes(struct bpf_insn *code, int at, int size)
{
    size_t n = 0;
    code[n++] = LOAD(BPF_DW, 1, 6, 0);
    code[n++] = LOAD(BPF_DW, 1, 1, 0); /* meta->seq */
    code[n++] = MOVE(2, 10);
    code[n++] = ADD(2, at);
    code[n++] = SET(3, size);
    code[n++] = CALL(BPF_FUNC_seq_write);
    return n;
}

static size_t write_program(const struct offsets *o, struct bpf_insn code[static MOST])
{
    size_t n = 0, ends[MOST_PIECES], end_count = 0;
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
    n += find_task_vectors(o, code + n);
    code[n++] = STORE(9, AT + (int)offsetof(struct record, vector_bytes));
    n += write_bytes(code + n, AT, sizeof(struct record));
    for (int i = 0; i < MOST_PIECES && o->vectors != UINT32_MAX; i++) {
        ends[end_count++] = n;
        code[n++] = JUMP_IF(BPF_JLE, 9, i * PIECE);
        n += read_piece(code + n, PIECE, 8, (uint32_t)i * PIECE);
        n += write_bytes(code + n, PIECE_AT, PIECE);
    }
    for (size_t i = 0; i < end_count; i++)
        code[ends[i]].off = (short)(n - ends[i] - 1);
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
        thread.count = REGISTERS + record->vector_bytes / 8;
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
    uint64_t words[8 * (sizeof(struct record) + MOST_VECTORS) / 8];
    char *bytes = (char *)words;
    size_t held = 0, found = 0;
    ssize_t got;
    while ((got = read(fd, bytes + held, sizeof words - held)) > 0 || (got < 0 && errno == EINTR)) {
        held += got > 0 ? (size_t)got : 0;
        size_t at = 0;
        while (held - at >= sizeof(struct record)) {
            const struct record *record = (const void *)(bytes + at);
            size_t size = sizeof *record + record->vector_bytes;
            if (held - at < size)
                break;
            if ((pid_t)record->process == pid && ++found)
                tell(record, visit, context);
            at += size;
        }
        held -= at;
        memmove(bytes, bytes + at, held);
    }
    int code = got < 0 ? -errno : found ? 0 : -ESRCH;
    close(fd);
    return code;
}
