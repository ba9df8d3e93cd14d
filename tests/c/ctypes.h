/*
 * C types for tests of the compiler without Lua around it:
 *
 *   struct item { struct item *next; int value; unsigned low : 3; int list[4]; struct header { uint64_t id; } header;
 * bool yes; double ratio; void *nothing; char name[20]; };
 */
#pragma once

#include <errno.h>
#include <string.h>

#include "compile/context/ctype.h"

enum { ITEM_POINTER = 1, ITEM, INT, UNSIGNED, LIST, HEADER, ID, BOOL, DOUBLE, NOTHING, NAME, CHAR, CTYPES };

static const struct ctype ctypes[CTYPES] = {
    [ITEM_POINTER] = {CTYPE_POINTER, 0, "struct item *", 8, 0, 0},
    [ITEM] = {CTYPE_STRUCT, 0, "struct item", 88, 0, 0},
    [INT] = {CTYPE_INTEGER, 0, "int32_t", 4, -32, 0},
    [UNSIGNED] = {CTYPE_INTEGER, 0, "uint32_t", 4, 32, 0},
    [LIST] = {CTYPE_ARRAY, 0, "int [4]", 16, 0, 4},
    [HEADER] = {CTYPE_STRUCT, 0, "struct header", 8, 0, 0},
    [ID] = {CTYPE_INTEGER, 0, "uint64_t", 8, 64, 0},
    [BOOL] = {CTYPE_BOOLEAN, 0, "bool", 1, 0, 0},
    [DOUBLE] = {CTYPE_OTHER, 0, "double", 8, 0, 0},
    [NOTHING] = {CTYPE_POINTER, 0, "void *", 8, 0, 0},
    [NAME] = {CTYPE_ARRAY, 0, "char [20]", 20, 0, 20},
    [CHAR] = {CTYPE_INTEGER, 0, "int8_t", 1, -8, 0},
};

static int ctypes_parse(void *context, const char *declaration, struct error *err)
{
    (void)context;
    for (int handle = 1; handle < CTYPES; handle++)
        if (!strcmp(ctypes[handle].name, declaration))
            return handle;
    error_set(err, -EINVAL, "declaration specifier expected");
    return 0;
}

static void ctypes_describe(void *context, int handle, struct ctype *result)
{
    (void)context;
    *result = ctypes[handle];
}

static int ctypes_element(void *context, int handle, struct error *err)
{
    (void)context;
    (void)err;
    return handle == ITEM_POINTER ? ITEM : handle == LIST ? INT : handle == NAME ? CHAR : 0;
}

static int ctypes_field(void *context, int handle, const char *name, struct ctype_field *result, struct error *err)
{
    static const struct {
        const char *name;
        int of, type;
        struct ctype_field field;
    } fields[] = {
        {"next", ITEM, ITEM_POINTER, {NULL, 0, 0, 0}}, {"value", ITEM, INT, {NULL, 8, 0, 0}},
        {"low", ITEM, UNSIGNED, {NULL, 12, 0, 3}},     {"list", ITEM, LIST, {NULL, 16, 0, 0}},
        {"header", ITEM, HEADER, {NULL, 32, 0, 0}},    {"yes", ITEM, BOOL, {NULL, 40, 0, 0}},
        {"ratio", ITEM, DOUBLE, {NULL, 48, 0, 0}},     {"nothing", ITEM, NOTHING, {NULL, 56, 0, 0}},
        {"name", ITEM, NAME, {NULL, 64, 0, 0}},        {"id", HEADER, ID, {NULL, 0, 0, 0}},
    };
    (void)context;
    (void)err;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].of == handle && !strcmp(fields[i].name, name)) {
            *result = fields[i].field;
            return fields[i].type;
        }
    return 0;
}

static const struct ctype_source ctypes_source = {ctypes_parse, ctypes_describe, ctypes_element, ctypes_field};
