/* Functions and values that a handler cannot use, each with the advice what to write instead. */
#include <string.h>

#include "compile/front/build.h"

/* The first row that fits. NAMES are words; one ending in a dot is that of a library. */
static const struct refusal {
    const char *names, *instead;
} refusals[] = {
    {"print io.write", "use up.printf(format, …)"},
    {"io.", "files are for user space: up.printf() prints, a ring's callback can write"},
    {"os.time os.date", "use e.time, which up.clock() shows as the wall clock's in user space"},
    {"os.clock", "use e.time, in nanoseconds"},
    {"os.exit", "use up.exit()"},
    {"os.", "it is for user space"},
    {"string.find", "write s:find(\"text\", 1, true)"},
    {"string.match string.gmatch string.byte",
     "a handler compares strings by ==, ~= and s:starts(prefix) and looks into them by s:find(\"text\", 1, true); do "
     "the rest in user space, in the ring's callback"},
    {"string.len", "use #s"},
    {"string. table.concat tostring",
     "a handler cannot build strings; emit the parts and join them in the ring's callback"},
    {"table.", "a handler's records have the fields that they are written with; use up.hash() for what grows"},
    {"coroutine.", "a handler cannot use coroutines: it runs from its beginning to its end"},
    {"setmetatable getmetatable", "a handler cannot use metatables: its records have fields alone"},
    {"rawget", "use t[key]"},
    {"rawset", "use t[key] = value"},
    {"rawequal", "use =="},
    {"pcall xpcall error assert", "a handler cannot raise or catch errors: return ends it, up.exit() ends the run"},
    {"pairs ipairs next", "a handler cannot use the generic for; iterate in user space, with m:pairs()"},
    {"select unpack", "a handler has as many values as are written there: name them, a tuple's are t[1], t[2]"},
    {"type", "the type of each value is known when the handler is compiled"},
    {"tonumber", "emit the string and convert it in the ring's callback"},
    {"math.floor math.ceil math.modf", "a handler computes with integers, which have no fraction: / cuts it off"},
    {"math.max", "write a > b and a or b"},
    {"math.min", "write a < b and a or b"},
    {"math.abs", "write x < 0 and -x or x"},
    {"math.", "a handler computes with integers: + - * / % and bit.*"},
    {"require load loadstring loadfile dofile", "load it outside: a handler can use what it gives"},
    {"ffi.", "up.cast(\"struct name *\", address) reads structures, up.read_u64(address) and its kin words, "
             "up.str(address) strings, up.buf(address, size) bytes"},
    {"bit.tohex", "up.printf(\"%x\", x) prints it"},
    {"up.hash up.lru_hash up.array up.percpu_hash up.count up.sum up.min up.max up.stats up.hist up.lhist up.hdr "
     "up.var "
     "up.ring",
     "make it outside of the handler, which can use it then"},
    {"up.now", "use e.time"},
    {"up.clock up.hex", "texts are made in user space, in the ring's callback; up.printf() prints"},
    {"up.every up.after up.at_stop up.at_exit up.uprobe up.uretprobe",
     "probes and callbacks are declared by the script, not by handlers"},
};

/* True if NAMES has NAME, or its library. */
static bool is_among(const char *names, const char *name)
{
    for (size_t length; *names; names += length + strspn(names + length, " ")) {
        length = strcspn(names, " ");
        if (!strncmp(names, name, length) && (names[length - 1] == '.' || !name[length]))
            return true;
    }
    return false;
}

void build_refuse_call(struct build *build, const char *name)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *refusal = &refusals[i];
        if (!is_among(refusal->names, name))
            continue;
        if (!strncmp(refusal->instead, "a handler cannot", strlen("a handler cannot")))
            build_fail(build, "%s", refusal->instead);
        build_fail(build, "a handler cannot call %s: %s", name, refusal->instead);
    }
    build_fail(build, "a handler cannot call %s: it is for user space", name);
}

void build_refuse_method(struct build *build, const char *name, struct value *const *args, size_t count)
{
    /* Lua's methods of strings; any other name may be a slip of the pen. */
    bool known = is_among("byte find format gmatch gsub len lower match rep reverse sub upper", name), constant = true;
    for (size_t i = 0; i < count; i++)
        constant &= args[i]->op == IR_CONSTANT;
    if (known && constant)
        build_fail(build,
                   "a handler cannot call :%s(…): call it outside of the handler, which takes the result as a constant",
                   name);
    if (known)
        build_refuse_call(build, arena_format(build->arena, "string.%s", name));
    build_fail(build,
               "a handler cannot call :%s(…); of strings it knows s:starts(prefix), s:find(text), #s, == and ~=: do "
               "the rest in user space, "
               "in the ring's callback",
               name);
}
