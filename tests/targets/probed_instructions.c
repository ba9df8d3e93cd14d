/*
 * What becomes of a program that is probed at an instruction: by the kernel alone, without uplua. Each p_NAME is such
 * an instruction, and e_NAME the function that gets there.
 *
 *   probed_instructions              for each NAME: what a program does that calls e_NAME 3 times, without a probe and
 *                                    with a plain uprobe of perf at p_NAME; "NAME: ends well; 3 hits, ends well"
 *   probed_instructions NAME         calls e_NAME 3 times
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__
#include <ucontext.h>
#endif

enum { CALLS = 3 };

#ifdef __x86_64__
/* BEFORE runs first, PROBED is the instruction, AFTER returns; TRAPS: the instruction brings a SIGTRAP of its own. */
#define INSTRUCTIONS(of)                                                                                               \
    /* flags: a step sets the trap flag, which these store or return from, to be had again later */                    \
    of(pushfq, "", "pushfq", "popfq; ret", 0) of(pushfw, "", "pushfw", "popfw; ret", 0)                                \
        of(pushfq_rex, "", ".byte 0x48, 0x9c", "popfq; ret", 0) of(popfq, "pushfq", "popfq", "ret", 0)                 \
            of(popfw, "pushfw", "popfw", "ret", 0) of(popfq_rex, "pushfq", ".byte 0x48, 0x9d", "ret", 0)               \
                of(popfq_sets_trap, "pushfq; orl $0x100, (%rsp)", "popfq", "nop; ret", 1)                              \
                    of(lahf, "", "lahf", "ret", 0) of(sahf, "lahf", "sahf", "ret", 0)                                  \
                        of(std, "", "std", "cld; ret", 0)                                                              \
                            of(cld, "", "cld", "ret", 0) /* ways into the kernel, and returns from it */               \
        of(syscall, "mov $39, %eax", "syscall", "ret", 0) of(syscall_rex, "mov $39, %eax", ".byte 0x48, 0x0f, 0x05",   \
                                                             "ret",                                                    \
                                                             0) of(sysenter, "mov $39, %eax", "sysenter", "ret", 0)    \
            of(int_0x80, "push %rbx; mov $20, %eax", "int $0x80", "pop %rbx; ret", 0) of(int3, "", "int3", "ret", 1)   \
                of(int_3, "", ".byte 0xcd, 3", "ret", 1) of(int1, "", ".byte 0xf1", "ret", 1)                          \
                    of(iretq,                                                                                          \
                       "mov %rsp, %rax; mov %ss, %ecx; push %rcx; push %rax; pushfq; mov %cs, %ecx; push %rcx; lea "   \
                       "1f(%rip), %rcx; "                                                                              \
                       "push %rcx",                                                                                    \
                       "iretq", "1: ret", 0) of(lretq, "pop %rcx; mov %cs, %eax; push %rax; push %rcx", "lretq",       \
                                                "ud2", 0) /* behind these the CPU takes no trap for one instruction */ \
        of(mov_ss, "mov %ss, %eax", "mov %eax, %ss", "ret", 0)                                                         \
            of(mov_ss_memory, "mov %ss, -8(%rsp)", "mov -8(%rsp), %ss", "ret", 0)                                      \
                of(behind_mov_ss, "mov %ss, %eax; mov %eax, %ss", "nop", "ret", 0)                                     \
                    of(mov_ds, "mov %ds, %eax", "mov %eax, %ds", "ret",                                                \
                       0) /* what functions begin with, and what looks unusual */                                      \
        of(nop, "", "nop", "ret", 0) of(endbr64, "", "endbr64", "ret", 0)                                              \
            of(push, "", "push %rbp", "pop %rbp; ret", 0) of(push_rsp, "", "push %rsp", "pop %rax; ret", 0)            \
                of(push_memory, "", "push (%rip)", "pop %rax; ret", 0) of(pop, "push %rax", "pop %rax", "ret", 0)      \
                    of(mov_memory, "", "mov (%rip), %eax", "ret", 0) of(mov_fs, "", "mov %fs:0, %rax", "ret", 0)       \
                        of(call, "", "call 1f", "ret; 1: ret", 0) of(jmp, "", "jmp 1f", "ud2; 1: ret", 0)              \
                            of(jcc, "test %eax, %eax", "je 1f", "1: ret", 0) of(jrcxz, "", "jrcxz 1f", "1: ret", 0)    \
                                of(loop, "mov $1, %ecx", "loop 1f", "1: ret", 0) of(ret, "", "ret", "", 0)             \
                                    of(ret_0, "", "ret $0", "", 0) of(rep_ret, "", "rep ret", "", 0)                   \
                                        of(enter, "", "enter $16, $0", "leave; ret", 0)                                \
                                            of(leave, "push %rbp; mov %rsp, %rbp", "leave", "ret", 0)                  \
                                                of(xchg_memory, "push %rax", "xchg %rax, (%rsp)", "pop %rax; ret", 0)  \
                                                    of(rep_stosb, "lea -8(%rsp), %rdi; mov $1, %ecx", "rep stosb",     \
                                                       "ret", 0) of(rdtsc, "", "rdtsc", "ret", 0)                      \
                                                        of(cpuid, "push %rbx; xor %eax, %eax", "cpuid",                \
                                                           "pop %rbx; ret", 0) of(pause, "", "pause", "ret", 0)        \
                                                            of(lock_inc, "push $0", "lock incl (%rsp)",                \
                                                               "pop %rax; ret", 0)
#else
#define INSTRUCTIONS(of)                                                                                               \
    of(nop, "", "nop", "ret", 0) of(svc, "mov x8, #172", "svc #0", "ret", 0) of(brk, "", "brk #0", "ret", 1)
#endif

#define CODE(name, before, probed, after, traps)                                                                       \
    ".globl e_" #name "\n.type e_" #name ", %function\ne_" #name ":\n" before "\n"                                     \
    ".globl p_" #name "\n.type p_" #name ", %function\np_" #name ":\n" probed "\n" after "\n"                          \
    ".size p_" #name ", . - p_" #name "\n.size e_" #name ", . - e_" #name "\n"

__asm__(".text\n" INSTRUCTIONS(CODE));

#define DECLARED(name, before, probed, after, traps) void e_##name(void), p_##name(void);
INSTRUCTIONS(DECLARED)

extern const char __executable_start[];

static const struct instruction {
    const char *name;
    void (*enter)(void), (*probed)(void);
    int traps;
} instructions[] = {
#define ROW(name, before, probed, after, traps) {#name, e_##name, p_##name, traps},
    INSTRUCTIONS(ROW)};
enum { COUNT = sizeof instructions / sizeof *instructions };

static void pass_over(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    ucontext_t *state = context;
#ifdef __x86_64__
    state->uc_mcontext.gregs[REG_EFL] &= ~0x100;
#else
    state->uc_mcontext.pc += 4;
#endif
}

static void call(const struct instruction *instruction)
{
    struct sigaction action = {.sa_sigaction = pass_over, .sa_flags = SA_SIGINFO};
    if (instruction->traps)
        sigaction(SIGTRAP, &action, NULL);
    for (int i = 0; i < CALLS; i++)
        instruction->enter();
}

/* How a program that waits for a byte at GO and calls INSTRUCTION ends; it is started before MARK, the pipe's end. */
static pid_t start(const struct instruction *instruction, int go)
{
    pid_t pid = fork();
    char byte;
    if (pid)
        return pid;
    struct rlimit no_core = {0};
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(10); /* where it never ends */
    if (read(go, &byte, 1) == 1)
        call(instruction);
    _exit(0);
}

static void print_end(int status)
{
    if (WIFSIGNALED(status))
        printf("SIG%s", sigabbrev_np(WTERMSIG(status)));
    else
        printf(WEXITSTATUS(status) ? "exit %d" : "ends well", WEXITSTATUS(status));
}

static int uprobe_type(void)
{
    int type = -1;
    FILE *in = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
    if (!in || fscanf(in, "%d", &type) != 1)
        type = -1;
    if (in)
        fclose(in);
    return type;
}

/* A uprobe at INSTRUCTION in process PID: a descriptor, or -errno. */
static int probe(const struct instruction *instruction, pid_t pid)
{
    struct perf_event_attr event = {
        .type = (uint32_t)uprobe_type(),
        .size = sizeof event,
        .config1 = (uintptr_t) "/proc/self/exe",
        .config2 = (uintptr_t)instruction->probed - (uintptr_t)__executable_start,
    };
    int fd = (int)syscall(SYS_perf_event_open, &event, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Runs a program that calls INSTRUCTION, with a probe if PROBED: prints what happens. */
static void try(const struct instruction *instruction, int probed)
{
    int go[2], status = 0, fd = -1;
    uint64_t hits = 0;
    if (pipe2(go, O_CLOEXEC))
        return;
    pid_t pid = start(instruction, go[0]);
    if (probed)
        fd = probe(instruction, pid);
    if (write(go[1], "", 1) != 1)
        kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    if (fd >= 0 && read(fd, &hits, sizeof hits) == sizeof hits)
        printf("%llu hits, ", (unsigned long long)hits);
    if (probed && fd < 0)
        printf("refused (%d)", -fd);
    else
        print_end(status);
    if (fd >= 0)
        close(fd);
    close(go[0]);
    close(go[1]);
}

int main(int argc, char **argv)
{
    for (int i = 0; i < COUNT; i++) {
        if (argc > 1 && !strcmp(argv[1], instructions[i].name)) {
            alarm(10);
            call(&instructions[i]);
            return 0;
        }
        if (argc > 1)
            continue;
        printf("%s: ", instructions[i].name);
        fflush(stdout);
        try(&instructions[i], 0);
        printf("; ");
        fflush(stdout);
        try(&instructions[i], 1);
        printf("\n");
        fflush(stdout);
    }
    return argc > 1;
}
