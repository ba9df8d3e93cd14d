/*
 * Specs find the functions that a process really runs: whatever its layout, in another root or mount namespace, deleted
 * or replaced, stripped with its debug file beside it. What cannot be probed is refused with a reason.
 */
#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "probe/probe.h"
#include "programs.h"

static const char source[] =
    "#include <stdio.h>\n"
    "#include <unistd.h>\n"
    "__attribute__((noinline)) static int local_one(int n) { __asm__ volatile(\"\"); return n * 3 + 1; }\n"
    "__attribute__((noinline, visibility(\"default\"))) int target_one(int n) { __asm__ volatile(\"\"); return n * 7 + "
    "2; }\n"
    "int target_data = 23;\n"
    "static int chosen(int n) { return n; }\n"
    "static int (*choose(void))(int) { return chosen; }\n"
    "int fast_add(int n) __attribute__((ifunc(\"choose\")));\n"
    "int twin_of_other(void);\n"
    "__attribute__((noinline)) static int twin(void) { __asm__ volatile(\"\"); return 1; }\n"
    "int main(void) { char c; puts(\"ready\"); fflush(stdout);\n"
    "  while (read(0, &c, 1) == 1) { local_one(1); target_one(2); twin(); }\n"
    "  return fast_add(target_data) == 1 ? twin_of_other() : 0; }\n";
static const char other_source[] =
    "__attribute__((noinline)) static int twin(void) { __asm__ volatile(\"\"); return 2; }\n"
    "int twin_of_other(void) { return twin(); }\n";

struct resolved {
    int result;
    struct site *sites;
    size_t count;
    struct error err;
};

/* Resolves SPEC for process PID (0: the whole machine). */
static struct resolved resolve(pid_t pid, const char *spec)
{
    struct resolved r = {0};
    struct target target;
    target_init(&target);
    r.result = pid ? target_attach(&target, &pid, 1, &r.err) : 0;
    if (r.result == 0)
        r.result = probe_resolve(spec, &target, &r.sites, &r.count, &r.err);
    target_close(&target);
    return r;
}

__attribute__((nonnull)) static void refuses(pid_t pid, const char *spec, const char *part)
{
    struct resolved r = resolve(pid, spec);
    ok(r.result < 0 && r.count == 0 && !r.sites, "%s is refused", spec);
    if (!ok(strstr(r.err.text, part) != NULL, "and the message says '%s'", part))
        fprintf(stderr, "#   %s\n", r.err.text);
    sites_free(r.sites, r.count);
}

/* True if the file's bytes at SITE are those that PID has in memory at LOAD + address, but for a breakpoint of who
 * traces the whole machine. */
static bool same_code(pid_t pid, const struct site *site, uint64_t load)
{
    enum { BREAKPOINT = 0xcc };
    char path[64];
    uint8_t in_file[16], in_memory[16];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int memory = open(path, O_RDONLY), file = open(site->path, O_RDONLY);
    bool same = pread(memory, in_memory, 16, (off_t)(load + site->address)) == 16 &&
                pread(file, in_file, 16, (off_t)site->offset) == 16;
    for (int i = 0; i < 16; i++)
        same = same && (in_memory[i] == in_file[i] || in_memory[i] == BREAKPOINT);
    close(memory);
    close(file);
    return same;
}

/* SPEC has exactly one site in PID, whose file and code are those of the process. */
static void finds(pid_t pid, const char *spec, const char *function, const char *module, uint64_t load)
{
    struct resolved r = resolve(pid, spec);
    if (!is_int(r.result, 0, "%s is found", spec))
        fprintf(stderr, "#   %s\n", r.err.text);
    if (is_int((int64_t)r.count, 1, "%s: once", spec)) {
        is_str(r.sites->function, function, "%s: its function", spec);
        if (module)
            is_str(r.sites->module, module, "%s: its file", spec);
        ok(same_code(pid, r.sites, load), "%s: at the right place of %s", spec, r.sites->path);
    }
    sites_free(r.sites, r.count);
}

static const char *spec_of(const char *file, const char *function)
{
    static char text[2][512];
    static unsigned next;
    char *result = text[next++ % 2];
    snprintf(result, sizeof text[0], "%s:%s", file, function);
    return result;
}

static void test_layouts(void)
{
    static const struct {
        const char *name, *flags;
        uint64_t first; /* ELF address of the first segment; 0 in position-independent ones */
    } layouts[] = {
        {"pie", "-pie -fPIE", 0},
        {"nopie", "-no-pie", 0x400000},
        {"static", "-static -no-pie", 0x400000},
        {"static-pie", "-static-pie -fPIE", 0},
        {"moved", "-pie -fPIE -Wl,-Ttext-segment=0x10000000", 0x10000000},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const char *name = layouts[i].name, *path = in_dir(name);
        if (!ok(shell("cc -O1 -g %s -o %s program.c other.c", layouts[i].flags, name), "%s is built", name))
            continue;
        struct program program = start(path, NULL, NULL);
        uint64_t load = base_of(program.pid, path) - layouts[i].first;
        finds(program.pid, spec_of(path, "target_one"), "target_one", path, load);
        finds(program.pid, spec_of(name, "local_one"), "local_one", path, load);
        struct resolved r = resolve(program.pid, spec_of(name, "twin"));
        is_int((int64_t)r.count, 2, "both file-local functions of one name are found");
        sites_free(r.sites, r.count);
        stop(&program);
    }
}

static void test_refusals(void)
{
    const char *path = in_dir("pie");
    struct program program = start(path, NULL, NULL);
    pid_t pid = program.pid;
    refuses(pid, "pie:target_oen", "did you mean target_one");
    refuses(pid, "pie:target_data", "is not a function");
    struct resolved indirect = resolve(pid, "pie:fast_add"), chosen = resolve(pid, "pie:chosen");
    ok(indirect.count == 1 && chosen.count == 1 && indirect.sites->address == chosen.sites->address,
       "an indirect function is the implementation that the process has chosen");
    sites_free(indirect.sites, indirect.count);
    sites_free(chosen.sites, chosen.count);
    refuses(0, spec_of(path, "fast_add"), "IFUNC");
    refuses(pid, "pie:target_one+1", "no instruction starts at");
    refuses(pid, "pie:target_one+4096", "bytes");
    refuses(pid, "libcc:malloc", "did you mean libc");
    refuses(pid, "/nonexistent/file:main", "no such file");
    refuses(pid, "program.c:main", "program.c");
    char fifo[300];
    snprintf(fifo, sizeof fifo, "%s:main", in_dir("fifo"));
    mkfifo(in_dir("fifo"), 0600);
    refuses(pid, fifo, "not a regular file");
    refuses(pid, spec_of(in_dir("program.c"), "main"), "not an ELF");
    finds(pid, "libc:malloc", "malloc", NULL, base_of(pid, "/libc.so.6"));
    finds(pid, "libc:pthread_cond_wait+0", "pthread_cond_wait", NULL, base_of(pid, "/libc.so.6"));
    struct resolved now = resolve(pid, "libc:pthread_cond_wait+0"), all = resolve(pid, "libc:pthread_cond_wait"),
                    old = resolve(pid, "libc:pthread_cond_wait@GLIBC_2.2.5");
    if (old.result == 0) { /* x86_64's C library has both versions */
        ok(now.sites->address != old.sites->address, "a version names another function than the default");
        is_int(all.count, 2, "the name alone means both");
    }
    sites_free(all.sites, all.count);
    sites_free(now.sites, now.count);
    sites_free(old.sites, old.count);
    refuses(pid, "libc:malloc@NOSUCH_1.0", "no such function");
    stop(&program);
    ok(shell("printf 'void _start(void) { for (;;) __asm__(\"pause\"); }' > small.c"), "a 32-bit program");
    if (shell("cc -m32 -nostdlib -static -o small small.c 2> /dev/null")) {
        pid_t small = fork();
        if (small == 0) {
            execl(in_dir("small"), "small", NULL);
            _exit(127);
        }
        char exe[300] = "";
        for (int i = 0; i < 3000 && !strstr(exe, "/small") && kill(small, 0) == 0; i++) {
            char link[64];
            usleep(10000);
            snprintf(link, sizeof link, "/proc/%d/exe", (int)small);
            ssize_t n = readlink(link, exe, sizeof exe - 1);
            exe[n > 0 ? n : 0] = '\0';
        }
        if (strstr(exe, "/small"))
            refuses(small, "libc:malloc", "is a 32-bit program");
        kill(small, SIGKILL);
        waitpid(small, NULL, 0);
        refuses(0, spec_of(in_dir("small"), "_start"), "32-bit");
    }
}

static void test_stripped(void)
{
    ok(shell("cp pie bare && strip bare"), "a stripped program");
    struct program program = start(in_dir("bare"), NULL, NULL);
    refuses(program.pid, "bare:local_one", "stripped");
    refuses(program.pid, "bare:std*", "stripped"); /* stdout, which is data */
    stop(&program);
    ok(shell("cp pie linked && objcopy --only-keep-debug linked linked.debug && strip linked && "
             "objcopy --add-gnu-debuglink=linked.debug linked"),
       "one with a separate debug file");
    program = start(in_dir("linked"), NULL, NULL);
    finds(program.pid, "linked:local_one", "local_one", in_dir("linked"), base_of(program.pid, in_dir("linked")));
    stop(&program);
}

static void test_replaced(void)
{
    ok(shell("cp pie gone"), "a program that will be replaced");
    struct program program = start(in_dir("gone"), NULL, NULL);
    uint64_t load = base_of(program.pid, in_dir("gone"));
    ok(shell("rm gone && cc -O1 -o gone other.c -shared -fPIC"), "it is replaced");
    finds(program.pid, "gone:local_one", "local_one", in_dir("gone"), load);
    finds(program.pid, spec_of(in_dir("gone"), "target_one"), "target_one", in_dir("gone"), load);
    ok(shell("rm gone"), "and deleted");
    finds(program.pid, "gone:local_one", "local_one", in_dir("gone"), load);
    stop(&program);
    refuses(program.pid, "gone:local_one", "no process");
}

static void test_other_roots(void)
{
    ok(shell("mkdir -p root/bin mounted && cp static root/bin/inner && ln -s /bin/inner root/alias"), "another root");
    struct program program = start("/bin/inner", in_dir("root"), NULL);
    finds(program.pid, "inner:local_one", "local_one", NULL, 0);
    finds(program.pid, "/bin/inner:local_one", "local_one", NULL, 0);
    finds(program.pid, "/alias:local_one", "local_one", NULL, 0);
    refuses(program.pid, "/alias2:local_one", "no such file");
    stop(&program);

    /* A mount that only the process sees. */
    int in[2], out[2];
    char line[6] = "";
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        exit(2);
    program.pid = fork();
    if (program.pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        char inner[300];
        snprintf(inner, sizeof inner, "%s/bin/inner", in_dir("mounted"));
        /* In a chroot / is no mount of its own (EINVAL); the parent unmounts what may then have been seen outside. */
        if (unshare(CLONE_NEWNS) || (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) && errno != EINVAL) ||
            mount(in_dir("root"), in_dir("mounted"), NULL, MS_BIND, NULL))
            _exit(126);
        execl(inner, inner, NULL);
        _exit(127);
    }
    close(out[1]);
    if (ok(read(out[0], line, 6) == 6, "a program in a mount namespace of its own starts")) {
        finds(program.pid, "inner:local_one", "local_one", NULL, 0);
        char spec[300];
        snprintf(spec, sizeof spec, "%s/bin/inner:target_one", in_dir("mounted"));
        finds(program.pid, spec, "target_one", NULL, 0);
    }
    program.in = in[1];
    program.out = out[0];
    stop(&program);
    close(in[0]);
    umount2(in_dir("mounted"), MNT_DETACH);
}

/* A damaged file gives an error or sites; nothing else can be said, but it must be said. */
static void test_damaged(void)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *in = fopen(in_dir("pie"), "r");
    if (in && fseek(in, 0, SEEK_END) == 0 && ftell(in) > 0) {
        size = (size_t)ftell(in);
        bytes = malloc(size);
        rewind(in);
        if (!bytes || fread(bytes, 1, size, in) != size)
            exit(2);
    }
    if (in)
        fclose(in);
    int found = 0, refused = 0;
    srandom(23);
    for (int i = 0; i < 1009; i++) {
        char *copy = malloc(size);
        if (!copy)
            exit(2);
        memcpy(copy, bytes, size);
        for (int k = 0; k < 1 + i % 7; k++) {
            /* Headers half of the time, where damage matters most. */
            size_t at = (size_t)random() % (i % 2 ? size : 1024);
            copy[i % 4 == 3 ? size - 1 - at % 4096 : at] = (char)random();
        }
        FILE *out = fopen(in_dir("damaged"), "w");
        if (!out || fwrite(copy, 1, i % 11 ? size : (size_t)random() % size, out) == 0 || fclose(out))
            exit(2);
        free(copy);
        struct resolved r = resolve(0, spec_of(in_dir("damaged"), i % 3 ? "target_one+4" : "t*"));
        *(r.result < 0 ? &refused : &found) += 1;
        sites_free(r.sites, r.count);
    }
    ok(found > 0 && refused > 0, "damaged files: %d resolved, %d refused", found, refused);
    free(bytes);
}

static void test_go(void)
{
    ok(shell("objcopy --add-section .gopclntab=program.c pie gopher"), "a program that looks like Go's");
    const char *spec = spec_of(in_dir("gopher"), "target_one");
    struct target machine;
    struct sites sites;
    struct error err = {0};
    target_init(&machine);
    is_int(probe_resolve_all(&spec, 1, &machine, true, &sites, &err), 0, "gets probes where its functions return: %s",
           err.text);
    size_t entries = 0;
    for (size_t i = 0; i < sites.count; i++)
        entries += !sites.items[i].is_exit && !sites.items[i].inside && sites.items[i].of_go;
    ok(sites.count > 1 && entries == 1, "one at its entry, the others at its return instructions");
    probe_sites_free(&sites);
}

static void test_defining(void)
{
    struct program program = start(in_dir("pie"), NULL, NULL);
    struct target target;
    struct error err = {0};
    char **paths;
    size_t count;
    target_attach(&target, &program.pid, 1, &err);
    is_int(probe_modules_defining((const char *const[]){"target_one"}, 1, &target, &paths, &count, &err), 0,
           "the modules that define a function");
    is_int((int64_t)count, 1, "are one");
    is_str(count ? paths[0] : NULL, in_dir("pie"), "the program itself");
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
    is_int(probe_modules_defining((const char *const[]){"puts"}, 1, &target, &paths, &count, &err), 0,
           "of one that it imports");
    ok(count == 1 && strstr(paths[0], "libc"), "the library, not the program that calls it");
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
    target_close(&target);
    stop(&program);
}

int main(void)
{
    if (!mkdtemp(dir))
        return 99;
    write_file("program.c", source);
    write_file("other.c", other_source);
    test_layouts();
    test_refusals();
    test_stripped();
    test_replaced();
    test_other_roots();
    test_damaged();
    test_go();
    test_defining();
    ok(shell("rm -rf %s", dir), "cleaned up");
    return done_testing();
}
