/* Decodes LuaJIT's bytecode dumps. */
#include "compile/front/dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct dump_block {
    struct dump_block *next;
    max_align_t bytes[];
};

void *dump_fail(struct dump *dump, int code, const char *what)
{
    if (!dump->code) {
        dump->code = code;
        dump->what = what;
    }
    dump->at = dump->end;
    return NULL;
}

void *dump_allocate(struct dump *dump, size_t count, size_t size)
{
    if (dump->code)
        return NULL;
    struct dump_block *block = count < SIZE_MAX / 2 / size ? calloc(1, sizeof *block + count * size) : NULL;
    if (!block)
        return dump_fail(dump, -ENOMEM, "out of memory");
    block->next = dump->blocks;
    dump->blocks = block;
    return block->bytes;
}

size_t dump_left(const struct dump *dump)
{
    return (size_t)(dump->end - dump->at);
}

const uint8_t *dump_take(struct dump *dump, size_t size)
{
    if (dump->code || size > dump_left(dump))
        return dump_fail(dump, -EBADMSG, "it ends too early");
    const uint8_t *bytes = dump->at;
    dump->at += size;
    return bytes;
}

uint8_t dump_byte(struct dump *dump)
{
    const uint8_t *byte = dump_take(dump, 1);
    return byte ? *byte : 0;
}

uint32_t dump_number(struct dump *dump, size_t size)
{
    uint32_t value = 0;
    const uint8_t *bytes = dump_take(dump, size);
    if (bytes) /* the lowest byte is the first, as on the CPUs that uplua knows */
        memcpy(&value, bytes, size);
    return value;
}

/* The rest of a ULEB128 number whose first bits are VALUE and whose next byte counts from bit SHIFT. */
static uint32_t read_uleb_rest(struct dump *dump, uint64_t value, unsigned shift)
{
    uint8_t byte;
    do {
        byte = dump_byte(dump);
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (shift > 42 || value > UINT32_MAX) {
            dump_fail(dump, -EBADMSG, "a number is too large");
            return 0;
        }
    } while (byte & 0x80);
    return (uint32_t)value;
}

uint32_t dump_uleb(struct dump *dump)
{
    return read_uleb_rest(dump, 0, 0);
}

uint32_t dump_uleb33(struct dump *dump, bool *is_double)
{
    uint8_t first = dump_byte(dump);
    *is_double = first & 1;
    return first & 0x80 ? read_uleb_rest(dump, (first >> 1) & 0x3f, 6) : first >> 1;
}

size_t dump_count(struct dump *dump, size_t size)
{
    size_t count = dump_uleb(dump);
    if (count > dump_left(dump) / size) {
        dump_fail(dump, -EBADMSG, "a count is larger than the rest of the dump");
        return 0;
    }
    return count;
}

uint64_t dump_u64(struct dump *dump)
{
    uint64_t low = dump_uleb(dump);
    return low | (uint64_t)dump_uleb(dump) << 32;
}

const char *dump_name(struct dump *dump)
{
    const uint8_t *nul = memchr(dump->at, '\0', dump_left(dump));
    if (!nul)
        return dump_fail(dump, -EBADMSG, "a name has no end");
    size_t size = (size_t)(nul - dump->at) + 1;
    char *name = dump_allocate(dump, size, 1);
    if (name)
        memcpy(name, dump_take(dump, size), size);
    return name;
}

void dump_string(struct dump *dump, size_t length, struct constant *constant)
{
    const uint8_t *bytes = dump_take(dump, length);
    char *copy = bytes ? dump_allocate(dump, length + 1, 1) : NULL;
    if (!copy)
        return;
    memcpy(copy, bytes, length);
    constant->kind = CONSTANT_STRING;
    constant->string.bytes = copy;
    constant->string.length = length;
}

void dump_free_blocks(struct dump_block *blocks)
{
    for (struct dump_block *next; blocks; blocks = next) {
        next = blocks->next;
        free(blocks);
    }
}
