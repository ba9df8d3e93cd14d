/*
 * Calls `mark` at the end of known chains of calls; built without frame pointers.
 *
 *   chain KIND…   one after the other: shallow (23 calls), deep (101), tail, variable, aligned, expression, saved,
 *                 held, handler, null (a call of address 0, whose SIGSEGV is handled), data (the same, of a place that
 *                 holds no code), first (of a function's first instruction), lost (a return to where no call stood
 *                 before), sorted, thread, generated, in_memory (the same in a file of memfd_create), unframed; alone:
 * library, mappings, contended, clocked (asks for the time below 23 calls, again and again from "ready" on, until it is
 * killed), late (below 101)
 *
 * library, mappings and contended (mappings that two threads change) call `mapped` before, and go on at SIGUSR1:
 * whoever traces has taken in the new mappings then.
 *
 * Built with -DSTATIC it loads no library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "noinline.h"

static volatile long sink;

/* Makes no frame of its own. */
NOINLINE void mark(void)
{
    __asm__ volatile("");
    sink++;
}

/* Needs registers that it has to save, more or fewer of them by what it does last. */
NOINLINE long descend(long calls, long a, long b, long c, long d)
{
    long sum;
    if (calls == 1) {
        mark();
        sum = sink;
    } else {
        sum = descend(calls - 1, a + 1, b * 2, c ^ 3, d - a);
    }
    return sum + a * b + c * d + calls;
}

NOINLINE long shallow(void)
{
    return descend(23, 1, 2, 3, 4) + sink;
}

NOINLINE long deep(void)
{
    return descend(101, 1, 2, 3, 4) + sink;
}

static volatile bool enough;

/* Asks the vDSO, mostly. */
NOINLINE long ticks(void)
{
    struct timespec time;
    puts("ready");
    fflush(stdout);
    do
        clock_gettime(CLOCK_MONOTONIC, &time);
    while (!enough);
    return time.tv_nsec;
}

NOINLINE long lower(long calls, long a, long b)
{
    long sum = calls == 1 ? ticks() : lower(calls - 1, a + 1, b * 2);
    return sum + a * b + calls;
}

NOINLINE long clocked(void)
{
    return lower(23, 1, 2) + sink;
}

NOINLINE long late(void)
{
    return lower(101, 1, 2) + sink;
}

/* Leaves nothing behind when it jumps to mark. */
NOINLINE void jumps(void)
{
    sink++;
    mark();
}

NOINLINE long tail(void)
{
    jumps();
    return sink + 23;
}

/* The frame's size is not known before it runs. */
NOINLINE long variable(void)
{
    size_t size = (size_t)(sink + 101) * 7;
    char *bytes = __builtin_alloca(size);
    memset(bytes, 1, size);
    __asm__ volatile("" : : "r"(bytes) : "memory");
    mark();
    return bytes[size - 1] + sink;
}

/* The frame is aligned to more than its caller's: the CFA is read from the stack. */
NOINLINE long aligned(void)
{
    _Alignas(128) char block[256];
    size_t size = (size_t)(sink + 23) * 3;
    char *bytes = __builtin_alloca(size);
    memset(block, 2, sizeof block);
    memset(bytes, 3, size);
    __asm__ volatile("" : : "r"(bytes), "r"(block) : "memory");
    mark();
    return bytes[0] + block[1] + sink;
}

/* Frames written by hand: chain_frames.S. */
long expression(void), saves(void), holds(void);

/* The frame pointer is this frame's base, and what is called leaves something else in it. */
NOINLINE long based(long (*call)(void))
{
    size_t size = (size_t)(sink + 23) * 5;
    char *bytes = __builtin_alloca(size);
    memset(bytes, 4, size);
    __asm__ volatile("" : : "r"(bytes) : "memory");
    call();
    return bytes[size - 1] + sink;
}

NOINLINE long saved(void)
{
    return based(saves) + sink;
}

NOINLINE long held(void)
{
    return based(holds) + sink;
}

static void on_signal(int number)
{
    mark();
    sink += number;
}

/* The handler runs below this frame, which is left at an instruction that makes no call. */
NOINLINE long handler(void)
{
    long value = sink;
    signal(SIGSEGV, on_signal);
    signal(SIGTRAP, on_signal);
#ifdef __x86_64__
    __asm__ volatile("int3" : "+r"(value) : : "memory");
#else
    raise(SIGTRAP);
#endif
    return value + sink;
}

/* Goes on behind the call that led to nowhere. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
    (void)info;
    mark();
    sink += number;
#ifdef __x86_64__
    machine->gregs[REG_RIP] = *(long *)machine->gregs[REG_RSP];
    machine->gregs[REG_RSP] += sizeof(long);
#else
    machine->pc = machine->regs[30];
#endif
}

static void handle_faults(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
}

NOINLINE long null(void)
{
    void (*volatile nowhere)(void) = NULL;
    handle_faults();
    nowhere();
    return sink;
}

NOINLINE long data(void)
{
    static long words[2];
    const void *place = words;
    void (*volatile nowhere)(void);
    memcpy((void *)&nowhere, &place, sizeof place);
    handle_faults();
    nowhere();
    return sink;
}

void take(const long *place);

/* What is interrupted is at its function's first byte, and no call was made there. */
NOINLINE long first(void)
{
    handle_faults();
    take(NULL);
    return sink;
}

/* What it returns to it has made up: what is above on the stack is no return address. */
NOINLINE long lost(void)
{
    long value;
    handle_faults();
#ifdef __x86_64__
    __asm__ volatile("lea 1f(%%rip), %0; push %0; push $0; ret; nop; 1:" : "=r"(value) : : "memory");
#else
    __asm__ volatile("mov %0, x30; adr x30, 1f; br xzr; nop; 1: mov x30, %0" : "=&r"(value) : : "memory");
#endif
    return value & 1;
}

static int compare(const void *a, const void *b)
{
    if (!sink)
        mark();
    return *(const int *)a - *(const int *)b;
}

NOINLINE long sorted(void)
{
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof *numbers, compare);
    return numbers[0] + sink;
}

static void *thread_main(void *unused)
{
    (void)unused;
    mark();
    return (void *)sink;
}

NOINLINE long thread(void)
{
    pthread_t id;
    void *result = NULL;
    if (!pthread_create(&id, NULL, thread_main, NULL))
        pthread_join(id, &result);
    return (long)result;
}

/* Calls mark through CODE, which the program writes while it runs, as a just-in-time compiler does. */
static NOINLINE long generate(const void *code, size_t size, int file)
{
    void *place =
        mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, file, 0);
    if (place == MAP_FAILED)
        return -1;
    memcpy(place, code, size);
    if (mprotect(place, 1 << 16, PROT_READ | PROT_EXEC))
        return -1;
    __builtin___clear_cache((char *)place, (char *)place + size);
    void (*call)(void (*)(void));
    memcpy(&call, &place, sizeof call);
    call(mark);
    return sink;
}

/* It keeps frame pointers. */
#ifdef __x86_64__
/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
static const unsigned char framed[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#else
/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret */
static const unsigned framed[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#endif

NOINLINE long generated(void)
{
    return generate(framed, sizeof framed, -1) + sink;
}

NOINLINE long in_memory(void)
{
    int file = memfd_create("code", MFD_CLOEXEC);
    return file < 0 || ftruncate(file, 1 << 16) ? -1 : generate(framed, sizeof framed, file) + sink;
}

/* It keeps none, and a zero where one would be. */
NOINLINE long unframed(void)
{
#ifdef __x86_64__
    /* push %rbp; xor %ebp, %ebp; call *%rdi; pop %rbp; ret */
    static const unsigned char code[] = {0x55, 0x31, 0xed, 0xff, 0xd7, 0x5d, 0xc3};
#else
    /* stp x29, x30, [sp, #-16]!; mov x29, xzr; blr x0; ldp x29, x30, [sp], #16; ret */
    static const unsigned code[] = {0xa9bf7bfd, 0xaa1f03fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#endif
    return generate(code, sizeof code, -1) + sink;
}

NOINLINE void mapped(void)
{
    sink++;
}

static void await_tracer(void)
{
    int number;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    mapped();
    sigwait(&set, &number);
}

#ifdef STATIC
static long library(const char *program)
{
    return program[0];
}
#else
static void called_back(void)
{
    mark();
    sink++;
}

NOINLINE long library(const char *program)
{
    char path[4096];
    const char *slash = strrchr(program, '/');
    snprintf(path, sizeof path, "%.*slibchain.so", slash ? (int)(slash - program) + 1 : 0, program);
    void *handle = dlopen(path, RTLD_LAZY);
    long (*through)(void (*)(void)) = handle ? (long (*)(void (*)(void)))dlsym(handle, "through") : NULL;
    await_tracer(); /* its table is made as soon as it is mapped, not before */
    return through ? through(called_back) + sink : -1;
}
#endif

static volatile int changes;

/* Holds the lock of the process's mappings most of the time. */
static void *change_mappings(void *unused)
{
    for (;; changes++) {
        void *memory = mmap(NULL, 1 << 24, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (memory == MAP_FAILED || munmap(memory, 1 << 24))
            return unused;
    }
}

/* As `sorted`, ROUNDS times, each below one more frame; if CHANGING, not before the mappings have changed again. */
NOINLINE long again(int rounds, bool changing)
{
    int before = changes;
    while (changing && changes == before)
        continue;
    sink = 0;
    long sum = sorted();
    if (rounds > 1)
        sum += again(rounds - 1, changing);
    return sum + sink;
}

/* The program's file again and again, below the libraries: more executable mappings than the unwinder has room for. */
NOINLINE long mappings(const char *program, int threads)
{
    enum { MAPPINGS = 307 };
    int fd = open(program, O_RDONLY);
    for (int i = 0; i < 2 * MAPPINGS; i++) /* every other one: neighbours would be one mapping */
        if (fd < 0 || mmap(NULL, 1 << 16, i & 1 ? PROT_READ : PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
            return -1;
    await_tracer();
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, change_mappings, NULL))
            return -1;
    }
    return again(threads ? 7 : 1, threads > 0) + sink;
}

typedef long run_kind(void);

/* NULL for a name that there is not. */
static run_kind *find_kind(const char *name)
{
    static const struct {
        const char *name;
        run_kind *run;
    } kinds[] = {{"shallow", shallow},     {"deep", deep},
                 {"variable", variable},   {"aligned", aligned},
                 {"tail", tail},           {"expression", expression},
                 {"saved", saved},         {"held", held},
                 {"handler", handler},     {"null", null},
                 {"data", data},           {"first", first},
                 {"lost", lost},           {"sorted", sorted},
                 {"thread", thread},       {"generated", generated},
                 {"in_memory", in_memory}, {"unframed", unframed},
                 {"clocked", clocked},     {"late", late}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(name, kinds[i].name))
            return kinds[i].run;
    return NULL;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    if (!strcmp(kind, "library"))
        return library(argv[0]) < 0;
    if (!strcmp(kind, "mappings"))
        return mappings(argv[0], 0) < 0;
    if (!strcmp(kind, "contended"))
        return mappings(argv[0], 2) < 0;
    for (int i = 1; i < argc; i++) {
        run_kind *run = find_kind(argv[i]);
        if (!run)
            return 2;
        sink = run() & 0; /* no tail call */
    }
    return argc > 1 ? 0 : 2;
}
