/* Constants of a LuaJIT dump. Source: the grammar in LuaJIT's lj_bcdump.h. */
#include <errno.h>
#include <string.h>

#include "compile/front/dump.h"

/* From _STRING on, the number is the string's length plus the kind. */
enum { GC_CHILD, GC_TABLE, GC_I64, GC_U64, GC_COMPLEX, GC_STRING };
enum { TABLE_NIL, TABLE_FALSE, TABLE_TRUE, TABLE_INTEGER, TABLE_NUMBER, TABLE_STRING };

static double to_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void read_table_value(struct dump *dump, struct constant *constant)
{
    uint32_t kind = dump_uleb(dump);
    switch (kind) {
    case TABLE_NIL ... TABLE_TRUE: /* in the same order here */
        constant->kind = (enum constant_kind)(CONSTANT_NIL + kind);
        break;
    case TABLE_INTEGER:
        constant->kind = CONSTANT_NUMBER;
        constant->number = (int32_t)dump_uleb(dump);
        break;
    case TABLE_NUMBER:
        constant->kind = CONSTANT_NUMBER;
        constant->number = to_double(dump_u64(dump));
        break;
    default:
        dump_string(dump, kind - TABLE_STRING, constant);
    }
}

static void read_table(struct dump *dump, struct constant *constant)
{
    struct constant_table *table = dump_allocate(dump, 1, sizeof *table);
    if (!table)
        return;
    table->array_size = dump_count(dump, 1);
    table->pair_count = dump_count(dump, 2);
    table->array = dump_allocate(dump, table->array_size, sizeof *table->array);
    table->pairs = dump_allocate(dump, table->pair_count, sizeof *table->pairs);
    for (size_t i = 0; i < table->array_size && !dump->code; i++)
        read_table_value(dump, &table->array[i]);
    for (size_t i = 0; i < table->pair_count && !dump->code; i++) {
        read_table_value(dump, &table->pairs[i].key);
        read_table_value(dump, &table->pairs[i].value);
    }
    constant->kind = CONSTANT_TABLE;
    constant->table = table;
}

static void read_child(struct dump *dump, struct constant *constant)
{
    if (!dump->waiting_count) {
        dump_fail(dump, -EBADMSG, "a nested function is missing");
        return;
    }
    constant->kind = CONSTANT_CHILD;
    constant->child = dump->waiting[--dump->waiting_count];
}

void dump_gc_constant(struct dump *dump, struct constant *constant)
{
    uint32_t kind = dump_uleb(dump);
    switch (kind) {
    case GC_CHILD:
        read_child(dump, constant);
        break;
    case GC_TABLE:
        read_table(dump, constant);
        break;
    case GC_I64:
        constant->kind = CONSTANT_I64;
        constant->i64 = (int64_t)dump_u64(dump);
        break;
    case GC_U64:
        constant->kind = CONSTANT_U64;
        constant->u64 = dump_u64(dump);
        break;
    case GC_COMPLEX:
        constant->kind = CONSTANT_COMPLEX;
        dump_u64(dump);
        dump_u64(dump);
        break;
    default:
        dump_string(dump, kind - GC_STRING, constant);
    }
}

void dump_number_constant(struct dump *dump, struct constant *constant)
{
    bool is_double;
    uint32_t low = dump_uleb33(dump, &is_double);
    constant->kind = CONSTANT_NUMBER;
    if (is_double)
        constant->number = to_double(low | (uint64_t)dump_uleb(dump) << 32);
    else
        constant->number = (int32_t)low;
}
