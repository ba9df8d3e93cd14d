/*
 * Names that are not in a file's symbol tables: MiniDebugInfo, stubs of the procedure linkage table, and code that a
 * process makes as it runs.
 */
#include <errno.h>
#include <sys/stat.h>

#include "sym/image.h"

#include "programs.h"

/* Some files of every kind: compiling all takes longer than the rest of the test. */
#define C_FILES "-w -std=gnu11 -O2 -D_GNU_SOURCE -Isrc $(pkg-config --cflags libdw) -shared -fPIC src/sym/[ps]*.c"

/* Runs a command in the source tree, with the test's folder in $D. */
static bool in_tree(const char *command)
{
    char whole[4096];
    snprintf(whole, sizeof whole, "D=%s; %s", dir, command);
    return system(whole) == 0;
}

static struct image *open_image(const char *name)
{
    struct debug_file_search search = {.root = -1, .debug_root = "/nonexistent", .module = in_dir(name)};
    struct stat stat;
    int fd = open(in_dir(name), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &stat))
        exit(2);
    return image_new(fd, &stat, &search);
}

/* What has to be subtracted from an ELF address in code to get the offset in the file. */
static uint64_t distance_of_text(const char *name)
{
    char command[600];
    uint64_t address = 0, offset = 0;
    snprintf(command, sizeof command, "readelf -SW %s | sed -n 's/^.*\\] \\.text *PROGBITS *//p'", in_dir(name));
    FILE *pipe = popen(command, "r");
    if (!pipe || fscanf(pipe, "%" SCNx64 " %" SCNx64, &address, &offset) != 2)
        exit(2);
    pclose(pipe);
    return address - offset;
}

/* COUNT random addresses in the functions that nm knew. */
static unsigned count_wrong(struct image *image, uint64_t distance, unsigned count)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct known *k = &known[(size_t)random() % known_count];
        uint64_t address = k->address + (uint64_t)random() % k->size, offset;
        const char *name = image_lookup(image, address - distance, true, &offset, NULL);
        if (!nm_agrees(address, name, offset) && wrong++ < 5)
            fprintf(stderr, "#   %#" PRIx64 " is %s+%#" PRIx64 ", nm has %s\n", address, name ? name : "(unknown)",
                    offset, k->name);
    }
    return wrong;
}

/* Functions of the file stripped of its names begin where nm has them, all but those without call frame information. */
static void test_starts(void)
{
    struct image *image = open_image("stripped");
    read_nm(in_dir("mini"), "");
    uint64_t distance = distance_of_text("mini"), offset, start;
    unsigned wrong = 0, nameless = 0;
    for (size_t i = 0; i < known_count; i++) {
        const struct known *k = &known[i];
        start = UINT64_MAX;
        if (image_lookup(image, k->address + k->size - 1 - distance, true, &offset, &start))
            continue;
        nameless++;
        wrong += start != k->address && start != UINT64_MAX;
        wrong += start == UINT64_MAX && k->size > 64; /* what a C library's file begins with has none */
    }
    ok(nameless > 11 && !wrong, "%u functions without a name, %u begin elsewhere", nameless, wrong);
    start = 23;
    bool named = image_lookup(image, 0, true, &offset, &start);
    ok(!named && (start == 23 || start == UINT64_MAX), "no function begins in the file's header");
    image_free(image);
}

static void test_minidebug(void)
{
    if (!ok(in_tree("gcc " C_FILES " -o $D/mini"), "a library is built"))
        return;
    read_nm(in_dir("mini"), "");
    uint64_t distance = distance_of_text("mini");
    size_t all = known_count;
    bool built =
        shell("nm -D mini --format=posix --defined-only | awk '{ print $1 }' | sort > exported && "
              "nm mini --format=posix --defined-only | awk '$2 ~ /[tT]/ { print $1 }' | sort > functions && "
              "comm -13 exported functions > kept && test -s kept && cp mini stripped && strip stripped && "
              "objcopy -S --keep-symbols=kept mini inside && objcopy --only-keep-debug inside && xz -k inside && "
              "objcopy --add-section .gnu_debugdata=inside.xz stripped with");
    if (!ok(built, "its local symbols are put into .gnu_debugdata, as Fedora does"))
        return;
    test_starts();
    struct image *image = open_image("with");
    read_nm(in_dir("mini"), "");
    is_int(count_wrong(image, distance, 2000), 0, "all %zu functions have names", all);
    image_free(image);

    /* Damaged and oversized ones are as if there were none. */
    unsigned unnamed = 0, tried = 0;
    for (int round = 0; round < 40; round++) {
        shell(
            "cp inside.xz damaged.xz && printf '\\%03lo' | dd of=damaged.xz bs=1 seek=%ld conv=notrunc status=none && "
            "objcopy --add-section .gnu_debugdata=damaged.xz stripped damaged",
            (unsigned long)random() & 255, random() % 2000);
        image = open_image("damaged");
        for (int i = 0; i < 50; i++) {
            uint64_t offset;
            unnamed +=
                !image_lookup(image, known[(size_t)random() % known_count].address - distance, true, &offset, NULL);
            tried++;
        }
        image_free(image);
    }
    ok(unnamed < tried, "damaged ones harm nobody: %u of %u names were still found", tried - unnamed, tried);
    shell("head -c 400000000 /dev/zero | xz -0 > bomb.xz && "
          "objcopy --add-section .gnu_debugdata=bomb.xz stripped bomb");
    image = open_image("bomb");
    read_nm(in_dir("stripped"), "-D");
    is_int(count_wrong(image, distance, 100), 0, "one that becomes 400 MB is left alone; the exported names stay");
    image_free(image);
}

/* Compares each stub of NAME with what objdump calls it. */
static void compare_stubs(const char *name)
{
    char command[600], line[4096];
    snprintf(command, sizeof command,
             "objdump -h -C -d -j .plt -j .plt.sec -j .plt.got %s 2>/dev/null | sed -n 's/^\\([0-9a-f]*\\) "
             "<\\(.*@plt\\)>:/\\1 \\2/p'",
             in_dir(name));
    struct image *image = open_image(name);
    uint64_t distance = distance_of_text(name);
    FILE *pipe = popen(command, "r");
    unsigned stubs = 0, wrong = 0;
    while (pipe && fgets(line, sizeof line, pipe)) {
        char *want;
        uint64_t address = strtoull(line, &want, 16);
        line[strcspn(line, "\n")] = '\0';
        want++;
        stubs++;
        for (uint64_t inside = 0; inside < 8; inside += 3) {
            uint64_t offset;
            const char *own = image_lookup(image, address + inside - distance, true, &offset, NULL);
            if ((!own || strcmp(own, want) || offset != inside) && wrong++ < 5)
                fprintf(stderr, "#   %#" PRIx64 " is %s+%#" PRIx64 ", objdump has %s\n", address + inside,
                        own ? own : "(unknown)", offset, want);
        }
    }
    pclose(pipe);
    image_free(image);
    ok(stubs > 5, "%s has %u stubs", name, stubs);
    is_int(wrong, 0, "%s: they are called as objdump calls them", name);
}

static void test_stubs(void)
{
    static const struct {
        const char *name, *build;
    } variants[] = {
        {"lazy", "gcc " C_FILES " -o $D/lazy"},
        {"now", "gcc " C_FILES " -Wl,-z,now -o $D/now"},
        {"ibt", "gcc -fcf-protection " C_FILES " -Wl,-z,ibtplt -o $D/ibt"},
        {"stripped-plt", "gcc -fcf-protection " C_FILES " -Wl,-z,ibtplt,-z,now -s -o $D/stripped-plt"},
        {"address", "printf '#include <stdio.h>\\nint main(void) { void *p[] = { printf, puts, getc, putc, fopen, "
                    "fputs, remove }; "
                    "puts(\"\"); getc(stdin); putc(1, stdout); remove(\"\"); fputs(\"\", fopen(\"\", \"\")); return "
                    "p[0] == p[1]; }' "
                    "| gcc -x c -O0 -w -o $D/address -"},
    };
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (ok(in_tree(variants[i].build), "%s is built", variants[i].name))
            compare_stubs(variants[i].name);
}

#define CODE UINT64_C(0x10000000) /* where jit.c has its code */

static void name_is(struct symbols *symbols, pid_t pid, uint64_t address, const char *name, uint64_t offset,
                    const char *what)
{
    struct symbol symbol;
    symbols_lookup(symbols, pid, 0, address, &symbol);
    is_str(symbol.function, name, "%s", what);
    if (name)
        is_int((int64_t)symbol.offset, (int64_t)offset, "%s: its offset", what);
}

/* Waits until ADDRESS has that name: a perf map is read again at most every some milliseconds, or more rarely where the
 * machine is slow to read it. */
static void await_name(struct symbols *symbols, pid_t pid, uint64_t address, const char *name)
{
    for (int looks = 0; looks < 3000; looks++) {
        struct symbol symbol;
        symbols_update(symbols);
        symbols_lookup(symbols, pid, 0, address, &symbol);
        if (symbol.function && !strcmp(symbol.function, name))
            return;
        usleep(10000);
    }
    printf("# waited in vain for the name %s\n", name);
}

/* The map of the process that is started as PROGRAM, with TEXT in it. */
static struct program start_with_map(const char *program, const char *root, const char *text, char *path)
{
    struct program started = start(program, root, NULL);
    snprintf(path, 128, "%s/tmp/perf-%d.map", root ? root : "", (int)started.pid);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file))
        exit(2);
    return started;
}

static const char first_map[] = "10000000 40 first\n10000040 40 int second(char const*, int)\n"
                                "10000080 zz bad\nno line\n10000090 0 empty\nfffffffffffffff0 ff beyond\n"
                                "100000a0 20 old\n100000b0 20 newer; and longer\n100000a0 4 newest\n"
                                "10000100 10 \x1b[31mred\n10000200 10 unfinished";

static void test_names_of_made_code(void)
{
    char path[128];
    struct program program = start_with_map(in_dir("jit"), NULL, first_map, path);
    struct symbols *symbols = symbols_new();
    pid_t pid = program.pid;
    name_is(symbols, pid, CODE, "first", 0, "code that a process made has the name that it wrote down");
    name_is(symbols, pid, CODE + 0x41, "int second(char const*, int)", 1, "a name may have spaces");
    name_is(symbols, pid, CODE + 0xa8, "old", 8, "an older name counts where no newer one is");
    name_is(symbols, pid, CODE + 0xb8, "newer; and longer", 8, "a newer one takes its place");
    name_is(symbols, pid, CODE + 0xa2, "newest", 2, "as does a shorter one");
    name_is(symbols, pid, CODE + 0x108, "\\x1b[31mred", 8, "control characters are shown");
    name_is(symbols, pid, CODE + 0x90, NULL, 0, "bad lines name nothing");
    name_is(symbols, pid, CODE + 0x208, NULL, 0, "nor does one that is still being written");
    FILE *file = fopen(path, "a");
    if (!file || fputs(" no more\n10000300 8 later\n", file) < 0 || fclose(file))
        exit(2);
    await_name(symbols, pid, CODE + 0x300, "later");
    name_is(symbols, pid, CODE + 0x300, "later", 0, "what was written since is read");
    name_is(symbols, pid, CODE + 0x208, "unfinished no more", 8, "and what was finished");

    /* Code that takes the place of other code, of which the name was read: appended, and in a file that was written
     * anew. */
    uint64_t renamings = symbols_renamings(symbols), generation = symbols_generation(symbols);
    file = fopen(path, "a");
    if (!file || fputs("10000000 40 second_of_it\n10000110 10 third\n", file) < 0 || fclose(file))
        exit(2);
    await_name(symbols, pid, CODE, "second_of_it");
    ok(symbols_renamings(symbols) > renamings && symbols_generation(symbols) != generation, "new names are noticed");
    name_is(symbols, pid, CODE, "second_of_it", 0, "code that was made anew at the same address has its new name");
    name_is(symbols, pid, CODE + 0x44, "int second(char const*, int)", 4, "other names stay");
    usleep(50000);
    symbols_update(symbols);
    renamings = symbols_renamings(symbols);
    usleep(50000);
    is_int((int64_t)symbols_renamings(symbols), (int64_t)renamings, "without new names nothing is read again");
    file = fopen(path, "w");
    if (!file || fputs("10000000 40 third_of_it\n10000300 8 later\n", file) < 0 || fclose(file))
        exit(2);
    await_name(symbols, pid, CODE, "third_of_it");
    name_is(symbols, pid, CODE, "third_of_it", 0, "a file that was written anew counts");
    name_is(symbols, pid, CODE + 0x44, NULL, 0, "with what it has no more");

    stop(&program);
    name_is(symbols, pid, CODE + 0x300, "later", 0, "after the exit the names stay");
    unlink(path);
    name_is(symbols, pid, CODE + 4, "third_of_it", 4, "without the file, too");
    symbols_free(symbols);
}

/* Files that are not the process's word. */
static void test_refused_perf_maps(void)
{
    char path[128];
    struct program program = start_with_map(in_dir("jit"), NULL, first_map, path);
    struct symbols *symbols = symbols_new();
    is_int(chown(path, 65534, 65534), 0, "a file is given to another user");
    name_is(symbols, program.pid, CODE, NULL, 0, "another user's file is not read");
    is_int(chown(path, 0, 0), 0, "and back");
    struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    utimensat(AT_FDCWD, path, old, 0);
    usleep(50000);
    name_is(symbols, program.pid, CODE, NULL, 0, "nor is one that is older than the process");
    unlink(path);
    is_int(mkfifo(path, 0600), 0, "a pipe stands in its place");
    usleep(50000);
    name_is(symbols, program.pid, CODE, NULL, 0, "a pipe is not read");
    unlink(path);
    stop(&program);
    symbols_free(symbols);
}

/* A process with a root of its own. */
static void test_perf_map_in_root(void)
{
    char path[128], jail[256];
    snprintf(jail, sizeof jail, "%s/jail", dir);
    if (!shell("mkdir -p jail/tmp && cp jit jail/jit"))
        exit(2);
    struct program program = start_with_map("/jit", jail, first_map, path);
    struct symbols *symbols = symbols_new();
    name_is(symbols, program.pid, CODE, "first", 0, "a process with another root writes below that");
    stop(&program);
    symbols_free(symbols);
}

static void test_made_code(void)
{
    write_file("jit.c", "#include <stdio.h>\n#include <sys/mman.h>\n#include <unistd.h>\n"
                        "int main(void) { char c; mmap((void *)0x10000000, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | "
                        "MAP_ANONYMOUS | MAP_FIXED, -1, 0);\n"
                        "  return write(1, \"ready\\n\", 6) != 6 || read(0, &c, 1); }\n");
    if (!ok(shell("cc -static jit.c -o jit"), "a program that makes code is built"))
        return;
    test_names_of_made_code();
    test_refused_perf_maps();
    test_perf_map_in_root();
}

/* The only child of PID. */
static pid_t child_of(pid_t pid)
{
    char path[64];
    int child = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%d", &child) != 1)
        exit(2);
    fclose(file);
    return child;
}

/* A process whose mounts and process numbers are its own, though its root directory is ours: a container's, a
 * service's. */
static void test_namespaces(void)
{
    if (!shell("unshare -m true 2>unshare.err")) {
        skip("no mount namespace can be made here (in a chroot / is no mount point)");
        return;
    }
    write_file("contain",
               "#!/bin/sh\nD=${0%/*}\nexec unshare -mpf sh -c 'exec 3<\"$0/jit\" && mount -t tmpfs none /tmp && "
               "cat <&3 >/tmp/inside && chmod +x /tmp/inside && "
               "echo 10000000 40 contained >/tmp/perf-1.map && exec 3<&- && exec /tmp/inside' \"$D\"\n");
    shell("chmod +x contain");
    struct program program = start(in_dir("contain"), NULL, NULL);
    pid_t pid = child_of(program.pid);
    struct symbols *symbols = symbols_new();
    name_is(symbols, pid, CODE + 1, "contained", 1, "its own /tmp/perf-1.map counts, where it is process 1");
    read_nm(in_dir("jit"), "");
    struct symbol symbol;
    for (size_t i = 0; i < known_count; i++)
        if (!strcmp(known[i].name, "main")) {
            name_is(symbols, pid, known[i].address + 1, "main", 1, "a program that only it sees has names");
            symbols_lookup(symbols, pid, 0, known[i].address, &symbol);
            is_str(symbol.module, "/tmp/inside", "and the path that it sees");
        }
    kill(pid, SIGKILL);
    stop(&program);
    symbols_free(symbols);
}

/* An IFUNC, two versions of one function, and one without a version. */
static void test_versions(void)
{
    write_file("versions.c", "__asm__(\".symver old, shared@V1\\n.symver new, shared@@V2\");\n"
                             "__attribute__((noinline)) int old(int x) { return x * 3; } __attribute__((noinline)) int "
                             "new(int x) { return x * 5; }\n"
                             "static __attribute__((noinline)) int chosen(int x) { return x * 7; }\n"
                             "static int (*choose(void))(int) { return chosen; }\n"
                             "int picked(int) __attribute__((ifunc(\"choose\")));\n");
    write_file("versions.map", "V1 { global: shared; picked; local: *; };\nV2 { global: shared; } V1;\n");
    if (!ok(shell("cc -w -O1 -shared -fPIC versions.c -Wl,--version-script=versions.map -o versions && "
                  "strip -o versions-stripped versions"),
            "a library with versions is built"))
        return;
    static const char *const files[] = {"versions", "versions-stripped"};
    for (size_t f = 0; f < 2; f++) {
        read_nm(in_dir(files[f]), f ? "-D" : "");
        struct image *image = open_image(files[f]);
        uint64_t distance = distance_of_text(files[f]), offset;
        unsigned shared = 0, picked = 0;
        for (size_t i = 0; i < known_count; i++) {
            const char *name = image_lookup(image, known[i].address - distance + 1, true, &offset, NULL);
            shared += name && !strcmp(known[i].name, "shared") && !strcmp(name, "shared") && offset == 1;
            picked += name && !strcmp(known[i].name, "picked") && !strcmp(name, "picked") && offset == 1;
        }
        is_int(shared, 2, "%s: both versions of a function have its name", files[f]);
        is_int(picked, 1, "%s: an IFUNC's resolver has the IFUNC's", files[f]);
        image_free(image);
    }
}

int main(void)
{
    begin_programs();
    test_versions();
    test_minidebug();
    test_stubs();
    if (geteuid() == 0) {
        test_made_code();
        test_namespaces();
    }
    return end_programs();
}
