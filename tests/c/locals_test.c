/* Variables where a probe stands, as debug information has them: in their places at each instruction of a program, and
 * without harm where the file is damaged. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "probe/args/locals.h"
#include "probe/spec/inlined.h"
#include "programs.h"
#include "sym/debugtypes.h"
#include "tap.h"

enum { ROUNDS = 300, SECONDS = 5 };

static __attribute__((noreturn)) void exhausted(void *context)
{
    (void)context;
    abort();
}

/* How many of the variables at SPEC can be read and how many cannot; -1: the error, in TEXT. */
static int look(const char *spec, const char *name, int *refused, char text[256])
{
    struct arena arena = {.exhausted = exhausted};
    const struct argument *arguments = NULL;
    const char *specs[] = {spec};
    struct sites sites;
    struct inlined inlined;
    struct error err = {0};
    size_t count = 0;
    int there = 0;
    *refused = 0;
    *text = '\0';
    if (probe_resolve_all(specs, 1, NULL, RETURNS_NOT_SEEN, &sites, &err)) {
        snprintf(text, 256, "%.255s", err.text);
        return -1;
    }
    if (locals_find(&sites, name, &arena, &arguments, &count, &err)) {
        snprintf(text, 256, "%.255s", err.text);
        there = -1;
    }
    for (size_t i = 0; i < count && there >= 0; i++) {
        bool nowhere = arguments[i].place == ARGUMENT_NOWHERE;
        there += !nowhere;
        *refused += nowhere;
        if (nowhere && (!arguments[i].type || !*arguments[i].type))
            there = -1;
    }
    if (sites_inlined(&sites, &inlined))
        there = -1;
    arena_free(&arena);
    probe_sites_free(&sites);
    return there;
}

static const char source[] = "#include <stdlib.h>\n"
                             "struct pair { int a; long b; } kept;\n"
                             "static int inner(int i) { int twice = 2 * i; { int i = twice; twice += i; }\n"
                             "  return twice; }\n"
                             "__attribute__((noinline)) int outer(int n, const char *text) {\n"
                             "  struct pair pair = {n, n}; static int calls; char name[8] = {0};\n"
                             "  name[0] = *text; calls++; kept.a += n;\n"
                             "  for (int i = 0; i < n; i++) pair.b += inner(i) + name[i & 7];\n"
                             "  return (int)pair.b + calls; }\n"
                             "int main(int argc, char **argv) { return outer(argc, argv[0]); }\n";

/* Asks at every instruction of outer, or as many as there are: how many answers there were. */
static int look_everywhere(const char *program)
{
    int answers = 0, refused;
    char text[256], spec[128];
    for (int at = 0; at < 0x60; at++) {
        snprintf(spec, sizeof spec, "%s:outer+%d", in_dir(program), at);
        answers += look(spec, NULL, &refused, text) >= 0;
        look(spec, "pair", &refused, text);
    }
    return answers;
}

static void check_program(const char *flags)
{
    char text[256], spec[128];
    int refused;
    if (!ok(shell("gcc -g -w %s locals.c -o locals", flags), "a program with %s", flags))
        return;
    ok(look_everywhere("locals") > 10, "… is asked at each of its instructions");
    snprintf(spec, sizeof spec, "%s@locals.c:9", in_dir("locals"));
    int there = look(spec, NULL, &refused, text);
    ok(there > 0 && there + refused == 5, "… has all variables of a line, or says why not: %d and %d %s", there,
       refused, text);
    is_int(look(spec, "kept", &refused, text), 1, "… one that belongs to no function: %s", text);
    is_int(look(spec, "nothing", &refused, text), -1, "… and not one that there is not: %s", text);
}

/* Changes some bytes of the FILE's debug information, which ends it. */
static void damage(const char *from, const char *to, unsigned seed)
{
    static unsigned char bytes[1 << 18];
    FILE *file = fopen(in_dir(from), "rb");
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file)
        fclose(file);
    srand(seed);
    for (int i = 0; i < 12 && size; i++)
        bytes[size / 4 + (size_t)rand() % (size - size / 4)] = (unsigned char)rand();
    file = fopen(in_dir(to), "wb");
    if (!file)
        return;
    fwrite(bytes, 1, size, file);
    fclose(file);
}

static void check_damaged(void)
{
    int answers = 0, refused;
    char text[256], spec[128];
    clock_t start = clock(); /* of this process's own work: others may have the CPUs meanwhile */
    for (unsigned i = 0; i < ROUNDS; i++) {
        char name[32];
        snprintf(name, sizeof name, "damaged%u", i); /* debug information is kept by file */
        damage("locals", name, i);
        snprintf(spec, sizeof spec, "%s:outer+%u", in_dir(name), i % 48);
        answers += look(spec, NULL, &refused, text) >= 0;
        look(spec, "pair", &refused, text);
        look(spec, "i", &refused, text);
        look(spec, "kept.b", &refused, text);
        remove(in_dir(name));
    }
    ok((clock() - start) / CLOCKS_PER_SEC < SECONDS * 20, "%d damaged copies are read without harm, %d with an answer",
       ROUNDS, answers);
}

int main(void)
{
    begin_programs();
    write_file("locals.c", source);
    check_program("-O0");
    check_program("-O2");
    check_program("-O3 -gdwarf-4");
    check_program("-Os -fno-asynchronous-unwind-tables");
    check_damaged();
    return end_programs();
}
