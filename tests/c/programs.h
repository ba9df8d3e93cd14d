/* Programs that the tests of symbols build, start and look into, and what nm says about them. */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sym/symbols.h"
#include "tap.h"

static char dir[] = "/tmp/uplua-symbols-XXXXXX";

/* Runs a shell command in the test's folder; true if it succeeds. */
__attribute__((format(printf, 1, 2))) static inline bool shell(const char *format, ...)
{
    char command[4096];
    int used = snprintf(command, sizeof command, "cd %s && ", dir);
    va_list args;
    va_start(args, format);
    vsnprintf(command + used, sizeof command - (size_t)used, format, args);
    va_end(args);
    return system(command) == 0;
}

static inline const char *in_dir(const char *name)
{
    static char path[4][256];
    static unsigned next;
    char *result = path[next++ % 4];
    snprintf(result, sizeof path[0], "%s/%s", dir, name);
    return result;
}

static inline void write_file(const char *name, const char *text)
{
    FILE *file = fopen(in_dir(name), "w");
    if (!file || fputs(text, file) < 0 || fclose(file))
        exit(2);
}

/* A started program; it says "ready", then waits for its input to end. */
struct program {
    pid_t pid;
    int in, out;
};

static inline struct program start(const char *name, const char *root, const char *argument)
{
    struct program program;
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        exit(2);
    program.pid = fork();
    if (!program.pid) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        if (root && (chroot(root) || chdir("/")))
            _exit(126);
        execl(name, name, argument, NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    program.in = in[1];
    program.out = out[0];
    char line[6] = "";
    ok(read(program.out, line, 6) == 6 && !memcmp(line, "ready\n", 6), "%s starts", name);
    return program;
}

static inline void stop(struct program *program)
{
    close(program->in);
    close(program->out);
    kill(program->pid, SIGKILL);
    waitpid(program->pid, NULL, 0);
}

/* What nm says. */
struct known {
    uint64_t address, size;
    char name[200];
};
static struct known known[40000];
static size_t known_count;

static inline void read_nm(const char *file, const char *options)
{
    char command[512];
    snprintf(command, sizeof command, "nm -S --defined-only %s %s 2>/dev/null | awk 'NF == 4 && $3 ~ /[tTwWiu]/'",
             options, file);
    FILE *pipe = popen(command, "r");
    known_count = 0;
    struct known *k = known;
    char type;
    while (pipe && known_count < sizeof known / sizeof *known &&
           fscanf(pipe, "%" SCNx64 " %" SCNx64 " %c %199[^\n]", &k->address, &k->size, &type, k->name) == 4) {
        char *version = strchr(k->name, '@');
        if (version)
            *version = '\0';
        k = &known[++known_count];
    }
    pclose(pipe);
}

/* True if NAME is one of those that nm has at the start of the innermost function around ADDRESS. */
static inline bool nm_agrees(uint64_t address, const char *name, uint64_t offset)
{
    uint64_t start = 0;
    bool found = false;
    for (size_t i = 0; i < known_count; i++)
        if (known[i].address <= address && address - known[i].address < known[i].size && known[i].address >= start) {
            start = known[i].address;
            found = true;
        }
    if (!found || !name || address - start != offset)
        return !found && !name;
    for (size_t i = 0; i < known_count; i++)
        if (known[i].address == start && !strcmp(known[i].name, name))
            return true;
    return false;
}

/* Where PID has the start of FILE mapped. */
static inline uint64_t base_of(pid_t pid, const char *file)
{
    char path[64], line[4096];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "r");
    uint64_t base = 0;
    while (maps && !base && fgets(line, sizeof line, maps))
        if (strstr(line, file))
            base = strtoull(line, NULL, 16);
    if (maps)
        fclose(maps);
    return base;
}

/* Compares COUNT random addresses inside known functions; LOAD is the run-time address minus the ELF address. */
static inline void compare(struct symbols *symbols, pid_t pid, uint64_t load, unsigned count, const char *what)
{
    unsigned wrong = 0;
    for (unsigned i = 0; known_count && i < count; i++) {
        const struct known *k = &known[(size_t)random() % known_count];
        uint64_t address = k->address + (uint64_t)random() % k->size;
        struct symbol symbol;
        symbols_lookup(symbols, pid, 0, load + address, &symbol);
        if (!nm_agrees(address, symbol.function, symbol.offset) && wrong++ < 5)
            fprintf(stderr, "#   %s: %#" PRIx64 " is %s+%#" PRIx64 " in %s, nm has %s\n", what, address,
                    symbol.function ? symbol.function : "(unknown)", symbol.offset, symbol.module, k->name);
    }
    ok(known_count && !wrong, "%s: %u addresses are named as nm does (%u functions), %u not", what, count,
       (unsigned)known_count, wrong);
}

static const char program_c[] =
    "#include <dlfcn.h>\n#include <stdio.h>\n#include <unistd.h>\n"
    "#define FUNCTION(name) __attribute__((noinline)) int name(int x) { __asm__(\"\"); return x * 3 + 1; }\n"
    "static FUNCTION(local_one) FUNCTION(global_two) FUNCTION(global_three)\n"
    "__attribute__((section(\".far,\\\"ax\\\",@progbits#\"))) FUNCTION(far_away)\n"
    "int alias_of_two(int) __attribute__((weak, alias(\"global_two\"))); FUNCTION(__libc_plain)\n"
    "int plain(int) __attribute__((weak, alias(\"__libc_plain\")));\n"
    "__asm__(\".text\\nunsized: nop\\nnop\\n.globl sized\\n.type sized, @function\\nsized: nop\\ninner: "
    "nop\\nret\\n\"\n"
    "        \".size sized, .-sized\\n\");\n"
    "int main(int argc, char **argv) { char c; (void)argv;\n"
    "  if (write(1, \"ready\\n\", 6) != 6) return 1;\n"
    "  while (read(0, &c, 1) == 1) if (argc > 1) OPEN\n"
    "  return local_one(1) + global_two(2) + global_three(3) + far_away(4); }\n";

static inline void build_programs(void)
{
    write_file("program.c", program_c);
    write_file("library.c", "int loaded_late(int x) { return x + 1; }\n");
    const char *open = "-DOPEN='{ dlopen(argv[1], RTLD_NOW); if (write(1, \"ready\\n\", 6) != 6) return 1; }'";
    ok(shell("cc -w -pie -fPIE -Wl,--build-id %s program.c -o pie && "
             "cc -w -no-pie -fno-pie -Wl,--section-start=.far=0x900000 %s program.c -o nopie && "
             "cc -w -static '-DOPEN=;' program.c -o static && "
             "cc -w -pie -fPIE -Wl,-Ttext-segment=0x10000000 '-DOPEN=;' program.c -o moved && "
             "cc -w -shared -fPIC library.c -o library.so",
             open, open),
       "the programs are built");
}

static inline void begin_programs(void)
{
    if (!mkdtemp(dir))
        exit(2);
    unsigned seed = getenv("UPLUA_LONG") ? (unsigned)time(NULL) : 101;
    srandom(seed);
    printf("# seed %u\n", seed);
}

static inline int end_programs(void)
{
    if (chdir("/") == 0)
        shell("rm -rf %s", dir);
    return done_testing();
}
