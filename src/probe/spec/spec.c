/* Parses BINARY:FUNCTION[@VERSION][+OFFSET], BINARY:0xADDRESS and BINARY@FILE:LINE. */
#include "probe/spec/spec.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The colon that ends the binary: the first one. Paths may contain colons as C++ names do, so a path that does not
 * exist is continued to the next colon if that makes one that does.
 */
static const char *find_colon(const char *text)
{
    const char *first = strchr(text, ':');
    for (const char *colon = first; colon && memchr(text, '/', (size_t)(colon - text));
         colon = strchr(colon + 1, ':')) {
        char *path = strndup(text, (size_t)(colon - text));
        int exists = path && access(path, F_OK) == 0;
        free(path);
        if (exists)
            return colon;
    }
    return first;
}

/* Cuts "+0x1c" off the end of FUNCTION. A "+" that no number follows is part of the name: operator+. */
static int cut_offset(struct spec *spec, struct error *err)
{
    char *plus = strrchr(spec->function, '+'), *end;
    if (!plus || !isdigit((unsigned char)plus[1]))
        return 0;
    errno = 0;
    spec->offset = strtoull(plus + 1, &end, 0);
    if (*end || errno)
        return error_set(err, -EINVAL, "%s: '%s' is not an offset; write a number of bytes such as +28 or +0x1c",
                         spec->text, plus);
    *plus = '\0';
    return 0;
}

/* Takes a FUNCTION that is a number as an address. */
static int read_address(struct spec *spec, struct error *err)
{
    char *end;
    errno = 0;
    spec->address = strtoull(spec->function, &end, 16);
    if (*end || errno || !spec->address)
        return error_set(err, -EINVAL, "%s: '%s' is not an address; write it as nm prints it, such as 0x27380",
                         spec->text, spec->function);
    return 0;
}

/* BINARY@FILE:LINE: FUNCTION is a number. */
static int read_line(struct spec *spec, struct error *err)
{
    char *at = strchr(spec->binary, '@');
    if (!at || at == spec->binary || !at[1])
        return error_set(err, -EINVAL, "%s: a line is that of a source file: write %s@FILE.c:%s", spec->text,
                         spec->binary, spec->function);
    spec->file = strdup(at + 1);
    if (!spec->file)
        return error_set(err, -ENOMEM, "out of memory");
    *at = '\0';
    errno = 0;
    unsigned long line = strtoul(spec->function, NULL, 10);
    if (errno || !line || line > INT_MAX)
        return error_set(err, -EINVAL, "%s: there is no line %s", spec->text, spec->function);
    spec->line = (unsigned)line;
    return 0;
}

static int split(struct spec *spec, struct error *err)
{
    const char *colon = find_colon(spec->text);
    if (!colon || colon == spec->text || !colon[1])
        return error_set(err, -EINVAL, "'%s' names no probe; write BINARY:FUNCTION, such as libc:malloc or ./app:main",
                         spec->text);
    spec->binary = strndup(spec->text, (size_t)(colon - spec->text));
    spec->function = strdup(colon + 1);
    if (!spec->binary || !spec->function)
        return error_set(err, -ENOMEM, "out of memory");
    if (strncmp(spec->function, "0x", 2) == 0)
        return read_address(spec, err);
    if (!spec->function[strspn(spec->function, "0123456789")])
        return read_line(spec, err);
    int result = cut_offset(spec, err);
    if (result < 0)
        return result;
    char *at = strchr(spec->function, '@');
    if (at && at > spec->function) {
        spec->version = strdup(at + 1 + (at[1] == '@'));
        if (!spec->version)
            return error_set(err, -ENOMEM, "out of memory");
        *at = '\0';
    }
    if (!*spec->function)
        return error_set(err, -EINVAL, "'%s' names no function; write BINARY:FUNCTION, such as libc:malloc",
                         spec->text);
    spec->pattern = strpbrk(spec->function, "*?[") != NULL;
    spec->demangled = strstr(spec->function, "::") || strchr(spec->function, '(');
    if (spec->pattern && spec->offset)
        return error_set(err, -EINVAL, "%s: an offset needs one function, not a pattern", spec->text);
    return 0;
}

int spec_parse(const char *text, struct spec *spec, struct error *err)
{
    memset(spec, 0, sizeof *spec);
    spec->text = strdup(text);
    int result = spec->text ? split(spec, err) : error_set(err, -ENOMEM, "out of memory");
    if (result < 0)
        spec_free(spec);
    return result;
}

void spec_free(struct spec *spec)
{
    free(spec->text);
    free(spec->binary);
    free(spec->function);
    free(spec->version);
    free(spec->file);
    memset(spec, 0, sizeof *spec);
}
