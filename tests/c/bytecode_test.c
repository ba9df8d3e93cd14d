/*
 * The decoder of LuaJIT's dumps, held against what LuaJIT itself says of the same functions (jit.util, which `luajit
 * -bl` prints), and against damaged dumps.
 */
#include "compile/front/bytecode.h"

#include <errno.h>
#include <glob.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdlib.h>
#include <unistd.h>

#include "tap.h"

/* A function of everything. Not run, so that LuaJIT has not patched its instructions. */
static const char sample[] =
    "local limit, name, map, flag = 23, 'caf\\195\\169\\0x', {}, true\n"
    "local function helper(a, b) return a and b or 2 end\n"
    "return function(e, second)\n"
    "    local t = { 1, 2.5, nil, 'four', x = 'y', [7] = false, [1e300] = true, n = -0.1, { 1 } }\n"
    "    local big, unsigned, imaginary = 0x123456789abcdefLL, 0xffffffffffffffffULL, 2i\n"
    "    for i = 1, limit do if e.arg0 == i then break end t[i] = e end\n"
    "    for k, v in pairs(t) do t[k] = v .. name .. k end\n"
    "    while e.arg1 ~= 'stop' do e = e.next; if not e then return 1, 2, helper(3) end end\n"
    "    repeat local r = second; map[r] = (map[r] or 0) + 1 until r > 4e9 or r ~= flag\n"
    "    t.x, t[1], t[second] = -e.arg0, #t, not e\n"
    "    limit = limit + 1; name = 'new'; flag = nil; global = 3 % second ^ 2 / 5 - 7 * second\n"
    "    local up = function(...) map = { ... }; return limit, ... end\n"
    "    do local c = 1; t.f = function() c = c + 1; return c end end\n"
    "    helper(up(1)); map[1], map[300] = helper, 70000\n"
    "    return helper(second, e:method(big, unsigned, imaginary))\n"
    "end\n";

/* The listing of a function and the functions in it: the Lua side, from jit.util. */
static const char lister[] =
    "local util, names, bit, format = require 'jit.util', require('jit.vmdef').bcnames, require 'bit', string.format\n"
    "local text\n"
    "local function number(n) return n ~= n and 'nan' or format('%.17g', n) end\n"
    "function text(k)\n"
    "    local kind = type(k)\n"
    "    if kind == 'number' then return number(k) end\n"
    "    if kind == 'string' then return format('%d:%s', #k, k) end\n"
    "    if kind == 'proto' then return 'function' end\n"
    "    if kind == 'cdata' then k = tostring(k) return k:find('i$') and 'complex' or k end\n"
    "    if kind ~= 'table' then return tostring(k) end\n"
    "    local lines = {}\n"
    /* Newer LuaJITs keep a key whose value is yet to be computed, with the template itself; their dump lacks it. */
    "    for key, value in pairs(k) do\n"
    "        if value ~= k then lines[#lines + 1] = text(key) .. '=' .. text(value) .. ';' end\n"
    "    end\n"
    "    table.sort(lines)\n"
    "    return 'table ' .. table.concat(lines)\n"
    "end\n"
    "local function list(f, out)\n"
    "    local info = util.funcinfo(f)\n"
    "    out[#out + 1] = format('function %s %d-%d parameters %d frame %d upvalues %d vararg %s\\n', info.source:match "
    "'^[@=](.*)',\n"
    "        info.linedefined, info.lastlinedefined, info.params, info.stackslots, info.upvalues, "
    "tostring(info.isvararg))\n"
    "    for pc = 1, info.bytecodes - 1 do\n"
    "        local word = util.funcbc(f, pc)\n"
    "        local op = bit.band(word, 255)\n"
    "        out[#out + 1] = format('%d %s %d %d %d %d line %d\\n', pc - 1, names:sub(op * 6 + 1, op * 6 + 6):match "
    "'%S+',\n"
    "            bit.band(bit.rshift(word, 8), 255), bit.rshift(word, 24), bit.band(bit.rshift(word, 16), 255),\n"
    "            bit.rshift(word, 16), util.funcinfo(f, pc).currentline)\n"
    "    end\n"
    "    for i = 1, info.gcconsts do out[#out + 1] = text(util.funck(f, -i)) .. '\\n' end\n"
    "    for i = 0, info.nconsts - 1 do out[#out + 1] = number(util.funck(f, i)) .. '\\n' end\n"
    "    for i = 0, info.upvalues - 1 do out[#out + 1] = 'upvalue ' .. util.funcuvname(f, i) .. '\\n' end\n"
    "    for i = 1, info.gcconsts do\n"
    "        local k = util.funck(f, -i)\n"
    "        if type(k) == 'proto' then list(k, out) end\n"
    "    end\n"
    "end\n"
    "return function(f) local out = {} list(f, out) return table.concat(out) end\n";

/* The same listing from what was decoded. */

static void print_constant(FILE *out, const struct constant *constant);

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *pair_line(const struct constant *key, const struct constant *value)
{
    char *line = NULL;
    size_t size;
    FILE *out = open_memstream(&line, &size);
    print_constant(out, key);
    putc('=', out);
    print_constant(out, value);
    putc(';', out);
    fclose(out);
    return line;
}

static void print_table(FILE *out, const struct constant_table *table)
{
    char **lines = calloc(table->array_size + table->pair_count + 1, sizeof *lines);
    size_t count = 0;
    for (size_t i = 0; i < table->array_size; i++)
        if (table->array[i].kind != CONSTANT_NIL)
            lines[count++] =
                pair_line(&(struct constant){.kind = CONSTANT_NUMBER, .number = (double)i}, &table->array[i]);
    for (size_t i = 0; i < table->pair_count; i++)
        if (table->pairs[i].value.kind != CONSTANT_NIL)
            lines[count++] = pair_line(&table->pairs[i].key, &table->pairs[i].value);
    qsort(lines, count, sizeof *lines, compare_lines);
    fputs("table ", out);
    for (size_t i = 0; i < count; i++) {
        fputs(lines[i], out);
        free(lines[i]);
    }
    free(lines);
}

static void print_constant(FILE *out, const struct constant *constant)
{
    switch (constant->kind) {
    case CONSTANT_NIL:
        fputs("nil", out);
        break;
    case CONSTANT_FALSE:
        fputs("false", out);
        break;
    case CONSTANT_TRUE:
        fputs("true", out);
        break;
    case CONSTANT_NUMBER:
        fprintf(out, "%.17g", constant->number);
        break;
    case CONSTANT_I64:
        fprintf(out, "%lldLL", (long long)constant->i64);
        break;
    case CONSTANT_U64:
        fprintf(out, "%lluULL", (unsigned long long)constant->u64);
        break;
    case CONSTANT_COMPLEX:
        fputs("complex", out);
        break;
    case CONSTANT_STRING:
        fprintf(out, "%zu:", constant->string.length);
        fwrite(constant->string.bytes, 1, constant->string.length, out);
        break;
    case CONSTANT_CHILD:
        fputs("function", out);
        break;
    case CONSTANT_TABLE:
        print_table(out, constant->table);
        break;
    }
}

static void list(FILE *out, const struct bytecode *function)
{
    fprintf(out, "function %s %d-%d parameters %d frame %d upvalues %d vararg %s\n", function->file,
            function->first_line, function->first_line + function->line_count, function->parameters,
            function->frame_size, function->upvalue_count, function->vararg ? "true" : "false");
    for (size_t pc = 0; pc < function->instruction_count; pc++) {
        const struct instruction *instruction = &function->instructions[pc];
        fprintf(out, "%zu %s %d %d %d %d line %d\n", pc, bytecode_op_name(instruction->op), instruction->a,
                instruction->b, instruction->c, instruction->d, instruction->line);
    }
    for (size_t i = 0; i < function->constant_count; i++) {
        print_constant(out, &function->constants[i]);
        putc('\n', out);
    }
    for (size_t i = 0; i < function->number_count; i++) {
        print_constant(out, &function->numbers[i]);
        putc('\n', out);
    }
    for (size_t i = 0; i < function->upvalue_count; i++)
        fprintf(out, "upvalue %s\n", function->upvalues[i].name);
    for (size_t i = 0; i < function->constant_count; i++)
        if (function->constants[i].kind == CONSTANT_CHILD)
            list(out, function->constants[i].child);
}

struct buffer {
    char *bytes;
    size_t size;
};

static int append(lua_State *L, const void *bytes, size_t size, void *context)
{
    (void)L;
    struct buffer *buffer = context;
    buffer->bytes = realloc(buffer->bytes, buffer->size + size);
    memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
    return 0;
}

static struct buffer dump_function(lua_State *L)
{
    struct buffer buffer = {0};
    lua_dump(L, append, &buffer);
    return buffer;
}

/* [-1, +0]: the function on the top, the lister below it. */
static void compare(lua_State *L, const char *name)
{
    struct buffer dump = dump_function(L);
    struct error err = {0};
    struct bytecode *function;
    int code = bytecode_decode(dump.bytes, dump.size, &function, &err);
    lua_pushvalue(L, -2); /* function, lister */
    lua_insert(L, -2);
    if (lua_pcall(L, 1, 1, 0))
        printf("# %s\n", lua_tostring(L, -1));
    size_t wanted_size, size = 0;
    const char *wanted = lua_tolstring(L, -1, &wanted_size);
    char *got = NULL;
    if (!code) {
        FILE *out = open_memstream(&got, &size);
        list(out, function);
        fclose(out);
    }
    if (!ok(!code && size == wanted_size && !memcmp(got, wanted, size), "%s: the same as LuaJIT's own listing", name)) {
        printf("# %s\n", err.text);
        for (size_t i = 0; i < size; i++) {
            if (got[i] == wanted[i])
                continue;
            printf("# first difference at %zu: got %.60s, expected %.60s\n", i, got + i, wanted + i);
            break;
        }
    }
    lua_pop(L, 1);
    bytecode_free(function);
    free(got);
    free(dump.bytes);
}

static void test_files(lua_State *L)
{
    static const char *const patterns[] = {"lua/*.lua", "lua/*/*.lua", "scripts/*.lua",
                                           "/usr/share/luajit-2.1*/jit/*.lua"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        glob_t found;
        if (glob(patterns[i], 0, NULL, &found))
            continue;
        for (size_t k = 0; k < found.gl_pathc; k++) {
            if (luaL_loadfile(L, found.gl_pathv[k]))
                lua_pop(L, 1);
            else
                compare(L, found.gl_pathv[k]);
        }
        globfree(&found);
    }
}

static void load(lua_State *L, const char *source, const char *name)
{
    if (luaL_loadbuffer(L, source, strlen(source), name))
        printf("# %s\n", lua_tostring(L, -1));
}

static const char variables_source[] = "local up = 1\n" /* the function below: */
                                       "local function f(e, other)\n"
                                       "    local a = e\n"               /* 0 MOV */
                                       "    do local b = other end\n"    /* 1 MOV */
                                       "    do local c = up end\n"       /* 2 UGET */
                                       "    for i = 1, 3 do a = i end\n" /* 3-5 KSHORT, 6 FORI, 7 MOV, 8 FORL */
                                       "end\n";

static void test_variables(lua_State *L)
{
    load(L, variables_source, "=variables");
    struct buffer dump = dump_function(L);
    struct bytecode *chunk;
    struct error err = {0};
    if (is_int(bytecode_decode(dump.bytes, dump.size, &chunk, &err), 0, "a chunk with locals is decoded")) {
        const struct bytecode *f = chunk->constants[0].child;
        is_str(bytecode_variable(f, 0, 0), "e", "a parameter has its name");
        is_str(bytecode_variable(f, 1, 5), "other", "to the end");
        ok(!bytecode_variable(f, 2, 0), "a local has none before it is set");
        is_str(bytecode_variable(f, 2, 1), "a", "and then has");
        ok(!bytecode_variable(f, 3, 1), "a scope that has not begun has no names");
        is_str(bytecode_variable(f, 3, 7), "(for index)", "a loop's own variables are named");
        is_str(bytecode_variable(f, 6, 7), "i", "and so is the one in its body");
        ok(!bytecode_variable(f, 99, 7), "an unused slot has no name");
        ok(f->upvalues[0].local && f->upvalues[0].immutable, "an upvalue that is never assigned is immutable");
        is_str(f->upvalues[0].name, "up", "and has its name");
        is_str(f->file, "variables", "a nested function knows its file");
        bytecode_free(chunk);
    }
    free(dump.bytes);
    lua_pop(L, 1);
}

/* Chunks without a name are called by their text, as Lua calls them. */
static void test_file(lua_State *L)
{
    static const struct {
        const char *chunk, *what;
    } cases[] = {
        {"@/tmp/a.lua", "a file"},
        {"=-e", "a name"},
        {"return 1", "a text"},
        {"local a = 1\nreturn a", "its first line"},
        {"", "none"},
        {"return 'as long as Lua shows it, to the last ch'", "a long text"},
        {"return 'as long as Lua shows it, to the last chr'", "one that is too long"},
        {"return 'as long as Lua shows it, to the last char'", "one more"},
        {"return 'much longer than what Lua shows of the text of a chunk that has no name'", "a longer one"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lua_Debug info;
        load(L, "return 1", cases[i].chunk);
        struct buffer dump = dump_function(L);
        struct bytecode *chunk;
        struct error err = {0};
        lua_getinfo(L, ">S", &info);
        if (is_int(bytecode_decode(dump.bytes, dump.size, &chunk, &err), 0, "%s", cases[i].what)) {
            is_str(chunk->file, *cases[i].chunk ? info.short_src : "[string \"\"]", "is called as Lua calls it");
            bytecode_free(chunk);
        }
        free(dump.bytes);
    }
}

static int decode(const void *bytes, size_t size, struct error *err)
{
    struct bytecode *function;
    int code = bytecode_decode(bytes, size, &function, err);
    if (code) {
        if (function || !*err->text)
            abort();
        return code;
    }
    char *text = NULL; /* touches everything that was decoded */
    size_t text_size;
    FILE *out = open_memstream(&text, &text_size);
    list(out, function);
    fclose(out);
    free(text);
    bytecode_free(function);
    return 0;
}

static void test_damage(lua_State *L)
{
    load(L, sample, "=sample");
    struct buffer dump = dump_function(L);
    struct error err;
    unsigned accepted = 0, refused = 0;
    for (size_t size = 0; size < dump.size; size++) {
        char *copy = malloc(size ? size : 1); /* of exactly this size, for the address sanitizer */
        memcpy(copy, dump.bytes, size);
        accepted += !decode(copy, size, &err);
        free(copy);
    }
    is_int(accepted, 0, "every truncation of %zu bytes is an error", dump.size);
    accepted = 0;
    for (size_t i = 0; i < dump.size; i++) {
        char original = dump.bytes[i];
        for (int change = 1; change < 256; change = change < 128 ? change * 2 : change + 127) { /* each bit; all bits */
            dump.bytes[i] = (char)(original ^ change);
            if (decode(dump.bytes, dump.size, &err))
                refused++;
            else
                accepted++;
        }
        dump.bytes[i] = original;
    }
    ok(refused > 0 && accepted > 0, "each damaged byte is an error or a decode: %u errors, %u decodes", refused,
       accepted);
    is_int(decode(dump.bytes, dump.size, &err), 0, "the whole dump is decoded");

    char *head = malloc(dump.size);
    memcpy(head, dump.bytes, dump.size);
    head[3] = 9;
    ok(decode(head, dump.size, &err) == -ENOTSUP && strstr(err.text, "version 9"), "an unknown version is named");
    head[3] = 2;
    head[4] |= 1;
    ok(decode(head, dump.size, &err) == -ENOTSUP && strstr(err.text, "byte order"), "so is the other byte order");
    free(head);
    free(dump.bytes);
    lua_pop(L, 1);
}

static void test_stripped(lua_State *L)
{
    load(L, "return string.dump(loadstring('return 1'), true)", "=strip");
    lua_call(L, 0, 1);
    size_t size;
    const char *bytes = lua_tolstring(L, -1, &size);
    struct error err;
    ok(decode(bytes, size, &err) == -ENODATA && strstr(err.text, "stripped"), "a stripped function is refused by name");
    lua_pop(L, 1);
}

int main(void)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    load(L, lister, "=lister");
    lua_call(L, 0, 1);
    load(L, sample, "=sample");
    compare(L, "sample");
    test_files(L);
    test_variables(L);
    test_file(L);
    test_damage(L);
    test_stripped(L);
    lua_close(L);
    return done_testing();
}
