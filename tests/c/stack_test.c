/* The stack walk of bpf/stack.bpf.c, on this very process: every frame is compared with what the compiler returned
 * to. */
#include "compile/object/object.h"

#include <bpf/bpf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../../bpf/stack.h"
#include "arch/arch.h"
#include "compile/object/library.h"
#include "sys/feature.h"
#include "sys/perf.h"
#include "tap.h"

#define INSN(op, d, s, o, i) ((struct bpf_insn){.code = (op), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Neither inlined nor copied: calls go to the address that the test sees. */
#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

enum { CALLS = 23, DEEP = 150 };

/* What the test's own C code sees: the return addresses of the chain, the innermost first. */
static void *expected[DEEP + 2];
static unsigned depth;
static volatile int sink;

/* The function with the probe: it makes no calls, so that its first instruction is where the chain is complete. */
KEPT static void leaf(int value)
{
    sink = value;
    expected[depth] = __builtin_return_address(0);
}

KEPT static void descend(unsigned calls)
{
    expected[calls + 1] = __builtin_return_address(0); /* callers stand above the leaf's own return address */
    if (calls)
        descend(calls - 1);
    else
        leaf(1);
    sink++; /* no tail call */
}

static const char *walker(void)
{
    return feature_available(FEATURE_MAY_GOTO) ? "uplua_ustack" : "uplua_ustack_older";
}

/* id[0] = uplua_ustack(ctx, DEPTH, AT_ENTRY) */
static struct loaded *load_probe(int stack_depth, int at_entry, int stacks)
{
    const struct bpf_insn instructions[] = {
        INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, stack_depth),
        INSN(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, at_entry),
        INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, -1),
        INSN(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, 0),
        INSN(0, 0, 0, 0, 0),
        INSN(BPF_STX | BPF_MEM | BPF_DW, 1, 0, 0, 0),
        INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
        INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
    };
    const struct object_reference references[] = {{2, REFERENCE_LIBRARY, walker()}, {3, REFERENCE_DATA, "id"}};
    const struct object_line line = {0, "stack.lua", 1, "local stack = e:ustack()"};
    const struct object_program program = {
        .name = "probe",
        .section = "handler/probe",
        .type = BPF_PROG_TYPE_KPROBE,
        .instructions = instructions,
        .instruction_count = COUNT(instructions),
        .references = references,
        .reference_count = COUNT(references),
        .lines = &line,
        .line_count = 1,
    };
    struct object *object = object_new();
    object_add_counters(object, "id", 1);
    if (stacks >= 0)
        object_reuse_map(object, "uplua_stacks", stacks);
    is_int(object_add_program(object, &program), 0, "the probe's program is valid");
    struct error err = {0};
    struct loaded *loaded = NULL;
    if (!is_int(object_load(object, bpf_library, bpf_library_size, &loaded, &err), 0,
                "a program that walks stacks loads"))
        printf("# %s\n", err.text);
    object_free(object);
    return loaded;
}

static uint64_t load_address;

static int find_load_address(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    load_address = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && header->p_flags & PF_X)
            load_address += header->p_vaddr - header->p_offset; /* address → offset in the file */
    }
    return 1; /* the first is the executable */
}

static int attach_program(int program, uintptr_t function, bool at_return, uint64_t cookie)
{
    dl_iterate_phdr(find_load_address, NULL);
    struct perf_uprobe probe = {.path = "/proc/self/exe",
                                .offset = function - load_address,
                                .at_return = at_return,
                                .pid = getpid(),
                                .cookie = cookie};
    int link = perf_uprobe_attach(program, &probe);
    ok(link >= 0, "the probe is attached");
    return link;
}

static int attach_at(const struct loaded *loaded, uintptr_t function, bool at_return)
{
    return attach_program(loaded_program_fd(loaded, "probe"), function, at_return, 0);
}

static int attach(const struct loaded *loaded, void (*function)(int))
{
    return attach_at(loaded, (uintptr_t)function, false);
}

/* The stack that LOADED's probe saw last, from the store of OWNER. */
static int get_stack(const struct loaded *loaded, const struct loaded *owner, struct stack *stack)
{
    size_t count;
    uint64_t id = *loaded_counters(loaded, "id", &count);
    return bpf_map_lookup_elem(loaded_map_fd(owner, "uplua_stacks"), &id, stack);
}

static uint64_t lost(const struct loaded *loaded, int cause)
{
    size_t count = 0;
    volatile uint64_t *counters = loaded_counters(loaded, "uplua_stack_lost", &count);
    return counters && count == STACK_LOST_COUNT ? counters[cause] : ~0ull;
}

static void check_frames(const struct stack *stack, unsigned count, const char *what)
{
    unsigned same = 1;
    while (same < count && stack->frames[same] == (uint64_t)(uintptr_t)expected[same - 1])
        same++;
    if (!is_int(same, count, "%s: each frame is where the compiler said", what))
        for (unsigned i = 0; i < count; i++)
            printf("# %u: %#llx, expected %p\n", i, stack->frames[i], i ? expected[i - 1] : (void *)leaf);
}

/* How many instructions the verifier went through. */
static unsigned verified(int fd)
{
    struct bpf_prog_info info = {0};
    uint32_t size = sizeof info;
    return bpf_obj_get_info_by_fd(fd, &info, &size) ? 0 : info.verified_insns;
}

static void test_exact(void)
{
    struct loaded *loaded = load_probe(0, 1, -1);
    if (!loaded)
        return;
    unsigned instructions = verified(loaded_program_fd(loaded, "probe"));
    ok(instructions < 100000, "the verifier goes through %u instructions, of a million", instructions);
    int link = attach(loaded, leaf);
    struct stack stack = {0};
    descend(CALLS - 1);
    is_int(get_stack(loaded, loaded, &stack), 0, "the stack is in the store");
    is_int(stack.tgid, getpid(), "with its process");
    is_int((long long)stack.frames[0], (long long)(uintptr_t)leaf, "its first frame is the probe's address");
    ok(stack.count > CALLS + 1, "it has %u frames, which is more than the chain", stack.count);
    check_frames(&stack, CALLS + 2, "23 calls");

    /* The same place from the same callers is the same stack; another depth is another. */
    size_t count;
    volatile uint64_t *id = loaded_counters(loaded, "id", &count);
    uint64_t ids[3];
    static const volatile unsigned calls[] = {4, 4, 5};
    static volatile unsigned rounds = 3; /* keeps the loop from being unrolled into three callers */
    for (unsigned i = 0; i < rounds; i++) {
        descend(calls[i]);
        ids[i] = *id;
    }
    ok(ids[0] == ids[1] && ids[0] != ids[2] && ids[0] > STACK_UNKNOWN, "equal stacks have equal ids");
    for (int cause = 0; cause < STACK_LOST_COUNT; cause++)
        if (cause != STACK_LOST_NO_TABLE) /* nobody loads tables here, and libc has no frame pointers */
            is_int((long long)lost(loaded, cause), 0, "nothing is lost by cause %d", cause);

    descend(DEEP);
    is_int(get_stack(loaded, loaded, &stack), 0, "a deep stack is in the store");
    is_int(stack.count, STACK_FRAMES, "cut at what the store holds");
    check_frames(&stack, STACK_FRAMES, "150 calls");
    is_int((long long)lost(loaded, STACK_LOST_DEPTH), 1, "which is counted");
    close(link);
    loaded_free(loaded);
}

static void test_depth(void)
{
    struct loaded *first = load_probe(0, 1, -1);
    struct loaded *loaded = first ? load_probe(5, 1, loaded_map_fd(first, "uplua_stacks")) : NULL;
    if (!loaded)
        return;
    int link = attach(loaded, leaf);
    struct stack stack = {0};
    descend(CALLS - 1);
    is_int(get_stack(loaded, first, &stack), 0, "a later setup shares the store of the first");
    is_int(stack.count, 5, "a depth that is asked for is kept to");
    check_frames(&stack, 5, "depth 5");
    is_int((long long)lost(loaded, STACK_LOST_DEPTH), 0, "and is not a loss");
    close(link);
    loaded_free(loaded);
    loaded_free(first);
}

/* A return probe hides the return addresses of the calls that it waits for. */
KEPT static void test_return_probe(void)
{
    struct loaded *entry = load_probe(0, 1, -1), *at_return = load_probe(0, 0, -1);
    if (!entry || !at_return)
        return;
    int return_link = attach_at(at_return, (uintptr_t)descend, true), link = attach(entry, leaf);
    struct stack stack = {0};
    void *caller = __builtin_return_address(0);
    descend(4);
    is_int(get_stack(entry, entry, &stack), 0, "a stack below a return probe is in the store");
    is_int((long long)stack.frames[1], (long long)(uintptr_t)expected[0], "the leaf's own return address is seen");
    is_int((long long)stack.frames[6], (long long)(uintptr_t)expected[5], "the hidden ones are kept as they are");
    is_int((long long)stack.frames[7], (long long)(uintptr_t)caller, "and the walk goes on above them");
    is_int((long long)lost(entry, STACK_LOST_RETURN), 5, "the five hidden return addresses are counted");
    is_int(get_stack(at_return, at_return, &stack), 0, "a return probe has a stack too");
    uint64_t start = (uint64_t)(uintptr_t)test_return_probe;
    ok(stack.frames[0] > start && stack.frames[0] < start + 4096, "whose first frame is where the call returns to");
    is_int((long long)stack.frames[1], (long long)(uintptr_t)caller, "and which goes on with the caller's caller");
    close(link);
    close(return_link);
    loaded_free(entry);
    loaded_free(at_return);
}

/* uplua_ustack(ctx, 0, 1); runs[NUMBER]++ */
static void add_counting(struct object *object, const char *name, int number, uint32_t flags)
{
    const struct bpf_insn instructions[] = {
        INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, 0),
        INSN(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 1),
        INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, -1),
        INSN(BPF_LD | BPF_IMM | BPF_DW, 1, 0, 0, number * 8),
        INSN(0, 0, 0, 0, 0),
        INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, 1),
        INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 1, 2, 0, BPF_ADD),
        INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
        INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
    };
    const struct object_reference references[] = {{2, REFERENCE_LIBRARY, walker()}, {3, REFERENCE_DATA, "runs"}};
    const struct object_line line = {0, "stack.lua", number + 1, "runs[e:ustack()]:inc()"};
    char section[32];
    snprintf(section, sizeof section, "handler/%s", name);
    const struct object_program program = {
        .name = name,
        .section = section,
        .type = BPF_PROG_TYPE_KPROBE,
        .flags = flags,
        .instructions = instructions,
        .instruction_count = COUNT(instructions),
        .references = references,
        .reference_count = COUNT(references),
        .lines = &line,
        .line_count = 1,
    };
    is_int(object_add_program(object, &program), 0, "program %s is valid", name);
}

/* Programs that walk stacks are one program to the kernel, which verifies the walk once. */
static void test_joined(void)
{
    enum { PROGRAMS = 3 };
    static const char *const names[PROGRAMS] = {"first", "second", "third"};
    struct loaded *single = load_probe(0, 1, -1), *loaded = NULL;
    struct object *object = object_new();
    struct error err = {0};
    object_add_counters(object, "runs", PROGRAMS);
    for (int i = 0; i < PROGRAMS; i++)
        add_counting(object, names[i], i, i == 1 ? BPF_F_SLEEPABLE : 0);
    is_int(object_merge(object, "uplua_ustack"), 0, "three programs are joined");
    if (!is_int(object_load(object, bpf_library, bpf_library_size, &loaded, &err), 0, "and loaded"))
        printf("# %s\n", err.text);
    if (!loaded || !single) {
        object_free(object);
        return;
    }
    int link[PROGRAMS], program = -1;
    for (int i = 0; i < PROGRAMS; i++) {
        const struct object_program *found = object_find_program(object, names[i]);
        program = loaded_program_fd(loaded, found->joint);
        link[i] = attach_program(program, i == 2 ? (uintptr_t)descend : (uintptr_t)leaf, false, found->cookie);
    }
    unsigned alone = verified(loaded_program_fd(single, "probe")), together = verified(program);
    ok(alone > 1000 && together < alone + alone / 4,
       "the verifier goes through %u instructions for the three, %u for one", together, alone);
    is_int(loaded_program_fd(loaded, "first"), -ENOENT, "a program that was joined is none any more");
    size_t count;
    volatile uint64_t *runs = loaded_counters(loaded, "runs", &count);
    descend(CALLS - 1);
    close(link[0]);
    descend(4);
    is_int((long long)runs[0], 1, "each link runs its own: the first until it was detached");
    is_int((long long)runs[1], 2, "… the second twice");
    is_int((long long)runs[2], CALLS + 5, "… the third at each call of the chain");
    close(link[1]);
    close(link[2]);
    object_free(object);
    loaded_free(loaded);
    loaded_free(single);
}

static double nanoseconds_per_call(unsigned calls)
{
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (unsigned i = 0; i < calls; i++)
        leaf(0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) / calls;
}

KEPT static double time_below(unsigned calls)
{
    double time = calls ? time_below(calls - 1) : nanoseconds_per_call(20000);
    sink++;
    return time;
}

/* For the reader; a shared machine gives no promise. */
static void report_speed(void)
{
    struct loaded *whole = load_probe(0, 1, -1), *one = load_probe(1, 0, -1);
    if (!whole || !one)
        return;
    int link = attach(one, leaf);
    double base = time_below(17);
    close(link);
    link = attach(whole, leaf);
    double time = time_below(17);
    struct stack stack = {0};
    get_stack(whole, whole, &stack);
    printf("# %.0f ns per hit with a stack of %u frames, %.0f with one of 1 frame\n", time, stack.count, base);
    close(link);
    loaded_free(whole);
    loaded_free(one);
}

int main(void)
{
    test_exact();
    test_depth();
    test_return_probe();
    test_joined();
    report_speed();
    return done_testing();
}
