/*
 * libdw's entries behind numbers. What a file says is not to be trusted: references may go in circles, so that each way
 * along them has an end.
 */
#include "sym/debugtypes.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/bytes.h"
#include "sym/debugdefinition.h"
#include "sym/debugentry.h"

enum {
    DEEPEST = DEBUGENTRY_DEEPEST, /* of names for names, and of structs in structs */
    MAX_TYPES = 1 << 20,          /* that are asked for in one run */
};

/* By number - 1. They stay, as the debug information does that they are of (probe/module/debug.c), whatever the run. */
static struct type {
    Dwarf_Die entry;
    unsigned dimension; /* of an array: the first that counts */
    bool undefined;     /* its definition has been looked for in vain */
} * types;
static size_t type_count;

static bool is_other_name(int tag)
{
    return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
           tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type;
}

static bool is_pointer(int tag)
{
    return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

/* --- numbers --- */

/* True for what makes a struct what it is: its parts, and the functions that are written. Instances of templates are
 * only where they are used. */
static bool is_of_structure(Dwarf_Die *entry)
{
    int tag = dwarf_tag(entry);
    const char *name = dwarf_diename(entry);
    return tag == DW_TAG_member || tag == DW_TAG_inheritance ||
           (tag == DW_TAG_subprogram && name && !strchr(name, '<') && !debugentry_flag(entry, DW_AT_artificial));
}

static bool next_of_structure(Dwarf_Die *entry)
{
    while (!is_of_structure(entry))
        if (!debugentry_next(entry))
            return false;
    return true;
}

static bool have_same_name(Dwarf_Die *a, Dwarf_Die *b)
{
    const char *one = dwarf_diename(a), *other = dwarf_diename(b);
    return one && other ? !strcmp(one, other) : one == other;
}

enum { SAME_DEPTH = 2 }; /* structs in structs whose parts are compared */

static bool have_same_parts(Dwarf_Die *a, Dwarf_Die *b, int depth);

/*
 * True if the types that A and B refer to are the same, or lead to the same: by their names, and where these are of
 * structs by their parts, too. Each instance of a template has its own `pointer` and `Node`.
 */
static bool refer_to_same(Dwarf_Die *a, Dwarf_Die *b, int depth)
{
    Dwarf_Die one, other;
    bool typed = debugentry_referred(a, DW_AT_type, &one), other_typed = debugentry_referred(b, DW_AT_type, &other);
    for (int steps = 0; typed && other_typed && steps < DEEPEST; steps++) {
        int tag = dwarf_tag(&one);
        if (one.addr == other.addr)
            return true;
        if (tag != dwarf_tag(&other) || !have_same_name(&one, &other))
            return false;
        if (debugentry_is_structure(tag))
            return depth == SAME_DEPTH || dwarf_hasattr(&one, DW_AT_declaration) ||
                   dwarf_hasattr(&other, DW_AT_declaration) || have_same_parts(&one, &other, depth + 1);
        Dwarf_Die next, other_next;
        typed = debugentry_referred(&one, DW_AT_type, &next);
        other_typed = debugentry_referred(&other, DW_AT_type, &other_next);
        one = next;
        other = other_next;
    }
    return typed == other_typed;
}

/* True if the parts A and B of two structs lie at the same place, and their types are the same. */
static bool are_same_parts(Dwarf_Die *a, Dwarf_Die *b, int depth)
{
    Dwarf_Word offset = 0, other_offset = 0;
    debugentry_number(a, DW_AT_data_member_location, &offset);
    debugentry_number(b, DW_AT_data_member_location, &other_offset);
    return dwarf_tag(a) == dwarf_tag(b) && have_same_name(a, b) && offset == other_offset && refer_to_same(a, b, depth);
}

/* C, and C++'s unnamed namespaces, may have a struct of one name, size and line in two files that differs in what is in
 * it. */
static bool have_same_parts(Dwarf_Die *a, Dwarf_Die *b, int depth)
{
    Dwarf_Die one, other;
    bool more = !dwarf_child(a, &one) && next_of_structure(&one),
         other_more = !dwarf_child(b, &other) && next_of_structure(&other);
    while (more && other_more) {
        if (!are_same_parts(&one, &other, depth))
            return false;
        more = debugentry_next(&one) && next_of_structure(&one);
        other_more = debugentry_next(&other) && next_of_structure(&other);
    }
    return more == other_more;
}

bool debugtype_same(Dwarf_Die *a, Dwarf_Die *b)
{
    if (a->addr == b->addr)
        return true;
    const char *one = dwarf_diename(a), *other = dwarf_diename(b);
    Dwarf_Word size = 0, other_size = 0, line = 0, other_line = 0;
    bool sized = debugentry_number(a, DW_AT_byte_size, &size) && debugentry_number(b, DW_AT_byte_size, &other_size);
    debugentry_number(a, DW_AT_decl_line, &line);
    debugentry_number(b, DW_AT_decl_line, &other_line);
    if (!one || !other || dwarf_tag(a) != dwarf_tag(b) || strcmp(one, other) != 0 || !sized || size != other_size ||
        line != other_line || dwarf_cu_getdwarf(a->cu) != dwarf_cu_getdwarf(b->cu))
        return false;
    if (!debugentry_is_structure(dwarf_tag(a)))
        return true;
    if (!debugentry_begin())
        return false;
    bool same = have_same_parts(a, b, 0);
    debugentry_end();
    return same;
}

/* The number of ENTRY, a type, of an array without its first DIMENSION dimensions; 0 where there is no memory. */
static uint32_t number_for(Dwarf_Die *entry, unsigned dimension)
{
    for (size_t i = 0; i < type_count; i++)
        if (types[i].dimension == dimension && debugtype_same(&types[i].entry, entry))
            return (uint32_t)i + 1;
    if (type_count >= MAX_TYPES)
        return 0;
    struct type *added = array_add(&types, &type_count, sizeof *added);
    if (!added)
        return 0;
    *added = (struct type){.entry = *entry, .dimension = dimension};
    return (uint32_t)type_count;
}

uint32_t debugtype_of(Dwarf_Die *entry)
{
    Dwarf_Die type;
    return debugentry_type(entry, &type) ? number_for(&type, 0) : 0;
}

bool debugtype_entry(uint32_t number, Dwarf_Die *entry)
{
    if (!number || number > type_count)
        return false;
    *entry = types[number - 1].entry;
    for (int depth = 0; is_other_name(dwarf_tag(entry)) && depth < DEEPEST; depth++) {
        Dwarf_Die next;
        if (!debugentry_referred(entry, DW_AT_type, &next))
            return false;
        *entry = next;
    }
    Dwarf_Die definition;
    if (!debugentry_is_structure(dwarf_tag(entry)) || !dwarf_hasattr(entry, DW_AT_declaration) ||
        types[number - 1].undefined)
        return true;
    if (debugdefinition_find(entry, &definition))
        types[number - 1].entry = *entry = definition;
    else
        types[number - 1].undefined = true;
    return true;
}

/* --- one type --- */

static void get_number(Dwarf_Die *entry, struct debugtype *result)
{
    Dwarf_Word encoding = 0;
    debugentry_number(entry, DW_AT_encoding, &encoding);
    const char *name = dwarf_diename(entry);
    bool is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
    bool is_integer = is_signed || encoding == DW_ATE_unsigned || encoding == DW_ATE_unsigned_char ||
                      encoding == DW_ATE_UTF || encoding == DW_ATE_address;
    bool has_width =
        result->size == 1 || result->size == 2 || result->size == 4 || result->size == 8 || result->size == 16;
    if (encoding == DW_ATE_boolean && has_width && result->size <= 8)
        result->kind = DEBUGTYPE_BOOLEAN;
    else if (encoding == DW_ATE_float)
        result->kind = DEBUGTYPE_FLOAT;
    else if (is_integer && has_width)
        result->kind = DEBUGTYPE_INTEGER;
    result->bits = (int)(is_signed ? -8 * (int64_t)result->size : 8 * (int64_t)result->size);
    result->complex = encoding == DW_ATE_complex_float;
    result->extended = result->kind == DEBUGTYPE_FLOAT && result->size == 16 &&
                       name && /* __float128 has that size, too */
                       (!strcmp(name, "long double") || !strcmp(name, "_Float64x") || !strcmp(name, "__float80"));
}

/* A pointer to a function that is a member has a second word, what is added to `this` ("Itanium C++ ABI", 2.3). */
static void get_member_pointer(Dwarf_Die *entry, struct debugtype *result)
{
    Dwarf_Die to;
    uint32_t number = debugtype_of(entry);
    if (!number || !debugtype_entry(number, &to))
        return;
    result->member = true;
    result->size = dwarf_tag(&to) == DW_TAG_subroutine_type ? 2 * sizeof(void *) : sizeof(void *);
}

static bool is_null(Dwarf_Die *entry, int tag)
{
    const char *name = tag == DW_TAG_unspecified_type ? dwarf_diename(entry) : NULL;
    return name && !strcmp(name, "decltype(nullptr)");
}

/* Whether one of the values of the enum ENTRY is negative: compilers before DWARF 3 and some after it say no more. */
static bool has_negative(Dwarf_Die *entry)
{
    Dwarf_Die value;
    if (dwarf_child(entry, &value))
        return false;
    do {
        Dwarf_Attribute attribute;
        Dwarf_Sword number;
        if (dwarf_attr(&value, DW_AT_const_value, &attribute) && !dwarf_formsdata(&attribute, &number) && number < 0)
            return true;
    } while (debugentry_next(&value));
    return false;
}

static void get_enum(Dwarf_Die *entry, struct debugtype *result)
{
    struct debugtype underlying = {0};
    Dwarf_Word encoding;
    uint32_t number = debugtype_of(entry);
    Dwarf_Die base;
    if (number && debugtype_entry(number, &base) && dwarf_tag(&base) == DW_TAG_base_type &&
        !debugtype_get(number, &underlying)) {
        *result = underlying;
        return;
    }
    if (result->size != 1 && result->size != 2 && result->size != 4 && result->size != 8)
        return;
    bool is_signed =
        debugentry_number(entry, DW_AT_encoding, &encoding) ? encoding == DW_ATE_signed : has_negative(entry);
    result->kind = DEBUGTYPE_INTEGER;
    result->bits = (int)(is_signed ? -8 * (int64_t)result->size : 8 * (int64_t)result->size);
}

/* The constant NAME of ENTRY. Forms of a fixed size say nothing of a sign: compilers use them for what is not negative.
 */
static bool constant_of(Dwarf_Die *entry, unsigned name, int64_t *number)
{
    Dwarf_Attribute attribute;
    Dwarf_Sword with_sign;
    Dwarf_Word without;
    if (!dwarf_attr(entry, name, &attribute))
        return false;
    unsigned form = dwarf_whatform(&attribute);
    bool is_signed = form == DW_FORM_sdata || form == DW_FORM_implicit_const;
    if (is_signed ? dwarf_formsdata(&attribute, &with_sign) != 0 : dwarf_formudata(&attribute, &without) != 0)
        return false;
    *number = is_signed ? with_sign : (int64_t)without;
    return true;
}

/* Elements of the dimension DIMENSION of an array: languages begin to count at 0, or as Fortran does at 1. */
static uint64_t count_of(Dwarf_Die *dimension)
{
    Dwarf_Word count;
    Dwarf_Die unit;
    Dwarf_Sword first = 0;
    int64_t lower, upper;
    if (debugentry_number(dimension, DW_AT_count, &count))
        return count;
    if (!constant_of(dimension, DW_AT_upper_bound, &upper))
        return 0;
    if (dwarf_hasattr(dimension, DW_AT_lower_bound)) {
        if (!constant_of(dimension, DW_AT_lower_bound, &lower))
            return 0;
    } else {
        bool known =
            dwarf_diecu(dimension, &unit, NULL, NULL) && !dwarf_default_lower_bound(dwarf_srclang(&unit), &first);
        lower = known ? first : 0;
    }
    bool counts = upper >= lower && lower > INT32_MIN && upper < UINT32_MAX;
    return counts ? (uint64_t)(upper - lower) + 1 : 0;
}

/* True for arrays of Fortran that are no arrays of C: those that a descriptor leads to, and those of several DIMENSIONS
 * of which the first counts fastest. */
static bool is_foreign_array(Dwarf_Die *entry, unsigned dimensions)
{
    Dwarf_Word order;
    return dwarf_hasattr(entry, DW_AT_data_location) || dwarf_hasattr(entry, DW_AT_allocated) ||
           dwarf_hasattr(entry, DW_AT_associated) ||
           (dimensions > 1 && debugentry_number(entry, DW_AT_ordering, &order) && order == DW_ORD_col_major);
}

/* An array of arrays is one entry with several dimensions: its elements are the same entry from the next dimension
 * on. */
static void get_array(Dwarf_Die *entry, unsigned dimension, struct debugtype *result)
{
    struct debugtype element;
    Dwarf_Die child;
    unsigned dimensions = 0;
    if (!dwarf_child(entry, &child))
        do {
            if (dwarf_tag(&child) == DW_TAG_subrange_type && dimensions++ == dimension)
                result->count = count_of(&child);
        } while (dimensions < DEEPEST && debugentry_next(&child));
    if (dimensions <= dimension)
        return;
    result->element = dimensions > dimension + 1 ? number_for(entry, dimension + 1) : debugtype_of(entry);
    if (debugtype_get(result->element, &element) || is_foreign_array(entry, dimensions))
        return;
    result->kind = DEBUGTYPE_ARRAY;
    result->size = element.size * result->count;
}

int debugtype_get(uint32_t number, struct debugtype *result)
{
    Dwarf_Die entry;
    Dwarf_Word size;
    *result = (struct debugtype){0};
    if (number > type_count)
        return -ENOENT;
    if (!debugentry_begin())
        return -ELOOP;
    bool is_void = !debugtype_entry(number, &entry);
    int tag = is_void ? 0 : dwarf_tag(&entry);
    if (is_void)
        result->kind = DEBUGTYPE_VOID;
    else if (debugentry_number(&entry, DW_AT_byte_size, &size))
        result->size = size;
    if (tag == DW_TAG_base_type) {
        get_number(&entry, result);
    } else if (tag == DW_TAG_enumeration_type) {
        get_enum(&entry, result);
    } else if (is_pointer(tag) || is_null(&entry, tag)) {
        result->kind = DEBUGTYPE_POINTER;
        result->size = sizeof(void *);
        result->element = debugtype_of(&entry);
    } else if (tag == DW_TAG_ptr_to_member_type) {
        get_member_pointer(&entry, result);
    } else if (tag == DW_TAG_array_type) {
        get_array(&entry, types[number - 1].dimension, result);
        result->vector = debugentry_flag(&entry, DW_AT_GNU_vector);
    } else if (tag == DW_TAG_string_type) {
        result->kind = DEBUGTYPE_TEXT;
        result->size = dwarf_hasattr(&entry, DW_AT_string_length) ? 0 : result->size; /* that of the length */
    } else if (debugentry_is_structure(tag) && !dwarf_hasattr(&entry, DW_AT_declaration)) {
        result->kind = DEBUGTYPE_STRUCT;
        result->is_union = tag == DW_TAG_union_type;
    }
    if (!is_void)
        result->own = dwarf_diename(&entry);
    result->is_enum = tag == DW_TAG_enumeration_type;
    debugentry_end();
    return 0;
}

/* --- names --- */

static const char *word_before(int tag)
{
    switch (tag) {
    case DW_TAG_structure_type:
        return "struct ";
    case DW_TAG_class_type:
        return "class ";
    case DW_TAG_union_type:
        return "union ";
    case DW_TAG_enumeration_type:
        return "enum ";
    default:
        return "";
    }
}

/* Fortran's, as its source has it. */
static const char *name_of_text(Dwarf_Die *entry, char text[40])
{
    Dwarf_Word size;
    bool fixed = !dwarf_hasattr(entry, DW_AT_string_length) && debugentry_number(entry, DW_AT_byte_size, &size);
    if (!fixed)
        return "character(len=*)";
    snprintf(text, 40, "character(len=%llu)", (unsigned long long)size);
    return text;
}

const char *debugtype_name(uint32_t number, char text[DEBUGTYPE_NAME])
{
    char stars[DEEPEST + 1] = "", elements[40] = "", text_name[40];
    unsigned count = 0;
    Dwarf_Die entry;
    for (int depth = 0; number && number <= type_count && depth < DEEPEST; depth++) {
        entry = types[number - 1].entry;
        int tag = dwarf_tag(&entry);
        struct debugtype type;
        size_t used = strlen(elements);
        if (tag == DW_TAG_array_type && used < sizeof elements - 1 && !count && !debugtype_get(number, &type)) {
            snprintf(elements + used, sizeof elements - used, type.count ? "%s[%llu]" : "%s[]", used ? "" : " ",
                     (unsigned long long)type.count);
            number = type.element;
            continue;
        }
        if (is_pointer(tag))
            memmove(stars + 1, stars, count++), stars[0] = tag == DW_TAG_pointer_type ? '*' : '&';
        else if (!is_other_name(tag) || tag == DW_TAG_typedef)
            break;
        number = debugtype_of(&entry);
    }
    const char *name = number ? dwarf_diename(&entry) : "void";
    int tag = number ? dwarf_tag(&entry) : 0;
    if (tag == DW_TAG_subroutine_type)
        name = "(function)";
    if (tag == DW_TAG_string_type)
        name = name_of_text(&entry, text_name);
    snprintf(text, DEBUGTYPE_NAME, "%s%.100s%s%s%s", word_before(tag), name && *name ? name : "(unnamed)",
             count ? " " : "", stars, elements);
    return text;
}

/* --- fields --- */

/* Where the member ENTRY, which has the type TYPE, lies in a struct that begins at BASE; false where that is only known
 * at run time. */
static bool place_member(Dwarf_Die *entry, uint64_t base, uint32_t type_number, struct debugfield *field)
{
    struct debugtype type = {0};
    Dwarf_Word bytes = 0, bits = 0, at = 0, storage;
    Dwarf_Attribute attribute;
    *field = (struct debugfield){.type = type_number};
    if (dwarf_attr(entry, DW_AT_data_member_location, &attribute) && dwarf_formudata(&attribute, &bytes)) {
        Dwarf_Block block; /* DWARF 2: DW_OP_plus_uconst and a number */
        if (dwarf_formblock(&attribute, &block) || block.length < 2 || block.data[0] != DW_OP_plus_uconst)
            return false;
        struct bytes number = bytes_of(block.data + 1, block.length - 1);
        bytes = bytes_uleb(&number);
        if (number.failed || bytes_left(&number))
            return false;
    }
    if (debugentry_number(entry, DW_AT_bit_size, &bits) && bits && bits <= 64) {
        if (debugentry_number(entry, DW_AT_data_bit_offset, &at)) {
            at += 8 * bytes;
        } else if (debugentry_number(entry, DW_AT_bit_offset,
                                     &at)) { /* from the highest bit of where it is stored (DWARF 2 and 3) */
            if (!debugentry_number(entry, DW_AT_byte_size, &storage))
                storage = debugtype_get(type_number, &type) ? 0 : type.size;
            if (storage > 8 || at + bits > 8 * storage)
                return false;
            at = 8 * bytes + 8 * storage - at - bits;
        } else {
            at = 8 * bytes;
        }
        field->offset = base + at / 8;
        field->first_bit = (int)(at % 8);
        field->bits = (int)bits;
        return true;
    }
    field->offset = base + bytes;
    return true;
}

struct field_walk {
    int (*visit)(const struct debugfield *field, void *context);
    void *context;
};

static int walk_fields(Dwarf_Die *structure, uint64_t base, int depth, struct field_walk *walk)
{
    Dwarf_Die entry, inner;
    int result = 0;
    if (depth == DEEPEST || dwarf_child(structure, &entry))
        return 0;
    do {
        struct debugfield field;
        int tag = dwarf_tag(&entry);
        /* Static members of classes are declarations, in DWARF 5 variables. */
        if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || dwarf_hasattr(&entry, DW_AT_external) ||
            !place_member(&entry, base, debugtype_of(&entry), &field))
            continue;
        const char *name = dwarf_diename(&entry);
        if (name && tag == DW_TAG_member) {
            field.name = name;
            result = walk->visit(&field, walk->context);
        } else if (debugtype_entry(field.type, &inner) && debugentry_is_structure(dwarf_tag(&inner))) {
            result = walk_fields(&inner, field.offset, depth + 1, walk);
        }
    } while (!result && debugentry_next(&entry));
    return result;
}

int debugtype_fields(uint32_t number, int (*visit)(const struct debugfield *field, void *context), void *context)
{
    Dwarf_Die structure;
    int result = -ENOENT;
    if (!debugentry_begin())
        return -ELOOP;
    if (debugtype_entry(number, &structure) && debugentry_is_structure(dwarf_tag(&structure)))
        result = walk_fields(&structure, 0, 0, &(struct field_walk){.visit = visit, .context = context});
    debugentry_end();
    return result;
}

struct field_search {
    const char *name;
    struct debugfield *result;
};

static int take_named(const struct debugfield *field, void *context)
{
    const struct field_search *search = context;
    if (strcmp(field->name, search->name) != 0)
        return 0;
    *search->result = *field;
    return 1;
}

int debugtype_field(uint32_t number, const char *name, struct debugfield *result)
{
    int found = debugtype_fields(number, take_named, &(struct field_search){name, result});
    return found > 0 ? 0 : found < 0 ? found : -ENOENT;
}

/* --- constants of enums --- */

int debugtype_values(uint32_t number, int (*visit)(const char *name, int64_t value, void *context), void *context)
{
    Dwarf_Die entry, constant;
    int result = 0;
    if (!debugentry_begin())
        return -ELOOP;
    if (debugtype_entry(number, &entry) && dwarf_tag(&entry) == DW_TAG_enumeration_type &&
        !dwarf_child(&entry, &constant)) {
        do {
            int64_t value;
            const char *name = dwarf_diename(&constant);
            if (dwarf_tag(&constant) == DW_TAG_enumerator && name && constant_of(&constant, DW_AT_const_value, &value))
                result = visit(name, value, context);
        } while (!result && debugentry_next(&constant));
    }
    debugentry_end();
    return result;
}

void debugtypes_forget(void)
{
    free(types);
    types = NULL;
    type_count = 0;
}
