/* The kernel's types and functions, as handlers see them. */
#include "sys/kernel_types.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/btf_sections.h"

enum { DEEPEST = 32 }; /* of names for names, and of structs in structs */

/* The kernel's types do not change while the process lives. */
static struct kernel_btf btf;

int kernel_types_open(void)
{
    if (btf.marks)
        return 0;
    int code = btf_open(&btf);
    if (!code && (code = btf_index(&btf)))
        btf_close(&btf);
    return code;
}

static const struct btf_type *type_at(uint32_t id)
{
    return btf_type(&btf, id);
}

static unsigned kind_of(const struct btf_type *type)
{
    return BTF_INFO_KIND(type->info);
}

static bool is_other_name(unsigned kind)
{
    return kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_CONST || kind == BTF_KIND_VOLATILE ||
           kind == BTF_KIND_RESTRICT || kind == BTF_KIND_TYPE_TAG;
}

/* The type that ID is another name for. */
static uint32_t resolve(uint32_t id)
{
    const struct btf_type *type = type_at(id);
    for (int depth = 0; type && is_other_name(kind_of(type)) && depth < DEEPEST; depth++) {
        id = type->type;
        type = type_at(id);
    }
    return id;
}

static void get_integer(const struct btf_type *type, struct kernel_type *result)
{
    bool is_enum = kind_of(type) != BTF_KIND_INT;
    uint32_t encoding = is_enum ? 0 : BTF_INT_ENCODING(*(const uint32_t *)(type + 1));
    bool is_signed = is_enum ? BTF_INFO_KFLAG(type->info) : encoding & BTF_INT_SIGNED;
    if (type->size != 1 && type->size != 2 && type->size != 4 && type->size != 8)
        return;
    result->kind = KERNEL_INTEGER;
    result->bits = (int)(is_signed ? -8 * (int)type->size : 8 * (int)type->size);
    if (encoding & BTF_INT_BOOL)
        result->kind = KERNEL_BOOLEAN;
}

static void get_array(const struct btf_type *type, struct kernel_type *result)
{
    const struct btf_array *array = (const void *)(type + 1);
    struct kernel_type element;
    result->element = array->type;
    result->count = array->nelems;
    if (resolve(array->type) == result->id || kernel_type_get(array->type, &element))
        return;
    result->kind = KERNEL_ARRAY;
    result->size = element.size * array->nelems;
}

int kernel_type_get(uint32_t id, struct kernel_type *result)
{
    int code = kernel_types_open();
    if (code)
        return code;
    *result = (struct kernel_type){.id = id = resolve(id)};
    const struct btf_type *type = type_at(id);
    if (!id)
        result->kind = KERNEL_VOID;
    if (!type)
        return id ? -ENOENT : 0;
    switch (kind_of(type)) {
    case BTF_KIND_INT:
    case BTF_KIND_ENUM:
    case BTF_KIND_ENUM64:
        result->size = type->size;
        get_integer(type, result);
        break;
    case BTF_KIND_PTR:
        result->kind = KERNEL_POINTER;
        result->size = sizeof(void *);
        result->element = type->type;
        break;
    case BTF_KIND_ARRAY:
        get_array(type, result);
        break;
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
        result->kind = KERNEL_STRUCT;
        result->size = type->size;
        break;
    default:
        break;
    }
    return 0;
}

const char *kernel_type_name(uint32_t id, char text[KERNEL_TYPE_NAME])
{
    char inner[KERNEL_TYPE_NAME];
    int stars = 0;
    uint64_t count = 0;
    bool is_array = false;
    const struct btf_type *type = kernel_types_open() ? NULL : type_at(id);
    for (int depth = 0; type && depth < DEEPEST; depth++, type = type_at(id)) {
        unsigned kind = kind_of(type);
        if (kind == BTF_KIND_ARRAY && !stars && !is_array) {
            is_array = true;
            count = ((const struct btf_array *)(const void *)(type + 1))->nelems;
            id = ((const struct btf_array *)(const void *)(type + 1))->type;
        } else if (kind == BTF_KIND_PTR || (is_other_name(kind) && kind != BTF_KIND_TYPEDEF)) {
            stars += kind == BTF_KIND_PTR;
            id = type->type;
        } else {
            break;
        }
    }
    unsigned kind = type ? kind_of(type) : BTF_KIND_UNKN;
    const char *name = type ? btf_string(&btf, type->name_off) : "void", *before = "";
    if (kind == BTF_KIND_STRUCT || (kind == BTF_KIND_FWD && !BTF_INFO_KFLAG(type->info)))
        before = "struct ";
    else if (kind == BTF_KIND_UNION || kind == BTF_KIND_FWD)
        before = "union ";
    else if (kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64)
        before = "enum ";
    snprintf(inner, sizeof inner, "%.100s", kind == BTF_KIND_FUNC_PROTO ? "(function)" : *name ? name : "(unnamed)");
    int used = snprintf(text, KERNEL_TYPE_NAME, "%s%s%s%.*s", before, inner, stars ? " " : "", stars, "********");
    if (is_array)
        snprintf(text + used, KERNEL_TYPE_NAME - (size_t)used, " [%llu]", (unsigned long long)count);
    return text;
}

const char *kernel_type_own_name(uint32_t id)
{
    const struct btf_type *type = kernel_types_open() ? NULL : type_at(resolve(id));
    return type ? btf_string(&btf, type->name_off) : "";
}

bool kernel_type_is_union(uint32_t id)
{
    const struct btf_type *type = kernel_types_open() ? NULL : type_at(resolve(id));
    return type && kind_of(type) == BTF_KIND_UNION;
}

int kernel_type_value_at(uint32_t id, unsigned number, const char **name, int64_t *value)
{
    const struct btf_type *type = kernel_types_open() ? NULL : type_at(resolve(id));
    unsigned kind = type ? kind_of(type) : BTF_KIND_UNKN;
    if ((kind != BTF_KIND_ENUM && kind != BTF_KIND_ENUM64) || number >= BTF_INFO_VLEN(type->info))
        return -ERANGE;
    const struct btf_enum *narrow = (const struct btf_enum *)(const void *)(type + 1) + number;
    const struct btf_enum64 *wide = (const struct btf_enum64 *)(const void *)(type + 1) + number;
    bool is_signed = BTF_INFO_KFLAG(type->info);
    *name = btf_string(&btf, kind == BTF_KIND_ENUM ? narrow->name_off : wide->name_off);
    if (kind == BTF_KIND_ENUM64)
        *value = (int64_t)((uint64_t)wide->val_hi32 << 32 | wide->val_lo32);
    else
        *value = is_signed ? narrow->val : (int64_t)(uint32_t)narrow->val;
    return 0;
}

static bool is_kind(unsigned kind, const char *word)
{
    switch (kind) {
    case BTF_KIND_STRUCT:
        return !strcmp(word, "struct");
    case BTF_KIND_UNION:
        return !strcmp(word, "union");
    case BTF_KIND_ENUM:
    case BTF_KIND_ENUM64:
        return !strcmp(word, "enum");
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_INT:
        return !*word;
    default:
        return false;
    }
}

int kernel_type_find(const char *name, uint32_t *id)
{
    char word[8] = "";
    const char *space = strchr(name, ' ');
    int code = kernel_types_open();
    if (code)
        return code;
    if (space && (size_t)(space - name) < sizeof word &&
        (!strncmp(name, "struct ", 7) || !strncmp(name, "union ", 6) || !strncmp(name, "enum ", 5))) {
        memcpy(word, name, (size_t)(space - name));
        name = space + 1;
    }
    uint32_t string = btf_find_string(&btf, name);
    *id = 1;
    for (const struct btf_type *type = NULL; string && (type = btf_next(&btf, type)); ++*id)
        if (type->name_off == string && is_kind(kind_of(type), word))
            return 0;
    return -ENOENT;
}

/* Member NUMBER of STRUCTURE, which begins at bit BASE. */
static void describe_member(const struct btf_type *structure, unsigned number, uint64_t base,
                            struct kernel_member *result)
{
    const struct btf_member *member = (const struct btf_member *)(const void *)(structure + 1) + number;
    bool has_bitfields = BTF_INFO_KFLAG(structure->info);
    uint64_t at = base + (has_bitfields ? BTF_MEMBER_BIT_OFFSET(member->offset) : member->offset);
    result->type = member->type;
    result->offset = at / 8;
    result->first_bit = (int)(at % 8);
    result->bits = has_bitfields ? (int)BTF_MEMBER_BITFIELD_SIZE(member->offset) : 0;
}

static bool find_member(const struct btf_type *structure, const char *name, int depth, uint64_t base,
                        struct kernel_member *result)
{
    const struct btf_member *members = (const void *)(structure + 1);
    for (unsigned i = 0; i < BTF_INFO_VLEN(structure->info); i++) {
        describe_member(structure, i, base, result);
        if (!strcmp(btf_string(&btf, members[i].name_off), name))
            return true;
        uint64_t at = result->offset * 8 + (uint64_t)result->first_bit;
        const struct btf_type *inner = type_at(resolve(members[i].type));
        bool is_structure = inner && (kind_of(inner) == BTF_KIND_STRUCT || kind_of(inner) == BTF_KIND_UNION);
        if (!members[i].name_off && is_structure && depth < DEEPEST && find_member(inner, name, depth + 1, at, result))
            return true;
    }
    return false;
}

/* The same for PATH, which may lead through one member, a structure, to another. */
static bool find_inside(const struct btf_type *structure, const char *path, struct kernel_member *result)
{
    char outer[64];
    const char *dot = strchr(path, '.');
    if (!dot)
        return find_member(structure, path, 0, 0, result);
    snprintf(outer, sizeof outer, "%.*s", (int)(dot - path), path);
    if (!find_member(structure, outer, 0, 0, result))
        return false;
    const struct btf_type *inner = type_at(resolve(result->type));
    return inner && kind_of(inner) == BTF_KIND_STRUCT && find_member(inner, dot + 1, 0, result->offset * 8, result);
}

int kernel_type_member(uint32_t id, const char *name, struct kernel_member *result)
{
    struct kernel_type type;
    int code = kernel_type_get(id, &type);
    if (code || type.kind != KERNEL_STRUCT || !*name)
        return code ? code : -ENOENT;
    return find_member(type_at(type.id), name, 0, 0, result) ? 0 : -ENOENT;
}

int kernel_type_member_at(uint32_t id, unsigned number, const char **name, struct kernel_member *result)
{
    struct kernel_type type;
    int code = kernel_type_get(id, &type);
    if (code || type.kind != KERNEL_STRUCT)
        return code ? code : -ENOENT;
    const struct btf_type *structure = type_at(type.id);
    if (number >= BTF_INFO_VLEN(structure->info))
        return -ERANGE;
    const struct btf_member *members = (const void *)(structure + 1);
    *name = btf_string(&btf, members[number].name_off);
    describe_member(structure, number, 0, result);
    return 0;
}

/* The prototype of the function NAME. 0, or -errno. */
static int prototype_of(const char *name, const struct btf_type **prototype)
{
    int code = kernel_types_open();
    if (code)
        return code;
    uint32_t string = btf_find_string(&btf, name);
    const struct btf_type *type = btf_next(&btf, NULL);
    while (type && (kind_of(type) != BTF_KIND_FUNC || type->name_off != string))
        type = btf_next(&btf, type);
    *prototype = type && string ? type_at(type->type) : NULL;
    return *prototype && kind_of(*prototype) == BTF_KIND_FUNC_PROTO ? 0 : -ENOENT;
}

int kernel_function_result(const char *name, uint32_t *type)
{
    const struct btf_type *prototype;
    int code = prototype_of(name, &prototype);
    if (!code)
        *type = prototype->type;
    return code;
}

int kernel_function_parameter(const char *name, unsigned number, struct kernel_parameter *result)
{
    const struct btf_type *prototype;
    int code = prototype_of(name, &prototype);
    if (code)
        return code;
    if (number >= BTF_INFO_VLEN(prototype->info))
        return -ERANGE;
    const struct btf_param *parameter = (const struct btf_param *)(const void *)(prototype + 1) + number;
    *result = (struct kernel_parameter){.name = btf_string(&btf, parameter->name_off), .type = parameter->type};
    return 0;
}

int kernel_btf_functions(const char *prefix, void (*visit)(const char *name, void *context), void *context)
{
    size_t length = strlen(prefix);
    int code = kernel_types_open();
    for (const struct btf_type *type = NULL; !code && (type = btf_next(&btf, type));)
        if (kind_of(type) == BTF_KIND_FUNC && !strncmp(btf_string(&btf, type->name_off), prefix, length))
            visit(btf_string(&btf, type->name_off), context);
    return code;
}

int kernel_btf_fields(struct kernel_field *fields, size_t count)
{
    bool was_open = btf.marks;
    size_t found = 0;
    int code = kernel_types_open();
    for (size_t i = 0; i < count && !code; i++)
        fields[i].offset = UINT32_MAX;
    for (const struct btf_type *type = NULL; !code && (type = btf_next(&btf, type));) {
        const char *name = btf_string(&btf, type->name_off);
        if (kind_of(type) != BTF_KIND_STRUCT)
            continue;
        for (size_t i = 0; i < count; i++) {
            struct kernel_field *field = &fields[i];
            struct kernel_member member;
            if (field->offset != UINT32_MAX || *field->type != *name || strcmp(field->type, name) ||
                !find_inside(type, field->name, &member))
                continue;
            field->offset = (uint32_t)member.offset;
            field->bit = (uint32_t)member.first_bit;
            found++;
        }
    }
    if (!was_open && btf.copy) /* few ask for more, and the copy takes megabytes */
        btf_close(&btf);
    return code ? code : found == count ? 0 : -ENOENT;
}
