/* Parameters of functions as debug information has them: where each is, of which type, by gcc and clang; what cannot be
 * told says why. */
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/arena.h"
#include "probe/args/parameters.h"
#include "tap.h"

static __attribute__((noreturn)) void exhausted(void *context)
{
    (void)context;
    abort();
}

/* What PROGRAM's SPECS have, in TEXT: "name:type@place" for each, or the error. */
static void describe(const char *const *specs, size_t count, bool at_return, char *text, size_t size)
{
    static const char *const places[] = {
        [ARGUMENT_CONTEXT] = "register",
        [ARGUMENT_MEMORY] = "stack",
        [ARGUMENT_NOWHERE] = "nowhere",
    };
    struct arena arena = {.exhausted = exhausted};
    const struct argument *arguments = NULL;
    struct sites sites;
    struct error err = {0};
    size_t found = 0, used = 0;
    *text = '\0';
    if (probe_resolve_all(specs, count, NULL, at_return, &sites, &err)) {
        snprintf(text, size, "%s", err.text);
        return;
    }
    if (parameters_find(&sites, at_return, &arena, &arguments, &found, &err)) {
        snprintf(text, size, "%s", err.text);
        found = 0;
    }
    for (size_t i = 0; i < found && used < size; i++) {
        const struct argument *argument = &arguments[i];
        char where[32];
        snprintf(where, sizeof where, "%s", places[argument->place]);
        for (unsigned n = 0; argument->place == ARGUMENT_CONTEXT && n < ARCH_MAX_ARGUMENTS; n++)
            if (arch_argument(n) == (int)argument->offset)
                snprintf(where, sizeof where, "%u", n);
        if (argument->place == ARGUMENT_MEMORY)
            snprintf(where, sizeof where, "stack+%d", (int)argument->offset);
        used += (size_t)snprintf(text + used, size - used, "%s%s:%s@%s", i ? " " : "",
                                 argument->name ? argument->name : "", argument->type, where);
    }
    arena_free(&arena);
    probe_sites_free(&sites);
}

/* gcc says "long int" and "short int" where clang says "long" and "short". */
static const char *as_clang(char *text)
{
    static const char *const words[] = {"long int", "short int"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (char *at = text; (at = strstr(at, words[i]));) {
            char *end = at + strlen(words[i]);
            memmove(end - strlen(" int"), end, strlen(end) + 1);
        }
    return text;
}

static void check(const char *program, const char *function, bool at_return, const char *want)
{
    char spec[128], text[4096];
    const char *specs[] = {spec};
    snprintf(spec, sizeof spec, "build/targets/%s:%s", program, function);
    describe(specs, 1, at_return, text, sizeof text);
    is_str(as_clang(text), want, "%s%s of %s", function, at_return ? ", at its return," : "", program);
}

int main(void)
{
    static const char *const programs[] = {"typed", "typed-clang", "typed-split"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        check(programs[i], "integers", false,
              "i8:int8_t@0 u8:uint8_t@1 i16:int16_t@2 u16:uint16_t@3 i32:int32_t@4 u32:uint32_t@5");
        check(programs[i], "others", false,
              "i64:int64_t@0 u64:uint64_t@1 flag:_Bool@2 color:enum color@3 number:port@4 letter:char@5");
        check(programs[i], "fields", false,
              "c:struct config *@0 text:char *@1 list:struct config **@2 nothing:void *@3 unknown:struct hidden *@4");
        check(programs[i], "twice", true, "n:int@0");
#ifdef __x86_64__
#define BEYOND "it is passed on the stack, where a uprobe finds it, but not the function's return@nowhere"
        check(programs[i], "many", false,
              "a:int@0 b:long@1 c:short@2 d:int@3 e:int@4 f:int@5 g:int8_t@stack+8 h:int64_t@stack+16 "
              "i:uint32_t@stack+24");
        check(programs[i], "many", true,
              "a:int@0 b:long@1 c:short@2 d:int@3 e:int@4 f:int@5 g:" BEYOND " h:" BEYOND " i:" BEYOND);
        check(programs[i], "mixed", false,
              "x:it is a 'double', which handlers cannot compute with@nowhere a:int@0 s:it is a 'struct small' of 8 "
              "bytes passed by value, which are "
              "e.arg1@nowhere y:it is a 'float', which handlers cannot compute with@nowhere p:it is a 'struct floats' "
              "of 16 bytes passed by value, in "
              "registers for floating-point numbers@nowhere b:long@2 l:it is a 'struct large' of 24 bytes passed by "
              "value, on the stack@nowhere t:it is a "
              "'struct two' of 16 bytes passed by value, which are e.arg3 and e.arg4@nowhere c:short@5");
        check(programs[i], "give_large", false, "a:int@1"); /* behind the address that the result goes to */
#endif
    }

    char text[4096];
    const char *alike[] = {"build/targets/typed:twice", "build/targets/typed-clang:twice"};
    describe(alike, 2, false, text, sizeof text);
    is_str(text, "n:int@0", "functions with the same parameters");
    const char *different[] = {"build/targets/typed:twice", "build/targets/typed:integers"};
    describe(different, 2, false, text, sizeof text);
    ok(strstr(text, " have other arguments than each other: e.args of several functions needs the same ones; give each "
                    "a probe of its own") != NULL,
       "with different ones: %s", text);
    const char *bare[] = {"build/targets/typed-plain:twice"};
    describe(bare, 1, false, text, sizeof text);
    ok(strstr(text, "/typed-plain has no debug information, by which the arguments of its functions have "
                    "names\ncompile it with -g") != NULL,
       "without debug information: %s", text);
    return done_testing();
}
