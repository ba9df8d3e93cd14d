/* Writes compiled programs and their maps as one ELF object. */
#include "compile/object/object.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/object/object_parts.h"

struct object_block {
    struct object_block *next;
    max_align_t bytes[];
};

struct object *object_new(void)
{
    return calloc(1, sizeof(struct object));
}

void object_free(struct object *object)
{
    if (!object)
        return;
    for (struct object_block *block = object->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(object->programs);
    free(object->maps);
    free(object->counters);
    free(object->variables);
    free(object->reused);
    free(object);
}

/* A copy of SIZE bytes that lives as long as OBJECT; NULL if memory is out. */
static void *keep(struct object *object, const void *bytes, size_t size)
{
    struct object_block *block = malloc(sizeof *block + size);
    if (!block)
        return NULL;
    block->next = object->blocks;
    object->blocks = block;
    if (size)
        memcpy(block->bytes, bytes, size);
    return block->bytes;
}

static const char *keep_string(struct object *object, const char *string)
{
    return keep(object, string, strlen(string) + 1);
}

/* Room for one more element in *ARRAY. */
static int grow(void *array, size_t count, size_t size)
{
    void **items = array;
    if (count & (count - 1)) /* grows at powers of two */
        return 0;
    void *grown = reallocarray(*items, count ? 2 * count : 1, size);
    if (!grown)
        return -ENOMEM;
    *items = grown;
    return 0;
}

/* The kernel refuses all types of an object if one name in them is no C identifier. */
static bool is_identifier(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    while (isalnum((unsigned char)*name) || *name == '_')
        name++;
    return !*name;
}

/* Names of programs, maps and counters are symbols of one file. */
static bool is_taken(const struct object *object, const char *name)
{
    for (size_t i = 0; i < object->program_count; i++)
        if (!strcmp(object->programs[i].name, name))
            return true;
    for (size_t i = 0; i < object->map_count; i++)
        if (!strcmp(object->maps[i].name, name))
            return true;
    for (size_t i = 0; i < object->counters_count; i++)
        if (!strcmp(object->counters[i].name, name))
            return true;
    for (size_t i = 0; i < object->variable_count; i++)
        if (!strcmp(object->variables[i].name, name))
            return true;
    return false;
}

static bool program_is_valid(const struct object *object, const struct object_program *program)
{
    if (!is_identifier(program->name) || is_taken(object, program->name) || !program->instruction_count)
        return false;
    for (size_t i = 0; i < object->program_count && program->section; i++)
        if (!strcmp(object_section(&object->programs[i]), program->section))
            return false;
    for (size_t i = 0; i < program->reference_count; i++) {
        const struct object_reference *reference = &program->references[i];
        if (reference->instruction >= program->instruction_count)
            return false;
        uint8_t code = program->instructions[reference->instruction].code;
        bool call = reference->kind == REFERENCE_LIBRARY || reference->kind == REFERENCE_KERNEL ||
                    reference->kind == REFERENCE_CALL;
        uint8_t wanted = call ? BPF_JMP | BPF_CALL : BPF_LD | BPF_IMM | BPF_DW;
        if (code != wanted)
            return false;
    }
    for (size_t i = 0; i < program->line_count; i++) {
        const struct object_line *line = &program->lines[i];
        if (line->instruction >= program->instruction_count ||
            (i ? line->instruction <= line[-1].instruction : line->instruction != 0))
            return false;
    }
    return true;
}

int object_add_program(struct object *object, const struct object_program *program)
{
    if (!program_is_valid(object, program))
        return -EINVAL;
    struct object_program copy = *program;
    struct object_reference *references =
        keep(object, program->references, program->reference_count * sizeof *references);
    struct object_line *lines = keep(object, program->lines, program->line_count * sizeof *lines);
    copy.name = keep_string(object, program->name);
    copy.section = program->section ? keep_string(object, program->section) : NULL;
    copy.target = program->target ? keep_string(object, program->target) : NULL;
    copy.instructions = keep(object, program->instructions, program->instruction_count * sizeof *program->instructions);
    if (!references || !lines || !copy.name || (program->section && !copy.section) ||
        (program->target && !copy.target) || !copy.instructions)
        return -ENOMEM;
    for (size_t i = 0; i < program->reference_count; i++)
        if (!(references[i].symbol = keep_string(object, references[i].symbol)))
            return -ENOMEM;
    for (size_t i = 0; i < program->line_count; i++) {
        lines[i].file = keep_string(object, lines[i].file);
        lines[i].text = keep_string(object, lines[i].text);
        if (!lines[i].file || !lines[i].text)
            return -ENOMEM;
    }
    copy.references = references;
    copy.lines = lines;
    if (grow(&object->programs, object->program_count, sizeof copy))
        return -ENOMEM;
    object->programs[object->program_count++] = copy;
    return 0;
}

int object_add_map(struct object *object, const struct object_map *map)
{
    if (!is_identifier(map->name) || strlen(map->name) >= BPF_OBJ_NAME_LEN || is_taken(object, map->name))
        return -EINVAL;
    struct object_map copy = *map;
    copy.name = keep_string(object, map->name);
    if (!copy.name || grow(&object->maps, object->map_count, sizeof copy))
        return -ENOMEM;
    object->maps[object->map_count++] = copy;
    return 0;
}

int object_add_counters(struct object *object, const char *name, size_t count)
{
    /* A quarter of what a signed 32-bit offset of an instruction can address. */
    if (!is_identifier(name) || is_taken(object, name) || !count || count > (1u << 29) / 8 ||
        object->bss_size > (1u << 29))
        return -EINVAL;
    struct object_counters counters = {keep_string(object, name), count, object->bss_size};
    if (!counters.name || grow(&object->counters, object->counters_count, sizeof counters))
        return -ENOMEM;
    object->counters[object->counters_count++] = counters;
    object->bss_size += (uint32_t)(count * sizeof(uint64_t));
    return 0;
}

int object_add_variable(struct object *object, const char *name, uint32_t size, int reuse_fd)
{
    char section[sizeof VARIABLE_SECTION + BPF_OBJ_NAME_LEN];
    if (!is_identifier(name) || strlen(name) >= BPF_OBJ_NAME_LEN || is_taken(object, name) || !size ||
        size > MAX_VARIABLE)
        return -EINVAL;
    size = (size + 7) & ~7u;
    snprintf(section, sizeof section, VARIABLE_SECTION "%s", name);
    struct object_variable variable = {keep_string(object, name), keep_string(object, section), size, reuse_fd};
    if (!variable.name || !variable.section || grow(&object->variables, object->variable_count, sizeof variable))
        return -ENOMEM;
    object->variables[object->variable_count++] = variable;
    return 0;
}

int object_reuse_map(struct object *object, const char *name, int fd)
{
    struct reused_map reused = {keep_string(object, name), fd};
    if (!reused.name || grow(&object->reused, object->reused_count, sizeof reused))
        return -ENOMEM;
    object->reused[object->reused_count++] = reused;
    return 0;
}

size_t object_program_count(const struct object *object)
{
    return object->program_count;
}

const struct object_program *object_program(const struct object *object, size_t number)
{
    return &object->programs[number];
}

const struct object_program *object_find_program(const struct object *object, const char *name)
{
    for (size_t i = 0; i < object->program_count; i++)
        if (!strcmp(object->programs[i].name, name))
            return &object->programs[i];
    return NULL;
}

size_t object_map_count(const struct object *object)
{
    return object->map_count;
}

const struct object_map *object_map(const struct object *object, size_t number)
{
    return &object->maps[number];
}

const char *object_section(const struct object_program *program)
{
    return program->section ? program->section : ".text";
}

uint32_t object_offset(const struct object *object, const struct object_program *program)
{
    size_t before = 0;
    for (const struct object_program *other = object->programs; other < program && !program->section; other++)
        before += other->section ? 0 : other->instruction_count;
    return (uint32_t)(before * sizeof(struct bpf_insn));
}

bool object_needs_library(const struct object *object)
{
    for (size_t i = 0; i < object->program_count; i++)
        for (size_t k = 0; k < object->programs[i].reference_count; k++)
            if (object->programs[i].references[k].kind == REFERENCE_LIBRARY)
                return true;
    return false;
}
