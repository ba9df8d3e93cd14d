/* Parses BINARY:FUNCTION[@VERSION][+OFFSET], BINARY:0xADDRESS, BINARY@FILE:LINE and BINARY:FILE:LINE. */
#include "probe/spec/spec.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* True if the first N bytes of TEXT are the path of something that exists: a name without a slash is none. */
static bool is_path(const char *text, size_t n)
{
    if (!memchr(text, '/', n))
        return false;
    char *path = strndup(text, n);
    bool exists = path && access(path, F_OK) == 0;
    free(path);
    return exists;
}

/*
 * The colon that ends the binary: the first one. Paths may contain colons as C++ names do, so a path that does not
 * exist is continued to the next colon if that makes one that does.
 */
static const char *find_colon(const char *text)
{
    const char *first = strchr(text, ':');
    for (const char *colon = first; colon && memchr(text, '/', (size_t)(colon - text)); colon = strchr(colon + 1, ':'))
        if (is_path(text, (size_t)(colon - text)))
            return colon;
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
    spec->alone = true;
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

/*
 * What parts binary and file in BINARY@FILE:LINE and BINARY:FILE:LINE, of which LINE begins behind COLON; NULL: TEXT is
 * none of these. Paths may contain both signs, so a binary that exists is preferred.
 */
static const char *find_file(const char *text, const char *colon)
{
    const char *plain = NULL, *end = find_colon(text);
    for (const char *at = strchr(text, '@'); at && at + 1 < colon; at = strchr(at + 1, '@')) {
        if (is_path(text, (size_t)(at - text)))
            return at;
        if (at > text && !plain && !memchr(text, ':', (size_t)(at - text)))
            plain = at;
    }
    bool has_file = end > text && end + 1 < colon && colon[-1] != ':'; /* "::" is of a function of C++ */
    return has_file && (!plain || is_path(text, (size_t)(end - text))) ? end : plain;
}

/* Takes a spec whose file begins behind AT, and whose line behind COLON. */
static int read_line(struct spec *spec, const char *at, const char *colon, struct error *err)
{
    spec->binary = strndup(spec->text, (size_t)(at - spec->text));
    spec->file = strndup(at + 1, (size_t)(colon - at - 1));
    spec->function = strdup(colon + 1);
    if (!spec->binary || !spec->file || !spec->function)
        return error_set(err, -ENOMEM, "out of memory");
    errno = 0;
    unsigned long line = strtoul(spec->function, NULL, 10);
    if (errno || !line || line > INT_MAX)
        return error_set(err, -EINVAL, "%s: there is no line %s", spec->text, spec->function);
    spec->line = (unsigned)line;
    return 0;
}

static bool is_number(const char *text)
{
    return *text && !text[strspn(text, "0123456789")];
}

static int split(struct spec *spec, struct error *err)
{
    const char *last = strrchr(spec->text, ':');
    const char *file = last && is_number(last + 1) ? find_file(spec->text, last) : NULL;
    if (file)
        return read_line(spec, file, last, err);
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
    if (is_number(spec->function))
        return error_set(err, -EINVAL, "%s: a line is that of a source file: write %s@FILE.c:%s", spec->text,
                         spec->binary, spec->function);
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
