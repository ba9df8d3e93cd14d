/* Functions and values that a handler cannot use, each with the advice what to write instead. */
#include <string.h>

#include "compile/front/build.h"
#include "compile/ir/fold.h"

static const char STRINGS[] = "a handler cannot build strings; emit the parts and join them in the ring's callback";
static const char SEARCH[] =
    "a handler compares strings by ==, ~= and s:starts(prefix); do the rest in user space, in the ring's callback";
static const char COROUTINES[] = "a handler cannot use coroutines: it runs from its beginning to its end";
static const char METATABLES[] = "a handler cannot use metatables: its records have fields alone";
static const char ERRORS[] = "a handler cannot raise or catch errors: return ends it, up.exit() ends the run";
static const char ITERATION[] = "a handler cannot use the generic for; iterate in user space, with m:pairs()";
static const char TABLES[] =
    "a handler's records have the fields that they are written with; use up.hash() for what grows";
static const char VALUES[] = "a handler has as many values as are written there: name them, a tuple's are t[1], t[2]";
static const char ROUNDING[] = "a handler computes with integers, which have no fraction: / cuts it off";
static const char MATHEMATICS[] = "a handler computes with integers: + - * / % and bit.*";
static const char LOADING[] = "load it outside: a handler can use what it gives";
static const char OBJECTS[] = "make it outside of the handler, which can use it then";
static const char RUN[] = "probes and callbacks are declared by the script, not by handlers";
static const char TEXT[] = "texts are made in user space, in the ring's callback; up.printf() prints";
static const char MEMORY[] = "up.cast(\"struct name *\", address) reads structures, up.read_u64(address) and its kin "
                             "words, up.str(address) strings";

/* The first row that fits; a name ending in a dot is that of a library. */
static const struct refusal {
    const char *name, *instead;
} refusals[] = {
    {"print", "use up.printf(format, …)"},
    {"io.write", "use up.printf(format, …)"},
    {"io.", "files are for user space: up.printf() prints, a ring's callback can write"},
    {"os.time", "use e.time, which up.clock() shows as the wall clock's in user space"},
    {"os.clock", "use e.time, in nanoseconds"},
    {"os.date", "use e.time, which up.clock() shows as the wall clock's in user space"},
    {"os.exit", "use up.exit()"},
    {"os.", "it is for user space"},
    {"string.find", SEARCH},
    {"string.match", SEARCH},
    {"string.gmatch", SEARCH},
    {"string.byte", SEARCH},
    {"string.len", "use #s"},
    {"string.", STRINGS},
    {"table.concat", STRINGS},
    {"tostring", STRINGS},
    {"table.", TABLES},
    {"coroutine.", COROUTINES},
    {"setmetatable", METATABLES},
    {"getmetatable", METATABLES},
    {"rawget", "use t[key]"},
    {"rawset", "use t[key] = value"},
    {"rawequal", "use =="},
    {"pcall", ERRORS},
    {"xpcall", ERRORS},
    {"error", ERRORS},
    {"assert", ERRORS},
    {"pairs", ITERATION},
    {"ipairs", ITERATION},
    {"next", ITERATION},
    {"select", VALUES},
    {"unpack", VALUES},
    {"type", "the type of each value is known when the handler is compiled"},
    {"tonumber", "emit the string and convert it in the ring's callback"},
    {"math.floor", ROUNDING},
    {"math.ceil", ROUNDING},
    {"math.modf", ROUNDING},
    {"math.max", "write a > b and a or b"},
    {"math.min", "write a < b and a or b"},
    {"math.abs", "write x < 0 and -x or x"},
    {"math.", MATHEMATICS},
    {"require", LOADING},
    {"load", LOADING},
    {"loadstring", LOADING},
    {"loadfile", LOADING},
    {"dofile", LOADING},
    {"ffi.", MEMORY},
    {"bit.tohex", "up.printf(\"%x\", x) prints it"},
    {"up.hash", OBJECTS},
    {"up.lru_hash", OBJECTS},
    {"up.array", OBJECTS},
    {"up.percpu_hash", OBJECTS},
    {"up.count", OBJECTS},
    {"up.sum", OBJECTS},
    {"up.min", OBJECTS},
    {"up.max", OBJECTS},
    {"up.stats", OBJECTS},
    {"up.hist", OBJECTS},
    {"up.lhist", OBJECTS},
    {"up.hdr", OBJECTS},
    {"up.var", OBJECTS},
    {"up.ring", OBJECTS},
    {"up.now", "use e.time"},
    {"up.clock", TEXT},
    {"up.duration", TEXT},
    {"up.seconds", TEXT},
    {"up.thousands", TEXT},
    {"up.bar", TEXT},
    {"up.escape", TEXT},
    {"up.every", RUN},
    {"up.after", RUN},
    {"up.at_stop", RUN},
    {"up.at_exit", RUN},
    {"up.uprobe", RUN},
    {"up.uretprobe", RUN},
};

void build_refuse_call(struct build *build, const char *name)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *refusal = &refusals[i];
        size_t length = strlen(refusal->name);
        if (refusal->name[length - 1] == '.' ? strncmp(refusal->name, name, length) : strcmp(refusal->name, name))
            continue;
        if (!strncmp(refusal->instead, "a handler cannot", strlen("a handler cannot")))
            build_fail(build, "%s", refusal->instead);
        build_fail(build, "a handler cannot call %s: %s", name, refusal->instead);
    }
    build_fail(build, "a handler cannot call %s: it is for user space", name);
}

/* True if NAME is one of Lua's methods of strings, and no slip of the pen. */
static bool is_string_function(const char *name)
{
    static const char *const names[] = {"byte",  "find",  "format", "gmatch",  "gsub", "len",
                                        "lower", "match", "rep",    "reverse", "sub",  "upper"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

void build_refuse_method(struct build *build, const char *name, struct value *const *args, size_t count)
{
    bool known = is_string_function(name), constant = true;
    for (size_t i = 0; i < count; i++)
        constant &= args[i]->op == IR_CONSTANT;
    if (known && constant)
        build_fail(build,
                   "a handler cannot call :%s(…): call it outside of the handler, which takes the result as a constant",
                   name);
    if (known)
        build_refuse_call(build, arena_format(build->arena, "string.%s", name));
    build_fail(
        build,
        "a handler cannot call :%s(…); of strings it knows s:starts(prefix), #s, == and ~=: do the rest in user space, "
        "in the ring's callback",
        name);
}
