/* How the message of a failure is put together for the user. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

int error_set(struct error *err, int code, const char *format, ...)
{
    if (!err)
        return code;
    va_list args;
    va_start(args, format);
    err->code = code;
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return code;
}

int error_prefix(struct error *err, const char *format, ...)
{
    if (!err)
        return 0;
    char before[sizeof err->text];
    va_list args;
    va_start(args, format);
    int used = vsnprintf(before, sizeof before, format, args);
    va_end(args);
    if (used < 0 || (size_t)used >= sizeof before)
        return err->code;
    size_t rest = strlen(err->text) + 1;
    if (used + rest > sizeof err->text) {
        rest = sizeof err->text - (size_t)used;
        err->text[rest - 1] = '\0';
    }
    memmove(err->text + used, err->text, rest);
    memcpy(err->text, before, (size_t)used);
    return err->code;
}

static const char *too_many_files(void)
{
    static _Thread_local char text[96];
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    snprintf(text, sizeof text, "too many open files: of the %llu that are allowed none is left: raise `ulimit -n`",
             (unsigned long long)limit.rlim_cur);
    return text;
}

const char *error_reason(int code)
{
    code = code < 0 ? -code : code;
    switch (code) {
    case ENOMEM:
        return "out of memory";
    case EMFILE:
        return too_many_files();
    default:
        return strerror(code);
    }
}

void error_make_printable(struct error *err)
{
    for (unsigned char *c = (unsigned char *)(err ? err->text : ""); *c; c++) {
        if ((*c < ' ' && *c != '\n') || *c == 0x7f)
            *c = '?';
        else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) /* U+0080 to U+009F */
            c[0] = c[1] = '?';
    }
}
