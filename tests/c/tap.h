/* The Test Anything Protocol for tests in C: a line per check on standard output, what differed on standard error. */
#pragma once

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failures;

static inline bool tap_report(bool good, const char *format, va_list args)
{
    tap_count++;
    tap_failures += !good;
    printf("%sok %d - ", good ? "" : "not ", tap_count);
    vprintf(format, args);
    putchar('\n');
    fflush(stdout);
    return good;
}

/* Each check is named by FORMAT and returns whether it passed. */
__attribute__((format(printf, 2, 3))) static inline bool ok(bool condition, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bool good = tap_report(condition, format, args);
    va_end(args);
    return good;
}

__attribute__((format(printf, 3, 4))) static inline bool is_int(int64_t got, int64_t want, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bool good = tap_report(got == want, format, args);
    va_end(args);
    if (!good)
        fprintf(stderr, "#   got %" PRId64 ", want %" PRId64 "\n", got, want);
    return good;
}

__attribute__((format(printf, 3, 4))) static inline bool is_str(const char *got, const char *want, const char *format,
                                                                ...)
{
    va_list args;
    va_start(args, format);
    bool good = tap_report(got == want || (got && want && !strcmp(got, want)), format, args);
    va_end(args);
    if (!good)
        fprintf(stderr, "#   got %s, want %s\n", got ? got : "(null)", want ? want : "(null)");
    return good;
}

/* What comes next is not asked here: REASON is what this host lacks. One that says "package NAME" is a failure
 * in CI where `make deps` installs that package. */
static inline void skip(const char *reason)
{
    printf("ok %d # SKIP %s\n", ++tap_count, reason);
    fflush(stdout);
}

/* Prints the plan; the exit status for main. */
static inline int done_testing(void)
{
    printf("1..%d\n", tap_count);
    if (tap_failures)
        fprintf(stderr, "# %d of %d checks failed\n", tap_failures, tap_count);
    return tap_failures ? 1 : 0;
}
