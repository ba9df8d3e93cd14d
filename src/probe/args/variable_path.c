/* Parts of variables, ".limits[2].high", by debug information. */
#include "probe/args/variable_path.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "sym/debugtypes.h"

enum { MAX_NAME = 256 };

/* The way so far: DONE characters of PATH have led to TYPE. */
struct way {
    const char *name, *path;
    int done;
    uint32_t type;
    struct variable_field *field;
    struct error *err;
};

static int offer(const struct debugfield *field, void *context)
{
    suggest_offer(context, field->name, strlen(field->name));
    return 0;
}

static int no_field(const struct way *way, const char *name)
{
    char type[DEBUGTYPE_NAME];
    struct debugtype found = {0};
    struct suggest suggest;
    debugtype_get(way->type, &found);
    if (found.kind == DEBUGTYPE_POINTER)
        return error_set(
            way->err, -EINVAL,
            "%s%.*s is a pointer, a '%s': where it leads is only known while the program runs; watch that address, a "
            "number",
            way->name, way->done, way->path, debugtype_name(way->type, type));
    suggest_init(&suggest, name);
    debugtype_fields(way->type, offer, &suggest);
    return error_set(way->err, -ENOENT, "%s%.*s is a '%s', which has no field '%s'%s", way->name, way->done, way->path,
                     debugtype_name(way->type, type), name, suggest_text(&suggest));
}

/* Goes on to the field whose name stands behind the point. */
static int follow_name(struct way *way)
{
    char name[MAX_NAME];
    struct debugfield field;
    const char *begin = way->path + way->done + 1;
    size_t length = strcspn(begin, ".[+-");
    if (!length || length >= sizeof name)
        return error_set(way->err, -EINVAL, "%s%s: the name of a field is expected behind '.'", way->name, way->path);
    memcpy(name, begin, length);
    name[length] = '\0';
    if (debugtype_field(way->type, name, &field))
        return no_field(way, name);
    way->done += 1 + (int)length;
    if (field.bits)
        return error_set(
            way->err, -EINVAL,
            "%s%.*s is a field of %d bits, and the CPU watches whole bytes: it is in the one %llu bytes into %s",
            way->name, way->done, way->path, field.bits, (unsigned long long)(way->field->offset + field.offset),
            way->name);
    way->field->offset += field.offset;
    way->type = field.type;
    return 0;
}

static int follow_index(struct way *way)
{
    char type[DEBUGTYPE_NAME], *end;
    const char *begin = way->path + way->done + 1;
    struct debugtype array = {0}, element = {0};
    errno = 0;
    unsigned long long index = strtoull(begin, &end, 0);
    if (!isdigit((unsigned char)*begin) || errno || *end != ']')
        return error_set(way->err, -EINVAL, "%s%s: an index is a number in brackets: [0]", way->name, way->path);
    debugtype_get(way->type, &array);
    if (array.kind == DEBUGTYPE_POINTER)
        return no_field(way, "");
    if (array.kind != DEBUGTYPE_ARRAY || debugtype_get(array.element, &element) || !element.size)
        return error_set(way->err, -EINVAL, "%s%.*s is a '%s', which has no elements", way->name, way->done, way->path,
                         debugtype_name(way->type, type));
    if (index >= array.count)
        return error_set(way->err, -ERANGE, "%s%.*s has %llu elements, which begin with [0]", way->name, way->done,
                         way->path, (unsigned long long)array.count);
    way->field->offset += index * element.size;
    way->type = array.element;
    way->done = (int)(end + 1 - way->path);
    return 0;
}

int variable_path_find(uint32_t type, const char *name, const char *path, struct variable_field *field,
                       struct error *err)
{
    struct way way = {.name = name, .path = path, .type = type, .field = field, .err = err};
    struct debugtype last = {0};
    int result = 0;
    *field = (struct variable_field){0};
    while (!result && path[way.done]) {
        if (path[way.done] == '.')
            result = follow_name(&way);
        else if (path[way.done] == '[')
            result = follow_index(&way);
        else
            result = error_set(err, -EINVAL, "%s%s: '%s' is neither a field, .NAME, nor an index, [NUMBER]", name, path,
                               path + way.done);
    }
    debugtype_get(way.type, &last);
    field->bytes = last.size;
    field->type = way.type;
    return result;
}
