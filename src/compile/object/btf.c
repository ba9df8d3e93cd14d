/*
 * Types and source lines of a generated object, in the kernel's BTF format. Without the types of functions the verifier
 * allows no bpf_loop, without those of maps libbpf creates none, and with the lines it quotes the Lua source.
 * Source: Documentation/bpf/btf.rst.
 */
#include <errno.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>

#include "compile/object/object_parts.h"

enum { MAX_LINE = (1 << 22) - 1 }; /* line_info has 22 bits for it */

struct btf_writer {
    const struct object *object;
    const struct btf *library;
    struct btf *btf;
    int failure; /* the first negative result of libbpf's adders */
    /* ids: int, unsigned, unsigned long long, void *; a program's int (*)(void *), a function's int (*)(unsigned, void
     * *) */
    int integer, u32, u64, pointer, program, function;
};

/* An id, or the failure: noted once, checked at the end. */
static int note(struct btf_writer *types, int result)
{
    if (result < 0 && !types->failure)
        types->failure = result;
    return result;
}

static int add_map(struct btf_writer *types, const struct object_map *map)
{
    bool typed = map->type == BPF_MAP_TYPE_TASK_STORAGE; /* the kernel wants to know what the key and the value are */
    const struct {
        const char *name;
        uint32_t number;
    } members[] = {
        {"type", map->type},
        {typed ? "key" : "key_size", map->key_size},
        {typed ? "value" : "value_size", map->value_size},
        {"max_entries", map->max_entries},
        {"map_flags", map->flags},
    };
    enum { COUNT = sizeof members / sizeof *members };
    _Static_assert(COUNT * 8 == MAP_DEFINITION_SIZE, "each member is a pointer");
    /* A number is written as a pointer to an array of so many elements. */
    int pointers[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        int array = note(types, btf__add_array(types->btf, types->integer, types->integer, members[i].number));
        pointers[i] = note(types, btf__add_ptr(types->btf, array));
    }
    if (typed) {
        int words = note(types, btf__add_array(types->btf, types->integer, types->u64, map->value_size / 8));
        pointers[1] = note(types, btf__add_ptr(types->btf, types->integer));
        pointers[2] = note(types, btf__add_ptr(types->btf, words));
    }
    int definition = note(types, btf__add_struct(types->btf, NULL, MAP_DEFINITION_SIZE));
    for (size_t i = 0; i < COUNT; i++)
        note(types, btf__add_field(types->btf, members[i].name, pointers[i], (uint32_t)i * 64, 0));
    return note(types, btf__add_var(types->btf, map->name, BTF_VAR_GLOBAL_ALLOCATED, definition));
}

static void add_maps(struct btf_writer *types)
{
    const struct object *object = types->object;
    if (!object->map_count)
        return;
    int *variables = calloc(object->map_count, sizeof *variables);
    if (!variables) {
        note(types, -ENOMEM);
        return;
    }
    for (size_t i = 0; i < object->map_count; i++)
        variables[i] = add_map(types, &object->maps[i]);
    uint32_t size = (uint32_t)(object->map_count * MAP_DEFINITION_SIZE);
    note(types, btf__add_datasec(types->btf, ".maps", size));
    for (size_t i = 0; i < object->map_count; i++)
        note(types, btf__add_datasec_var_info(types->btf, variables[i], (uint32_t)i * MAP_DEFINITION_SIZE,
                                              MAP_DEFINITION_SIZE));
    free(variables);
}

static void add_counters(struct btf_writer *types)
{
    const struct object *object = types->object;
    if (!object->counters_count)
        return;
    /* Arrays and variables alternate, so that the ids need not be kept. */
    int first = (int)btf__type_cnt(types->btf);
    for (size_t i = 0; i < object->counters_count; i++) {
        const struct object_counters *counters = &object->counters[i];
        int array = note(types, btf__add_array(types->btf, types->integer, types->u64, (uint32_t)counters->count));
        note(types, btf__add_var(types->btf, counters->name, BTF_VAR_GLOBAL_ALLOCATED, array));
    }
    note(types, btf__add_datasec(types->btf, ".bss", object->bss_size));
    for (size_t i = 0; i < object->counters_count; i++)
        note(types, btf__add_datasec_var_info(types->btf, first + 2 * (int)i + 1, object->counters[i].offset,
                                              (uint32_t)(object->counters[i].count * sizeof(uint64_t))));
}

static void add_variables(struct btf_writer *types)
{
    for (size_t i = 0; i < types->object->variable_count; i++) {
        const struct object_variable *variable = &types->object->variables[i];
        int array =
            note(types, btf__add_array(types->btf, types->integer, types->u64, variable->size / sizeof(uint64_t)));
        int id = note(types, btf__add_var(types->btf, variable->name, BTF_VAR_GLOBAL_ALLOCATED, array));
        note(types, btf__add_datasec(types->btf, variable->section, variable->size));
        note(types, btf__add_datasec_var_info(types->btf, id, 0, variable->size));
    }
}

/* The id of a type that stands for type ID of the library; the linker compares the kinds of both, and the names of
 * structs. */
static int add_library_type(struct btf_writer *types, uint32_t id)
{
    const struct btf_type *type = btf__type_by_id(types->library, id);
    if (!id || !type)
        return 0;
    const char *name = btf__name_by_offset(types->library, type->name_off);
    if (btf_is_mod(type) || btf_is_typedef(type))
        return add_library_type(types, type->type);
    if (btf_is_ptr(type))
        return note(types, btf__add_ptr(types->btf, add_library_type(types, type->type)));
    if (btf_is_struct(type))
        return note(types, btf__add_fwd(types->btf, name, BTF_FWD_STRUCT));
    if (btf_is_int(type))
        return note(types, btf__add_int(types->btf, name, type->size, btf_int_encoding(type)));
    return note(types, -EINVAL);
}

/* Declares the library's function NAME as an extern, once. */
static void add_library_function(struct btf_writer *types, const char *name, struct error *err)
{
    if (btf__find_by_name_kind(types->btf, name, BTF_KIND_FUNC) > 0)
        return;
    int id = types->library ? btf__find_by_name_kind(types->library, name, BTF_KIND_FUNC) : -ENOENT;
    const struct btf_type *prototype =
        id > 0 ? btf__type_by_id(types->library, btf__type_by_id(types->library, (uint32_t)id)->type) : NULL;
    if (!prototype) {
        if (!types->failure)
            error_set(err, -ENOENT, "the BPF library of uplua has no function %s: this is a bug of uplua", name);
        note(types, -ENOENT);
        return;
    }
    enum { MAX_PARAMETERS = 5 }; /* what BPF passes in registers */
    int parameters[MAX_PARAMETERS];
    unsigned count = btf_vlen(prototype);
    if (count > MAX_PARAMETERS) {
        note(types, -EINVAL);
        return;
    }
    int result = add_library_type(types, prototype->type);
    for (unsigned i = 0; i < count; i++)
        parameters[i] = add_library_type(types, btf_params(prototype)[i].type);
    int own = note(types, btf__add_func_proto(types->btf, result));
    for (unsigned i = 0; i < count; i++)
        note(types, btf__add_func_param(types->btf, "", parameters[i]));
    note(types, btf__add_func(types->btf, name, BTF_FUNC_EXTERN, own));
}

static void add_library_functions(struct btf_writer *types, struct error *err)
{
    for (size_t i = 0; i < types->object->program_count; i++) {
        const struct object_program *program = &types->object->programs[i];
        for (size_t k = 0; k < program->reference_count; k++)
            if (program->references[k].kind == REFERENCE_LIBRARY)
                add_library_function(types, program->references[k].symbol, err);
    }
}

/* Offset of STRING in the types' string section. */
static uint32_t string_offset(struct btf_writer *types, const char *string)
{
    int offset = note(types, btf__add_str(types->btf, string));
    return offset < 0 ? 0 : (uint32_t)offset;
}

/* struct btf_ext_header of libbpf: func_info and line_info are lists of records per ELF section. */
struct extension_header {
    uint16_t magic;
    uint8_t version, flags;
    uint32_t header_size;
    uint32_t functions_offset, functions_size, lines_offset, lines_size, relocations_offset, relocations_size;
};

/*
 * The program behind PROGRAM whose records belong into the same list, NULL if there is none: libbpf reads one list per
 * section, and all functions are in .text.
 */
static const struct object_program *next_in_section(const struct object *object, const struct object_program *program)
{
    const struct object_program *end = object->programs + object->program_count;
    if (program->section)
        return NULL;
    for (program++; program < end; program++)
        if (!program->section)
            return program;
    return NULL;
}

static bool is_first_in_section(const struct object *object, const struct object_program *program)
{
    const struct object_program *other = object->programs;
    while (other < program && (program->section || other->section))
        other++;
    return other == program;
}

static uint32_t *write_functions(struct btf_writer *types, const struct object_program *program, uint32_t *at)
{
    *at++ = string_offset(types, object_section(program));
    uint32_t *count = at++;
    for (*count = 0; program; program = next_in_section(types->object, program), ++*count) {
        *at++ = object_offset(types->object, program);
        *at++ = (uint32_t)btf__find_by_name_kind(types->btf, program->name, BTF_KIND_FUNC);
    }
    return at;
}

static uint32_t *write_lines(struct btf_writer *types, const struct object_program *program, uint32_t *at)
{
    *at++ = string_offset(types, object_section(program));
    uint32_t *count = at++;
    for (*count = 0; program; program = next_in_section(types->object, program))
        for (size_t i = 0; i < program->line_count; i++, ++*count) {
            const struct object_line *line = &program->lines[i];
            uint32_t number = line->line < 0 ? 0 : (uint32_t)line->line;
            *at++ = object_offset(types->object, program) + line->instruction * (uint32_t)sizeof(struct bpf_insn);
            *at++ = string_offset(types, line->file);
            *at++ = string_offset(types, line->text);
            *at++ = (number > MAX_LINE ? MAX_LINE : number) << 10; /* the low bits are the column */
        }
    return at;
}

/* True if PROGRAM begins a list of lines: an empty one is damage for libbpf. */
static bool has_lines(const struct object *object, const struct object_program *program)
{
    size_t count = 0;
    if (!is_first_in_section(object, program))
        return false;
    for (; program; program = next_in_section(object, program))
        count += program->line_count;
    return count > 0;
}

static void *make_extension(struct btf_writer *types, uint32_t *size)
{
    const struct object *object = types->object;
    const struct object_program *end = object->programs + object->program_count;
    uint32_t section_head = 8; /* name, number of records */
    uint32_t functions_size = 4, lines_size = 0;
    for (const struct object_program *program = object->programs; program < end; program++) {
        functions_size +=
            (is_first_in_section(object, program) ? section_head : 0) + (uint32_t)sizeof(struct bpf_func_info);
        if (has_lines(object, program))
            lines_size += (lines_size ? 0 : 4) + section_head;
        lines_size += (uint32_t)(program->line_count * sizeof(struct bpf_line_info));
    }
    struct extension_header header = {
        .magic = BTF_MAGIC,
        .version = BTF_VERSION,
        .header_size = sizeof header,
        .functions_size = functions_size,
        .lines_offset = functions_size,
        .lines_size = lines_size,
        .relocations_offset = functions_size + lines_size,
    };
    *size = sizeof header + functions_size + lines_size;
    uint32_t *extension = malloc(*size), *at = extension;
    if (!extension)
        return NULL;
    at = mempcpy(at, &header, sizeof header);
    *at++ = sizeof(struct bpf_func_info);
    for (const struct object_program *program = object->programs; program < end; program++)
        if (is_first_in_section(object, program))
            at = write_functions(types, program, at);
    if (lines_size)
        *at++ = sizeof(struct bpf_line_info);
    for (const struct object_program *program = object->programs; program < end; program++)
        if (has_lines(object, program))
            at = write_lines(types, program, at);
    return extension;
}

int object_types(const struct object *object, const struct btf *library, struct btf **result, void **extension,
                 uint32_t *extension_size, struct error *err)
{
    *result = NULL;
    *extension = NULL;
    struct btf_writer types = {.object = object, .library = library, .btf = btf__new_empty()};
    if (!types.btf)
        return error_set(err, -ENOMEM, "cannot compile the handlers: out of memory");
    types.integer = note(&types, btf__add_int(types.btf, "int", 4, BTF_INT_SIGNED));
    types.u64 = note(&types, btf__add_int(types.btf, "unsigned long long", 8, 0));
    types.pointer = note(&types, btf__add_ptr(types.btf, 0));
    types.program = note(&types, btf__add_func_proto(types.btf, types.integer));
    note(&types, btf__add_func_param(types.btf, "ctx", types.pointer));
    types.u32 = note(&types, btf__add_int(types.btf, "unsigned int", 4, 0));
    types.function = note(&types, btf__add_func_proto(types.btf, types.integer));
    note(&types, btf__add_func_param(types.btf, "index", types.u32));
    note(&types, btf__add_func_param(types.btf, "frame", types.pointer));
    for (size_t i = 0; i < object->program_count; i++)
        note(&types,
             btf__add_func(types.btf, object->programs[i].name, BTF_FUNC_GLOBAL,
                           object->programs[i].section || object->programs[i].joint ? types.program : types.function));
    add_maps(&types);
    add_counters(&types);
    add_variables(&types);
    if (err)
        err->code = 0;
    add_library_functions(&types, err);
    *extension = make_extension(&types, extension_size);
    if (!*extension)
        note(&types, -ENOMEM);
    if (types.failure) {
        if (err && !err->code)
            error_set(err, types.failure, "cannot compile the handlers: their types cannot be written: %s",
                      error_reason(types.failure));
        free(*extension);
        *extension = NULL;
        btf__free(types.btf);
        return types.failure;
    }
    *result = types.btf;
    return 0;
}
