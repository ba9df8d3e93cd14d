/* Turns symbol names of ELF files into names for people. */
#include "sym/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct output {
    char text[DEMANGLE_MAX + 1]; /* one more than text_escape keeps, so that it sees that something is missing */
    size_t length;
    jmp_buf full;
};

/*
 * A mangled name of 100 bytes can stand for gigabytes (substitutions of substitutions), and libiberty's callback cannot
 * ask for an end: jump out of it. It holds no memory then, except for the decoded form of a Rust identifier in
 * punycode.
 */
static void append(const char *text, size_t length, void *opaque)
{
    struct output *output = opaque;
    size_t room = sizeof output->text - 1 - output->length;
    bool full = length > room;
    if (full)
        length = room;
    memcpy(output->text + output->length, text, length);
    output->length += length;
    if (full)
        longjmp(output->full, 1);
}

/* True if OUTPUT has the demangled NAME, whole or cut. */
static bool demangle_into(struct output *output, const char *name, int options)
{
    bool done;
    if (setjmp(output->full)) {
        done = true;
    } else {
        done = rust_demangle_callback(name, options, append, output) != 0;
        if (!done) {
            output->length = 0;
            done = cplus_demangle_v3_callback(name, options, append, output) != 0;
        }
    }
    output->text[output->length] = '\0';
    return done;
}

/* NAME demangled with OPTIONS of libiberty and made safe; NULL where it is not mangled. */
static char *demangled(const char *name, int options)
{
    if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
        return NULL;
    struct output *output = malloc(sizeof *output);
    char *result = NULL;
    if (output) {
        output->length = 0;
        if (demangle_into(output, name, options))
            result = text_escape(output->text);
        free(output);
    }
    return result;
}

char *demangle_bare(const char *name)
{
    return demangled(name, DMGL_ANSI);
}

char *demangle(const char *name)
{
    /* The linker writes "malloc@@GLIBC_2.2.5" into .symtab. */
    const char *version = strchr(name, '@');
    char *bare = NULL;
    if (version && version > name) {
        bare = strndup(name, (size_t)(version - name));
        if (!bare)
            return NULL;
        name = bare;
    }
    char *result = demangled(name, DMGL_PARAMS | DMGL_ANSI);
    if (!result)
        result = text_escape(name);
    free(bare);
    return result;
}

/* Bytes of the printable UTF-8 character at TEXT, 0 if it has to be escaped. */
static size_t printable(const unsigned char *text)
{
    if (text[0] < 0x80)
        return text[0] >= 0x20 && text[0] != 0x7f;
    size_t length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    uint32_t code = text[0] & (0x7fu >> length);
    if (text[0] < 0xc2 || text[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) /* the NUL at the end, too */
            return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    bool control = code < 0xa0;
    bool direction = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069); /* reorders the line */
    if (code < smallest[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) || control || direction)
        return 0;
    return length;
}

char *text_escape(const char *text)
{
    static const char more[] = "...";
    char buffer[DEMANGLE_MAX + sizeof more];
    size_t used = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t length = printable(at), width = length ? length : 4;
        if (used + width > DEMANGLE_MAX) {
            buffer[used] = '\0';
            while (used > DEMANGLE_MAX - (sizeof more - 1) || (buffer[used] & 0xc0) == 0x80)
                used--;
            memcpy(buffer + used, more, sizeof more - 1);
            used += sizeof more - 1;
            break;
        }
        if (length)
            memcpy(buffer + used, at, length);
        else
            snprintf(buffer + used, 5, "\\x%02x", *at);
        used += width;
        at += length ? length : 1;
    }
    return strndup(buffer, used);
}
