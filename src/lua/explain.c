/* Compiled handlers as Lua tables, for --explain. */
#include "lua/explain.h"

#include <string.h>

#include "compile/machine/disassemble.h"
#include "lua/core.h"

static void push_instructions(lua_State *L, const struct object_program *program)
{
    char text[128];
    lua_newtable(L); /* list */
    int number = 0;
    for (size_t at = 0; at < program->instruction_count;) {
        size_t taken = disassemble(program, at, text, sizeof text);
        lua_createtable(L, 0, 2); /* list instruction */
        core_set_number(L, "at", at);
        core_set_string(L, "text", text);
        lua_rawseti(L, -2, ++number);
        at += taken;
    }
}

static void push_lines(lua_State *L, const struct object_program *program)
{
    lua_createtable(L, (int)program->line_count, 0); /* list */
    for (size_t i = 0; i < program->line_count; i++) {
        const struct object_line *line = &program->lines[i];
        lua_createtable(L, 0, 4); /* list line */
        core_set_number(L, "at", line->instruction);
        core_set_number(L, "line", (uint64_t)line->line);
        core_set_string(L, "file", line->file);
        core_set_string(L, "text", line->text);
        lua_rawseti(L, -2, (int)i + 1);
    }
}

/* Which part of HANDLER the program is: "" the handler itself; NULL: none. */
static const char *part_of(const struct object_program *program, const struct handler *handler)
{
    size_t length = strlen(handler->program);
    if (!strcmp(program->name, handler->entry_program))
        return "entry";
    if (strncmp(program->name, handler->program, length))
        return NULL;
    return !program->name[length] ? "" : strcmp(program->name + length, "_rounds") ? NULL : "rounds";
}

static void push_program(lua_State *L, const struct object_program *program, const struct handler *handlers,
                         size_t count)
{
    lua_createtable(L, 0, 7); /* program */
    for (size_t i = 0; i < count; i++) {
        const char *part = part_of(program, &handlers[i]);
        if (!part)
            continue;
        core_set_number(L, "handler", i + 1);
        core_set_string(L, "part", *part ? part : NULL);
        core_set_boolean(L, "session", handlers[i].session);
    }
    core_set_string(L, "name", program->name);
    core_set_number(L, "stack", program->stack_size);
    core_set_number(L, "scratch", program->scratch_size);
    core_set_number(L, "count", program->instruction_count);
    push_lines(L, program);
    lua_setfield(L, -2, "lines");
    push_instructions(L, program);
    lua_setfield(L, -2, "instructions");
}

static void push_map(lua_State *L, const struct object_map *map)
{
    lua_createtable(L, 0, 5); /* map */
    core_set_string(L, "name", map->name);
    core_set_number(L, "type", map->type);
    core_set_number(L, "key", map->key_size);
    core_set_number(L, "value", map->value_size);
    core_set_number(L, "max", map->max_entries);
}

void explain_push(lua_State *L, const struct object *object, const struct handler *handlers, size_t count)
{
    lua_createtable(L, 0, 2);                                 /* result */
    lua_createtable(L, (int)object_program_count(object), 0); /* result programs */
    for (size_t i = 0; i < object_program_count(object); i++) {
        push_program(L, object_program(object, i), handlers, count);
        lua_rawseti(L, -2, (int)i + 1);
    }
    lua_setfield(L, -2, "programs");
    lua_createtable(L, (int)object_map_count(object), 0); /* result maps */
    for (size_t i = 0; i < object_map_count(object); i++) {
        push_map(L, object_map(object, i));
        lua_rawseti(L, -2, (int)i + 1);
    }
    lua_setfield(L, -2, "maps");
}
