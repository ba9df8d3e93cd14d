/* Hand-assembled programs are written, linked, loaded and run by the kernel. Needs root. */
#include "compile/object.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define INSN(op, d, s, o, i) ((struct bpf_insn){.code = (op), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})
#define MOV_IMM(d, i) INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOV_REG(d, s) INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ADD_IMM(d, i) INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define STORE(d, o, s) INSN(BPF_STX | BPF_MEM | BPF_DW, d, s, o, 0)
#define LOAD(d, s, o) INSN(BPF_LDX | BPF_MEM | BPF_DW, d, s, o, 0)
#define ADDRESS(d, i) INSN(BPF_LD | BPF_IMM | BPF_DW, d, 0, 0, i), INSN(0, 0, 0, 0, 0)
#define CALL(i) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, i)
#define EXIT() INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* values[7] = 42; lost[2] += 5; returns 3 */
static const struct bpf_insn store_and_count[] = {
    MOV_IMM(0, 7), STORE(10, -8, 0), MOV_IMM(0, 42), STORE(10, -16, 0),
    ADDRESS(1, 0), MOV_REG(2, 10), ADD_IMM(2, -8), MOV_REG(3, 10), ADD_IMM(3, -16), MOV_IMM(4, 0),
    CALL(BPF_FUNC_map_update_elem),
    ADDRESS(1, 16), MOV_IMM(2, 5), INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 1, 2, 0, BPF_ADD),
    MOV_IMM(0, 3), EXIT(),
};
static const struct object_reference store_references[] = {
    {4, REFERENCE_MAP, "values"},
    {12, REFERENCE_DATA, "lost"},
};
static const struct object_line store_lines[] = {
    {0, "a.lua", 1, "values[7] = 42"},
    {12, "a.lua", 2, "lost()"},
};

static struct object_program program(const char *name, const char *section, const struct bpf_insn *instructions,
                                     size_t count)
{
    return (struct object_program){.name = name, .section = section, .type = BPF_PROG_TYPE_RAW_TRACEPOINT,
                                   .instructions = instructions, .instruction_count = count};
}

static struct object *simple_object(int reuse_fd)
{
    struct object *object = object_new();
    struct object_program store = program("h1", "handler/h1", store_and_count, COUNT(store_and_count));
    store.references = store_references;
    store.reference_count = COUNT(store_references);
    store.lines = store_lines;
    store.line_count = COUNT(store_lines);
    struct object_map values = {"values", BPF_MAP_TYPE_HASH, 8, 8, 64, BPF_F_NO_PREALLOC, reuse_fd};
    is_int(object_add_map(object, &values), 0, "a map is added");
    is_int(object_add_counters(object, "other", 3), 0, "counters are added");
    is_int(object_add_counters(object, "lost", 4), 0, "more counters are added");
    is_int(object_add_program(object, &store), 0, "a program is added");
    return object;
}

static int run(int fd)
{
    LIBBPF_OPTS(bpf_test_run_opts, options);
    int code = bpf_prog_test_run_opts(fd, &options);
    return code ? code : (int)options.retval;
}

static void test_map_and_counters(void)
{
    struct error err = {0};
    struct object *object = simple_object(-1);
    struct loaded *loaded = NULL;
    if (!is_int(object_load(object, NULL, 0, &loaded, &err), 0, "an object without library calls loads"))
        printf("# %s\n", err.text);
    object_free(object);
    if (!loaded)
        return;
    size_t count = 0;
    volatile uint64_t *lost = loaded_counters(loaded, "lost", &count);
    is_int((long long)count, 4, "the counters are found by name");
    is_int(run(loaded_program_fd(loaded, "h1")), 3, "the program runs");
    uint64_t key = 7, value = 0;
    is_int(bpf_map_lookup_elem(loaded_map_fd(loaded, "values"), &key, &value), 0, "its map is there");
    is_int((long long)value, 42, "with the value that it stored");
    is_int(lost ? (long long)lost[2] : -1, 5, "its counter is read without a system call");
    is_int(lost ? (long long)(lost[0] + lost[1] + lost[3]) : -1, 0, "no other counter changed");
    is_int(loaded_map_fd(loaded, "nosuch"), -ENOENT, "an unknown map is -ENOENT");
    is_int(loaded_program_fd(loaded, "nosuch"), -ENOENT, "an unknown program is -ENOENT");
    ok(!loaded_counters(loaded, "nosuch", &count), "unknown counters are NULL");

    struct object *again = simple_object(loaded_map_fd(loaded, "values"));
    struct loaded *second = NULL;
    is_int(object_load(again, NULL, 0, &second, &err), 0, "a second object takes over the map");
    loaded_free(loaded);
    object_free(again);
    if (!second)
        return;
    value = 0;
    bpf_map_lookup_elem(loaded_map_fd(second, "values"), &key, &value);
    is_int((long long)value, 42, "which still holds the value of the first");
    loaded_free(second);
}

int main(void)
{
    test_map_and_counters();
    return done_testing();
}
