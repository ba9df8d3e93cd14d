/* Hand-assembled programs are written, linked, loaded and run by the kernel. Needs root. */
#include "compile/object/object.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../bpf/aggregate.h"
#include "compile/object/library.h"
#include "sys/feature.h"
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
    MOV_IMM(0, 7),
    STORE(10, -8, 0),
    MOV_IMM(0, 42),
    STORE(10, -16, 0),
    ADDRESS(1, 0),
    MOV_REG(2, 10),
    ADD_IMM(2, -8),
    MOV_REG(3, 10),
    ADD_IMM(3, -16),
    MOV_IMM(4, 0),
    CALL(BPF_FUNC_map_update_elem),
    ADDRESS(1, 16),
    MOV_IMM(2, 5),
    INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 1, 2, 0, BPF_ADD),
    MOV_IMM(0, 3),
    EXIT(),
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
    return (struct object_program){.name = name,
                                   .section = section,
                                   .type = BPF_PROG_TYPE_RAW_TRACEPOINT,
                                   .instructions = instructions,
                                   .instruction_count = count};
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

/* v = the first word of the context; hist_add(&h[0], v) */
static const struct bpf_insn add_to_hist[] = {
    LOAD(6, 1, 0),
    MOV_IMM(0, 0),
    INSN(BPF_STX | BPF_MEM | BPF_W, 10, 0, -4, 0),
    ADDRESS(1, 0),
    MOV_REG(2, 10),
    ADD_IMM(2, -4),
    CALL(BPF_FUNC_map_lookup_elem),
    INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3, 0),
    MOV_REG(1, 0),
    MOV_REG(2, 6),
    INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, -1),
    MOV_IMM(0, 0),
    EXIT(),
};
static const struct object_reference hist_references[] = {
    {3, REFERENCE_MAP, "h"},
    {11, REFERENCE_LIBRARY, "uplua_hist_add"},
};
static const struct object_line hist_lines[] = {{0, "h.lua", 1, "h:add(v)"}};

static struct loaded *load_hist(void)
{
    struct object *object = object_new();
    struct object_program add = program("add", "handler/add", add_to_hist, COUNT(add_to_hist));
    add.references = hist_references;
    add.reference_count = COUNT(hist_references);
    add.lines = hist_lines;
    add.line_count = COUNT(hist_lines);
    object_add_map(object, &(struct object_map){"h", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct hist), 1, 0, -1});
    object_add_program(object, &add);
    struct error err = {0};
    struct loaded *loaded = NULL;
    if (!is_int(object_load(object, bpf_library, bpf_library_size, &loaded, &err), 0,
                "a program that calls the library loads"))
        printf("# %s\n", err.text);
    object_free(object);
    return loaded;
}

/* bpf_loop(23, rounds, frame, 0); returns what the rounds have counted in the frame, with a library function's help */
static const struct bpf_insn count_rounds[] = {
    MOV_IMM(0, 0), STORE(10, -8, 0),    MOV_IMM(1, 23),  ADDRESS(2, 0), MOV_REG(3, 10),
    MOV_IMM(4, 0), CALL(BPF_FUNC_loop), LOAD(0, 10, -8), EXIT(),
};
static const struct object_reference count_references[] = {{3, REFERENCE_FUNCTION, "rounds"}};
static const struct bpf_insn one_round[] = {
    MOV_REG(9, 2),
    LOAD(0, 9, -8),
    ADD_IMM(0, 1),
    STORE(9, -8, 0),
    ADDRESS(1, 8),
    MOV_IMM(2, 1),
    INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 1, 2, 0, BPF_ADD),
    MOV_IMM(0, 0),
    EXIT(),
};
static const struct object_reference round_references[] = {{4, REFERENCE_DATA, "counted"}};
static const struct object_line round_lines[] = {{0, "r.lua", 3, "n = n + 1"}, {4, "r.lua", 4, "c:inc()"}};

static void test_function(bool with_library)
{
    struct error err = {0};
    struct object *object = object_new();
    struct bpf_insn calls[COUNT(count_rounds)];
    memcpy(calls, count_rounds, sizeof calls);
    calls[3].src_reg = BPF_PSEUDO_FUNC;
    struct object_program main = program("main", "handler/main", calls, COUNT(calls));
    main.references = count_references;
    main.reference_count = COUNT(count_references);
    /* Two functions in one section: the second is the one that is called. */
    struct object_program other = program("other", NULL, one_round, COUNT(one_round));
    other.references = round_references;
    other.reference_count = COUNT(round_references);
    struct object_program rounds = other;
    rounds.name = "rounds";
    rounds.lines = round_lines;
    rounds.line_count = COUNT(round_lines);
    struct object_program library = program("library", "handler/library", add_to_hist, COUNT(add_to_hist));
    library.references = hist_references;
    library.reference_count = COUNT(hist_references);
    is_int(object_add_program(object, &main), 0, "a program with a callback is added");
    object_add_program(object, &other);
    object_add_program(object, &rounds);
    object_add_counters(object, "counted", 2);
    if (with_library) {
        object_add_map(object, &(struct object_map){"h", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct hist), 1, 0, -1});
        object_add_program(object, &library);
    }
    struct loaded *loaded = NULL;
    if (!is_int(object_load(object, bpf_library, bpf_library_size, &loaded, &err), 0, "it loads, %s the library",
                with_library ? "with" : "without"))
        printf("# %s\n", err.text);
    object_free(object);
    if (!loaded)
        return;
    size_t count;
    is_int(run(loaded_program_fd(loaded, "main")), 23, "the kernel calls the function so many times, with the frame");
    is_int((long long)loaded_counters(loaded, "counted", &count)[1], 23, "… which counts in .bss");
    is_int(loaded_program_fd(loaded, "rounds"), -ENOENT, "a function is no program to attach");
    loaded_free(loaded);
}

static void test_too_complex(void)
{
    enum { BRANCHES = 9000 };
    static struct bpf_insn branches[BRANCHES + 3];
    static const struct object_line line = {0, "long.lua", 7, "if x then"};
    size_t count = 0;
    branches[count++] = (struct bpf_insn)CALL(BPF_FUNC_ktime_get_ns);
    for (int i = 0; i < BRANCHES; i++)
        branches[count++] = INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0, i);
    branches[count++] = (struct bpf_insn)MOV_IMM(0, 0);
    branches[count++] = (struct bpf_insn)EXIT();
    struct object_program many = program("many", "handler/many", branches, count);
    many.lines = &line;
    many.line_count = 1;
    struct object *object = object_new();
    object_add_program(object, &many);
    struct error err = {0};
    struct loaded *loaded = NULL;
    ok(object_load(object, NULL, 0, &loaded, &err) < 0, "branches beyond the verifier's limit are refused");
    ok(strstr(err.text, "long.lua:7: `if x then`: here the handler becomes too complex for the kernel's verifier, "
                        "which can have 8,192 branches"),
       "… as what they are, with the line");
    printf("# %s\n", err.text);
    object_free(object);

    static const struct bpf_insn rounds[] = {
        MOV_IMM(0, 0),
        INSN(BPF_ALU64 | BPF_ADD | BPF_K, 0, 0, 0, 1),
        INSN(BPF_JMP | BPF_JLT | BPF_K, 0, 0, -2, 600000),
        EXIT(),
    };
    struct object_program loop = program("loop", "handler/loop", rounds, COUNT(rounds));
    loop.lines = &line;
    loop.line_count = 1;
    object = object_new();
    object_add_program(object, &loop);
    ok(object_load(object, NULL, 0, &loaded, &err) < 0, "more instructions than the verifier looks at are refused");
    ok(strstr(err.text, "long.lua:7: `if x then`: here the handler becomes too complex for the kernel's verifier, "
                        "which looks at 1,000,000 "
                        "instructions"),
       "… with that limit");
    printf("# %s\n", err.text);
    object_free(object);
}

/* How many instructions the verifier went through. */
static unsigned verified(int fd)
{
    struct bpf_prog_info info = {0};
    uint32_t size = sizeof info;
    return bpf_obj_get_info_by_fd(fd, &info, &size) ? 0 : info.verified_insns;
}

static void test_histogram(void)
{
    static const struct {
        int64_t value;
        unsigned bucket;
    } cases[] = {
        {0, 1},          {1, 2},
        {2, 3},          {3, 3},
        {4, 4},          {7, 4},
        {8, 5},          {-1, 0},
        {INT64_MIN, 0},  {INT64_MAX, 64},
        {1 << 16, 18},   {(1 << 16) - 1, 17},
        {1ll << 32, 34}, {(1ll << 32) - 1, 33},
        {1ll << 62, 64}, {(1ll << 62) - 1, 63},
        {100, 8},
    };
    struct loaded *loaded = load_hist();
    if (!loaded)
        return;
    int map = loaded_map_fd(loaded, "h"), fd = loaded_program_fd(loaded, "add");
    uint32_t key = 0;
    struct hist hist;
    ok(verified(fd) < 2000, "hist: the verifier goes through %u instructions", verified(fd));
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hist empty = {0};
        bpf_map_update_elem(map, &key, &empty, 0);
        LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &cases[i].value, .ctx_size_in = sizeof cases[i].value);
        bpf_prog_test_run_opts(fd, &options);
        bpf_map_lookup_elem(map, &key, &hist);
        int64_t max = (int64_t)(hist.all.max ^ 1ull << 63), min = (int64_t)(~hist.all.min ^ 1ull << 63);
        ok(hist.buckets[cases[i].bucket] == 1 && (int64_t)hist.all.sum.low == cases[i].value && max == cases[i].value &&
               min == cases[i].value,
           "hist: %lld is in bucket %u", (long long)cases[i].value, cases[i].bucket);
    }
    static const int64_t several[] = {23, -101, 7, 4096};
    bpf_map_update_elem(map, &key, &(struct hist){0}, 0);
    for (size_t i = 0; i < COUNT(several); i++) {
        LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &several[i], .ctx_size_in = sizeof several[i]);
        bpf_prog_test_run_opts(fd, &options);
    }
    bpf_map_lookup_elem(map, &key, &hist);
    is_int((int64_t)(hist.all.max ^ 1ull << 63), 4096, "hist: the largest value");
    is_int((int64_t)(~hist.all.min ^ 1ull << 63), -101, "hist: the smallest value");
    is_int(hist.all.sum.low, 23 - 101 + 7 + 4096, "hist: the sum");
    size_t count;
    volatile uint64_t *lost = loaded_counters(loaded, "uplua_aggregate_lost", &count);
    ok(lost && !*lost, "hist: nothing lost");
    is_int(loaded_map_fd(loaded, "uplua_stacks"), -ENOENT,
           "the library's maps that the program does not need are not created");
    loaded_free(loaded);
}

/* Reads through a number: what the verifier refuses. */
static const struct bpf_insn bad_read[] = {
    MOV_IMM(1, 0),
    INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
    LOAD(0, 1, 0),
    EXIT(),
};
static const struct object_line bad_lines[] = {
    {0, "leak.lua", 11, "local a = e.arg0"},
    {2, "leak.lua", 12, "    local b = a.next"},
};

static void test_refusal(void)
{
    struct object *object = object_new();
    struct object_program bad = program("bad", "handler/bad", bad_read, COUNT(bad_read));
    bad.lines = bad_lines;
    bad.line_count = COUNT(bad_lines);
    object_add_program(object, &bad);
    struct error err = {0};
    struct loaded *loaded = NULL;
    setenv("TMPDIR", "/tmp", 1);
    ok(object_load(object, NULL, 0, &loaded, &err) < 0 && !loaded, "what the verifier refuses is an error");
    ok(strstr(err.text, "leak.lua:12: `local b = a.next`"), "the message quotes the Lua line");
    ok(strstr(err.text, "R1 invalid mem access 'scalar'"), "the message has the verifier's reason");
    const char *kept = strstr(err.text, "/tmp/uplua-");
    if (ok(kept, "the message names the object kept")) {
        struct stat status;
        ok(!stat(kept, &status) && (status.st_mode & 0777) == 0600 && status.st_size > 0, "which only its owner reads");
        unlink(kept);
    }
    printf("# %s\n", err.text);
    object_free(object);
}

static void test_invalid_parts(void)
{
    struct object *object = object_new();
    struct object_program named = program("h.lua", "handler/h", bad_read, COUNT(bad_read));
    is_int(object_add_program(object, &named), -EINVAL, "a program's name must be an identifier");
    struct object_program late = program("h", "handler/h", bad_read, COUNT(bad_read));
    late.lines = bad_lines + 1;
    late.line_count = 1;
    is_int(object_add_program(object, &late), -EINVAL, "lines must begin with the first instruction");
    struct object_map map = {"a_name_too_long_", BPF_MAP_TYPE_HASH, 8, 8, 1, 0, -1};
    is_int(object_add_map(object, &map), -EINVAL, "a map's name has at most 15 characters");
    map.name = "twice";
    object_add_map(object, &map);
    is_int(object_add_map(object, &map), -EINVAL, "a name is used once");
    struct object_program lost = program("h", "handler/h", store_and_count, COUNT(store_and_count));
    lost.references = store_references;
    lost.reference_count = 1;
    object_add_program(object, &lost);
    struct error err = {0};
    struct loaded *loaded;
    is_int(object_load(object, NULL, 0, &loaded, &err), -ENOENT, "a map that is not there is an error");
    ok(strstr(err.text, "values"), "which names it");
    object_free(object);
}

static const struct bpf_insn return_only[] = {MOV_IMM(0, 0), EXIT()};

/* Newer than the libbpf that loads them. */
static void test_attach_types(void)
{
    static const struct {
        enum feature feature;
        uint32_t attach_type;
    } cases[] = {
        {FEATURE_UPROBE_MULTI, 48},
        {FEATURE_SESSION, 57},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (!feature_available(cases[i].feature))
            continue;
        struct object *object = object_new();
        struct object_program multi = program("multi", "handler/multi", return_only, COUNT(return_only));
        multi.type = BPF_PROG_TYPE_KPROBE;
        multi.attach_type = cases[i].attach_type;
        object_add_program(object, &multi);
        struct error err = {0};
        struct loaded *loaded = NULL;
        is_int(object_load(object, NULL, 0, &loaded, &err), 0, "a program for %s loads",
               feature_name(cases[i].feature));
        loaded_free(loaded);
        object_free(object);
    }
}

/* In a child without privileges. */
static void test_privilege(void)
{
    int pipes[2];
    if (pipe(pipes))
        return;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        struct error err = {0};
        struct loaded *loaded;
        struct object *object = object_new();
        struct object_program store = program("h1", "handler/h1", return_only, COUNT(return_only));
        object_add_program(object, &store);
        if (!setgid(65534) && !setuid(65534))
            object_load(object, NULL, 0, &loaded, &err);
        _exit(write(pipes[1], err.text, strlen(err.text) + 1) < 0);
    }
    close(pipes[1]);
    struct error err = {0};
    ok(read(pipes[0], err.text, sizeof err.text) > 0, "loading without privilege fails");
    ok(strstr(err.text, "CAP_BPF and CAP_PERFMON") && strstr(err.text, "sudo"),
       "and the message names what is missing");
    printf("# %s\n", err.text);
    close(pipes[0]);
    waitpid(child, NULL, 0);
}

/* Milliseconds to write, link and load: the whole cost of a setup but for compiling and attaching. */
static double load_time(void)
{
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    struct loaded *loaded = load_hist();
    clock_gettime(CLOCK_MONOTONIC, &end);
    loaded_free(loaded);
    return (double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) / 1e6;
}

/* For the reader; a shared machine gives no promise. */
static void report_speed(void)
{
    double best = load_time();
    for (int i = 0; i < 10; i++) {
        double time = load_time();
        best = time < best ? time : best;
    }
    printf("# linked and loaded in %.2f ms\n", best);
}

/* What would make libbpf read the types of the whole kernel, for 11 ms and 11 MB: relocations, kernel functions. */
static void test_no_kernel_types(void)
{
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)bpf_library, bpf_library_size);
    size_t names;
    const uint32_t *header = NULL;
    ok(elf && !elf_getshdrstrndx(elf, &names), "the library is embedded");
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        const char *name = elf_strptr(elf, names, elf64_getshdr(section)->sh_name);
        if (name && !strcmp(name, ".BTF.ext"))
            header = elf_getdata(section, NULL)->d_buf;
        ok(name && !strstr(name, "ksyms"), "its section %s holds no kernel function", name);
    }
    enum { RELOCATIONS_SIZE = 7 }; /* of struct btf_ext_header, in words */
    ok(header && header[1] > RELOCATIONS_SIZE * 4 && !header[RELOCATIONS_SIZE], "it has no CO-RE relocations");
    elf_end(elf);
}

/* So that no name of a user's is one of ours. */
static void test_symbols(void)
{
    unsigned count = 0;
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)bpf_library, bpf_library_size);
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        const Elf64_Shdr *header = elf64_getshdr(section);
        const Elf_Data *data = header->sh_type == SHT_SYMTAB ? elf_getdata(section, NULL) : NULL;
        for (size_t i = 0; data && i < data->d_size / sizeof(Elf64_Sym); i++) {
            const Elf64_Sym *symbol = (const Elf64_Sym *)data->d_buf + i;
            const char *name = elf_strptr(elf, header->sh_link, symbol->st_name);
            if (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL || !strcmp(name, "_license"))
                continue;
            count++;
            if (strncmp(name, "uplua_", 6))
                ok(false, "the library's %s is called uplua_…", name);
        }
    }
    elf_end(elf);
    ok(count > 23, "the library's %u symbols are called uplua_…", count);
}

int main(void)
{
    test_symbols();
    test_map_and_counters();
    test_histogram();
    test_function(false);
    test_function(true);
    test_refusal();
    test_too_complex();
    test_invalid_parts();
    test_attach_types();
    test_privilege();
    test_no_kernel_types();
    report_speed();
    return done_testing();
}
