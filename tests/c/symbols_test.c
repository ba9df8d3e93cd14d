/*
 * Addresses of real processes get the names that nm gives. Programs of many layouts are built, started and looked into,
 * alive and after their end.
 */
#include <errno.h>
#include <sys/auxv.h>

#include "programs.h"

static void test_layouts(void)
{
    static const struct {
        const char *name;
        bool pie;
        uint64_t first; /* ELF address of the first segment */
    } layouts[] = {{"pie", true, 0}, {"nopie", false, 0}, {"static", false, 0}, {"moved", true, 0x10000000}};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const char *path = in_dir(layouts[i].name);
        read_nm(path, "");
        struct program program = start(path, NULL, NULL);
        struct symbols *symbols = symbols_new();
        is_int(symbols_add_process(symbols, program.pid), 0, "%s is added", layouts[i].name);
        uint64_t load = layouts[i].pie ? base_of(program.pid, path) - layouts[i].first : 0;
        compare(symbols, program.pid, load, 300, layouts[i].name);
        struct symbol symbol;
        for (size_t k = 0; k < known_count; k++) {
            if (!strcmp(known[k].name, "alias_of_two")) {
                symbols_lookup(symbols, program.pid, 0, load + known[k].address, &symbol);
                is_str(symbol.function, "global_two", "of a weak and a global alias the global one counts");
                is_str(symbol.module, path, "the module is the file's path");
            }
            if (!strcmp(known[k].name, "plain")) {
                symbols_lookup(symbols, program.pid, 0, load + known[k].address, &symbol);
                is_str(symbol.function, "plain", "of two names the one without underscores counts");
            }
            if (!strcmp(known[k].name, "sized")) {
                symbols_lookup(symbols, program.pid, 0, load + known[k].address + 1, &symbol);
                is_str(symbol.function, "sized", "a label inside a function does not hide it");
                symbols_lookup(symbols, program.pid, 0, load + known[k].address - 1, &symbol);
                is_str(symbol.function, "unsized", "a symbol without a size goes up to the next");
                is_int((int64_t)symbol.offset, 1, "and its offset is right");
            }
        }
        is_int(symbols_lookup(symbols, program.pid, 0, 0x1000, &symbol), -ENOENT,
               "an address of no mapping is unknown");
        ok(!symbol.function && !symbol.module && symbol.offset == 0x1000, "and stays as it is");
        stop(&program);
        compare(symbols, program.pid, load, 300, "after the exit");
        symbols_free(symbols);
        program = start(path, NULL, NULL);
        symbols = symbols_new();
        symbols_add_process(symbols, program.pid);
        load = layouts[i].pie ? base_of(program.pid, path) - layouts[i].first : 0;
        stop(&program);
        compare(symbols, program.pid, load, 50, "first asked after the exit");
        symbols_free(symbols);
    }
}

static void test_gone_files(void)
{
    struct symbol symbol;
    shell("cp pie deleted && cp pie replaced");
    read_nm(in_dir("pie"), "");
    struct program program = start(in_dir("deleted"), NULL, NULL);
    uint64_t base = base_of(program.pid, "/deleted");
    shell("rm deleted");
    struct symbols *symbols = symbols_new();
    compare(symbols, program.pid, base, 50, "a deleted program");
    symbols_lookup(symbols, program.pid, 0, base + known[0].address, &symbol);
    is_str(symbol.module, in_dir("deleted"), "its module has the plain path");
    stop(&program);

    program = start(in_dir("replaced"), NULL, NULL);
    base = base_of(program.pid, "/replaced");
    shell("cp static replaced.new && mv replaced.new replaced");
    compare(symbols, program.pid, base, 50, "a replaced program");
    stop(&program);
    symbols_free(symbols);
}

/* Waits until what nm knows first has a name at LOAD: the mappings are read again at most every some milliseconds, or
 * more rarely where the machine is slow to read them. */
static void await_mapping(struct symbols *symbols, pid_t pid, uint64_t load)
{
    for (int looks = 0; looks < 3000; looks++) {
        struct symbol symbol;
        symbols_lookup(symbols, pid, 0, load + known[0].address, &symbol);
        if (symbol.function)
            return;
        usleep(10000);
    }
    printf("# waited in vain for the mapping at %#" PRIx64 "\n", load);
}

static void test_late_library(void)
{
    struct program program = start(in_dir("pie"), NULL, in_dir("library.so"));
    struct symbols *symbols = symbols_new();
    symbols_add_process(symbols, program.pid);
    char line[6];
    ok(write(program.in, "x", 1) == 1 && read(program.out, line, 6) == 6, "a library is loaded after the attach");
    read_nm(in_dir("library.so"), "");
    uint64_t base = base_of(program.pid, "library.so");
    await_mapping(symbols, program.pid, base);
    compare(symbols, program.pid, base, 20, "a library loaded later");
    stop(&program);
    compare(symbols, program.pid, base, 20, "a library loaded later, after the exit");
    symbols_free(symbols);
}

static void test_exec(void)
{
    write_file("script", "#!/bin/sh\ncd \"${0%/*}\"; echo ready; read line; exec ./pie\n");
    shell("chmod +x script");
    struct program program = start(in_dir("script"), NULL, NULL);
    struct symbols *symbols = symbols_new();
    symbols_add_process(symbols, program.pid);
    uint64_t before = base_of(program.pid, "libc.so.6");
    struct symbol was, is;
    uint64_t inside = before + 0x80000; /* in libc's code, wherever it is mapped */
    symbols_lookup(symbols, program.pid, 0, inside, &was);
    char line[6];
    ok(write(program.in, "x\n", 2) == 2 && read(program.out, line, 6) == 6, "a process executes another program");
    read_nm(in_dir("pie"), "");
    await_mapping(symbols, program.pid, base_of(program.pid, "/pie"));
    compare(symbols, program.pid, base_of(program.pid, "/pie"), 50, "after exec");
    if (base_of(program.pid, "libc.so.6") == before)
        inside = 0; /* no randomisation here: nothing to tell apart */
    symbols_lookup(symbols, program.pid, 0, inside, &is);
    ok(!inside || (was.module && is.module == was.module && is.offset == was.offset),
       "addresses of the program before exec keep their names");
    stop(&program);
    symbols_free(symbols);
}

static void test_other_root(void)
{
    if (!shell("mkdir -p jail && cp static jail/inside"))
        exit(2);
    struct program program = start("/inside", in_dir("jail"), NULL);
    struct symbols *symbols = symbols_new();
    symbols_add_process(symbols, program.pid);
    read_nm(in_dir("static"), "");
    compare(symbols, program.pid, 0, 100, "a program in another root");
    struct symbol symbol;
    symbols_lookup(symbols, program.pid, 0, known[0].address, &symbol);
    is_str(symbol.module, "/inside", "its module is the path that it sees itself");
    stop(&program);
    symbols_free(symbols);
}

static void test_cplusplus(void)
{
    write_file(
        "plus.cc",
        "#include <unistd.h>\nnamespace shop { struct Till { __attribute__((noinline)) int add(int, const char *); };\n"
        "int Till::add(int a, const char *b) { return a + *b; } }\n"
        "int main() { char c; if (write(1, \"ready\\n\", 6) != 6) return 1;\n"
        "return shop::Till().add(read(0, &c, 1), \"x\"); }\n");
    if (!ok(shell("c++ -no-pie plus.cc -o plus"), "a C++ program is built"))
        return;
    struct program program = start(in_dir("plus"), NULL, NULL);
    read_nm(in_dir("plus"), "");
    struct symbols *symbols = symbols_new();
    struct symbol symbol = {0};
    for (size_t i = 0; i < known_count; i++)
        if (!strcmp(known[i].name, "_ZN4shop4Till3addEiPKc"))
            symbols_lookup(symbols, program.pid, 0, known[i].address + 3, &symbol);
    is_str(symbol.function, "shop::Till::add(int, char const*)", "C++ names are demangled");
    stop(&program);
    symbols_free(symbols);
}

static void test_hostile_names(void)
{
    write_file("evil.c", "int name(int x) { return x; }\n");
    if (!ok(shell("cc -shared -fPIC -nostdlib evil.c -o evil.so && "
                  "objcopy --redefine-sym \"name=$(printf 'evil\\033[31m\\nname')\" evil.so 'evil\033[2J.so'"),
            "a library with escape sequences in its names is built"))
        return;
    struct program program = start(in_dir("pie"), NULL, in_dir("evil\033[2J.so"));
    char line[6];
    ok(write(program.in, "x", 1) == 1 && read(program.out, line, 6) == 6, "and loaded");
    struct symbols *symbols = symbols_new();
    uint64_t base = base_of(program.pid, "evil");
    bool found = false, escaped = true;
    for (uint64_t at = 0; at < 0x3000; at++) {
        struct symbol symbol;
        symbols_lookup(symbols, program.pid, 0, base + at, &symbol);
        found |= symbol.function && !strcmp(symbol.function, "evil\\x1b[31m\\x0aname");
        escaped &= symbol.module && strstr(symbol.module, "evil\\x1b[2J.so") && !strchr(symbol.module, '\x1b');
    }
    ok(found, "the function's name is escaped");
    ok(escaped, "the module's name is escaped");
    stop(&program);
    symbols_free(symbols);
}

static void test_vdso(void)
{
    struct symbols *symbols = symbols_new();
    uint64_t base = getauxval(AT_SYSINFO_EHDR);
    unsigned named = 0;
    bool module = true;
    for (uint64_t at = 0; at < 0x1000; at += 16) {
        struct symbol symbol;
        symbols_lookup(symbols, getpid(), 0, base + at, &symbol);
        named += symbol.function && strstr(symbol.function, "gettime") != NULL;
        module &= symbol.module && !strcmp(symbol.module, "[vdso]");
    }
    ok(module, "the vDSO is a module");
    ok(named > 0, "its functions have names");
    symbols_free(symbols);
}

int main(void)
{
    begin_programs();
    build_programs();
    test_layouts();
    test_gone_files();
    test_late_library();
    test_exec();
    test_other_root();
    test_cplusplus();
    test_hostile_names();
    test_vdso();

    struct symbols *symbols = symbols_new();
    is_int(symbols_add_process(symbols, 0x7ffffff0), -ESRCH, "a process that does not exist is no success");
    symbols_free(symbols);
    return end_programs();
}
