/* What a process maps is recorded as it happens: its addresses have names after it has exited, however soon it did. */
#include "programs.h"

/* Prints the addresses of its functions with their process, then exits. */
static const char brief_c[] =
    "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <string.h>\n"
    "#include <sys/wait.h>\n#include <unistd.h>\n"
    "__attribute__((noinline)) int brief(int x) { return x * 5; }\n"
    "static void say(const char *name, void *address) { printf(\"%d %s %p\\n\", getpid(), name, address); "
    "fflush(stdout); }\n"
    "static void *load(void *path) { void *library = dlopen(path, RTLD_NOW);\n"
    "  if (library) { say(\"loaded_late\", dlsym(library, \"loaded_late\")); dlclose(library); } return NULL; }\n"
    "int main(int argc, char **argv) { pthread_t thread;\n"
    "  say(\"brief\", (void *)brief); say(\"getpid\", dlsym(RTLD_DEFAULT, \"getpid\"));\n"
    "  if (argc > 1 && !strcmp(argv[1], \"fork\")) { if (!fork()) { say(\"brief\", (void *)brief); _exit(0); } "
    "wait(NULL); }\n"
    "  else if (argc > 1 && !strcmp(argv[1], \"exec\")) execl(argv[2], argv[2], NULL);\n"
    "  else if (argc > 1) { pthread_create(&thread, NULL, load, argv[1]); pthread_join(thread, NULL); }\n"
    "  return brief(argc) == 3; }\n";

enum { SAID_MAX = 16 };

struct said {
    pid_t pid;
    char name[64];
    uint64_t address;
};
static struct said said[SAID_MAX];
static size_t said_count;

/* Runs PROGRAM, followed from before its exec unless SYMBOLS follows everybody, until it has exited. */
static void run(struct symbols *symbols, bool everybody, const char *program, const char *one, const char *two)
{
    int go[2], out[2];
    if (pipe2(go, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        exit(2);
    pid_t pid = fork();
    if (!pid) {
        char byte;
        dup2(out[1], 1);
        if (read(go[0], &byte, 1) == 1)
            execl(program, program, one, two, NULL);
        _exit(127);
    }
    close(out[1]);
    is_int(symbols_follow(symbols, &pid, everybody ? 0 : 1, true), 0, "mappings can be followed");
    if (write(go[1], "x", 1) != 1)
        exit(2);
    FILE *lines = fdopen(out[0], "r");
    for (said_count = 0; said_count < SAID_MAX; said_count++) {
        struct said *line = &said[said_count];
        if (fscanf(lines, "%d %63s %" SCNx64, &line->pid, line->name, &line->address) != 3)
            break;
    }
    fclose(lines);
    close(go[0]);
    close(go[1]);
    int status;
    ok(waitpid(pid, &status, 0) == pid && status == 0, "the program ends");
}

/* Looks at everything that the program said: COUNT addresses. NAMED false: of its own ones only the module is known. */
static void check(struct symbols *symbols, size_t count, bool named, const char *what)
{
    size_t right = 0, wrong = 0;
    symbols_update(symbols);
    for (size_t i = 0; i < said_count; i++) {
        struct symbol symbol;
        symbols_lookup(symbols, said[i].pid, 0, said[i].address, &symbol);
        bool library = !strcmp(said[i].name, "getpid");
        if (named || library)
            right += symbol.function && strstr(symbol.function, said[i].name) && symbol.offset == 0;
        else
            right += !symbol.function && symbol.module && symbol.module[0] == '/';
        wrong += symbol.function && !strstr(symbol.function, said[i].name);
    }
    ok(said_count == count && right == count && !wrong, "%s: %zu of %zu addresses are right, %zu wrong", what, right,
       count, wrong);
    struct symbols_lost lost = symbols_lost(symbols);
    ok(!lost.records && !lost.frames, "%s: nothing was lost", what);
}

static void test_commands(void)
{
    struct symbols *symbols = symbols_new();
    run(symbols, false, in_dir("brief"), NULL, NULL);
    check(symbols, 2, true, "a program that exits at once");
    run(symbols, false, in_dir("brief-fixed"), NULL, NULL);
    check(symbols, 2, true, "a program that is not position-independent");
    run(symbols, false, in_dir("brief"), in_dir("library.so"), NULL);
    check(symbols, 3, true, "a library that a thread loads and unloads");
    run(symbols, false, in_dir("brief"), "fork", NULL);
    check(symbols, 3, true, "a child without exec");
    run(symbols, false, in_dir("brief"), "exec", in_dir("brief-fixed"));
    check(symbols, 4, true, "a program that executes another");
    symbols_free(symbols);
}

static void test_changed_files(void)
{
    struct symbols *symbols = symbols_new();
    shell("cp brief deleted && cp brief written && cp brief replaced");
    symbols_keep_file(symbols, in_dir("deleted"));
    run(symbols, false, in_dir("deleted"), NULL, NULL);
    shell("rm deleted");
    check(symbols, 2, true, "a program deleted after its exit");
    run(symbols, false, in_dir("written"), NULL, NULL);
    usleep(20000); /* the clock of files is that of the kernel's timer */
    shell("cat brief-fixed > written");
    check(symbols, 2, false, "a program written over after its exit");
    run(symbols, false, in_dir("replaced"), NULL, NULL);
    usleep(20000);
    shell("rm replaced && cp brief-fixed replaced"); /* may well get the same inode */
    check(symbols, 2, false, "a program replaced after its exit");
    shell("strip brief -o stripped");
    run(symbols, false, in_dir("stripped"), NULL, NULL);
    check(symbols, 2, false, "a stripped program");
    symbols_free(symbols);
}

static void test_everybody(void)
{
    struct symbols *symbols = symbols_new();
    run(symbols, true, in_dir("brief"), "fork", NULL);
    check(symbols, 3, true, "the whole machine");
    is_int(symbols_follow_fd(symbols) >= 0, 1, "there is a descriptor to wait for");
    symbols_free(symbols);
}

/* More processes than are kept. */
static void test_many(void)
{
    struct symbols *symbols = symbols_new();
    is_int(symbols_follow(symbols, NULL, 0, false), 0, "everybody is followed");
    for (int i = 0; i < 100; i++) {
        if (!shell("i=0; while [ $i -lt 100 ]; do (:); i=$((i + 1)); done"))
            exit(2);
        symbols_update(symbols);
    }
    run(symbols, true, in_dir("brief"), NULL, NULL);
    check(symbols, 2, true, "after 10,000 processes");
    symbols_free(symbols);
}

int main(void)
{
    begin_programs();
    write_file("brief.c", brief_c);
    write_file("library.c", "int loaded_late(int x) { return x + 1; }\n");
    ok(shell("cc -w -pie -fPIE brief.c -o brief -pthread -ldl && "
             "cc -w -no-pie -fno-pie brief.c -o brief-fixed -pthread -ldl && "
             "cc -w -shared -fPIC library.c -o library.so"),
       "the programs are built");
    test_commands();
    test_changed_files();
    test_everybody();
    test_many();
    return end_programs();
}
