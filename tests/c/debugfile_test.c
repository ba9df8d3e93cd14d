/* Names of stripped programs come from their separate debug files, and only from those that belong to them. */
#include "failing_malloc.h"
#include "programs.h"
#include "sym/image.h"

static uint64_t main_address(const char *name)
{
    read_nm(in_dir(!strcmp(name, "linked") ? "unlabelled" : "pie"), "");
    uint64_t address = 0;
    for (size_t i = 0; i < known_count; i++)
        if (!strcmp(known[i].name, "main"))
            address = known[i].address;
    return address;
}

static void note_unread(void *context, const char *module, size_t units)
{
    (void)module;
    *(bool *)context |= units == IMAGE_NO_MEMORY;
}

/* Whichever allocation fails as main of the program NAME gets its name, it has one or the lack of memory is told. */
static void test_memory(const char *name, const char *debug_root)
{
    const char *path = in_dir(name);
    struct program program = start(path, NULL, NULL);
    uint64_t address = base_of(program.pid, path) + main_address(name);
    size_t silent = 0;
    for (size_t n = 1; n == 1 || allocations >= n - 1; n++) {
        struct symbols *symbols = symbols_new();
        struct symbol symbol;
        bool told = false;
        symbols_set_debug_root(symbols, in_dir(debug_root));
        symbols_add_process(symbols, program.pid);
        allocations_fail(n, false);
        symbols_lookup(symbols, program.pid, 0, address, &symbol);
        failing = 0;
        symbols_unread(symbols, note_unread, &told);
        if (!symbol.function && !told) {
            silent++;
            printf("# allocation %zu of %zu\n", n, allocations);
        }
        symbols_free(symbols);
    }
    is_int((int64_t)silent, 0, "%s: whichever allocation fails, main has its name or it is told why not", name);
    stop(&program);
}

/* main in NAME, which is stripped, must be called WANT. */
static void expect_main(const char *name, const char *debug_root, const char *want, const char *what)
{
    const char *path = in_dir(name);
    struct program program = start(path, NULL, NULL);
    struct symbols *symbols = symbols_new();
    symbols_set_debug_root(symbols, in_dir(debug_root));
    uint64_t address = main_address(name);
    struct symbol symbol;
    symbols_lookup(symbols, program.pid, 0, base_of(program.pid, path) + address + 5, &symbol);
    is_str(symbol.function, want, "%s", what);
    is_int((int64_t)symbol.offset, (int64_t)(want ? 5 : address + 5), "%s: the offset", what);
    if (want)
        compare(symbols, program.pid, base_of(program.pid, path), 100, what);
    stop(&program);
    symbols_free(symbols);
}

static void test_debug_files(void)
{
    ok(shell("id=$(readelf -n pie | sed -n 's/.*Build ID: //p'); rest=${id#??}; d=root/.build-id/${id%%$rest}; "
             "mkdir -p $d && objcopy --only-keep-debug pie $d/$rest.debug && strip -s pie -o stripped && "
             /* by debuglink: no build id on either side */
             "cc -w -pie -fPIE -Wl,--build-id=none '-DOPEN=;' program.c -o unlabelled && "
             "objcopy --only-keep-debug unlabelled linked.debug && strip -s unlabelled -o linked && objcopy "
             "--add-gnu-debuglink=linked.debug linked && mkdir -p .debug && "
             "cp linked.debug far.debug && "
             "mkdir -p far$(pwd) && cp linked.debug far$(pwd)/linked.debug"),
       "debug files are split off");
    expect_main("stripped", "empty", NULL, "without its debug file a stripped program has no names");
    expect_main("stripped", "root", "main", "a debug file is found by build id");
    test_memory("stripped", "root");
    expect_main("linked", "empty", "main", "a debug file is found by debuglink beside the program");
    test_memory("linked", "empty");
    shell("mv linked.debug .debug/");
    expect_main("linked", "empty", "main", "a debug file is found by debuglink in .debug");
    shell("rm .debug/linked.debug");
    expect_main("linked", "empty", NULL, "without it there are no names");
    expect_main("linked", "far", "main", "a debug file is found by debuglink below the debug root");
    shell("cp far.debug linked.debug && printf x >> linked.debug");
    expect_main("linked", "empty", NULL, "a debug file with the wrong CRC is not used");
    shell("cp linked linked.debug");
    expect_main("linked", "empty", NULL, "a debuglink to the program itself is not followed");
    shell("rm -f linked.debug; ln -s linked linked.debug");
    expect_main("linked", "empty", NULL, "nor one through a symbolic link");
    shell("rm -f linked.debug; mkfifo linked.debug");
    expect_main("linked", "empty", NULL, "a FIFO in place of a debug file stops nothing");
}

int main(void)
{
    begin_programs();
    build_programs();
    test_debug_files();
    return end_programs();
}
