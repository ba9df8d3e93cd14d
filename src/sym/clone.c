/* Tells what compilers have made of other functions by the ends of the names. */
#include "sym/clone.h"

#include <stdbool.h>
#include <string.h>

/* What a compiler adds to a name, and whether a number always follows. */
static const struct suffix {
    const char *word;
    bool numbered;
    enum clone kind;
} suffixes[] = {
    /* gcc (clone_function_name) */
    {".constprop", true, CLONE_WHOLE},
    {".isra", true, CLONE_WHOLE},
    {".localalias", false, CLONE_WHOLE},
    {".lto_priv", true, CLONE_PRIVATE},
    {".part", true, CLONE_PART},
    {".cold", false, CLONE_PART},
    /* clang */
    {".specialized", true, CLONE_WHOLE},
    {".llvm", true, CLONE_PRIVATE},
    {".__uniq", true, CLONE_PRIVATE},
};

/* How many bytes the suffix takes that AT, of LEFT bytes, begins with, and what that makes of a function; 0: there is
 * none. */
static size_t suffix_at(const char *at, size_t left, enum clone *kind)
{
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t word = strlen(suffixes[i].word), end = word;
        if (left < word || memcmp(at, suffixes[i].word, word) != 0)
            continue;
        if (end < left && at[end] == '.')
            for (end++; end < left && at[end] >= '0' && at[end] <= '9';)
                end++;
        bool has_number = end > word + 1;
        if (!has_number)
            end = word;
        if ((end < left && at[end] != '.') || (suffixes[i].numbered && !has_number))
            continue;
        *kind = suffixes[i].kind;
        return end;
    }
    return 0;
}

enum clone clone_of(const char *name, size_t length, size_t *base)
{
    for (const char *dot = name; length && (dot = memchr(dot, '.', length - (size_t)(dot - name))); dot++) {
        size_t at = (size_t)(dot - name), start = at, bytes;
        enum clone found = CLONE_NONE, kind;
        while (at && at < length && (bytes = suffix_at(name + at, length - at, &kind))) {
            found = kind > found ? kind : found;
            at += bytes;
        }
        if (found && at == length) {
            *base = start;
            return found;
        }
    }
    *base = length;
    return CLONE_NONE;
}
