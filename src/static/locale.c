/*
 * In place of setlocale, in the file without any library (`make static`), of which the linker has all calls come here
 * (--wrap). For most locales glibc would convert characters with libraries of the machine, but for those of UTF-8 it
 * has what it takes in itself. So where the environment asks for UTF-8, this is C.UTF-8, whose tables each Debian has.
 */
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

char *__real_setlocale(int category, const char *locale);
char *__wrap_setlocale(int category, const char *locale);

/* Whether the locale that is called NAME is one of UTF-8, as in "de_DE.UTF-8" and "C.utf8@x". */
static bool is_utf8(const char *name)
{
    const char *set = strchr(name, '.');
    return set && (!strncasecmp(set, ".utf-8", 6) || !strncasecmp(set, ".utf8", 5));
}

/* What the environment says of CATEGORY: $LC_ALL, else its own variable, else $LANG. */
static const char *from_environment(int category)
{
    const char *names[] = {"LC_ALL", category == LC_CTYPE ? "LC_CTYPE" : "LANG", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return value;
    }
    return "C";
}

char *__wrap_setlocale(int category, const char *locale)
{
    if (!locale || !strcmp(locale, "C") || !strcmp(locale, "POSIX"))
        return __real_setlocale(category, locale);
    if (!*locale)
        return __real_setlocale(category, is_utf8(from_environment(category)) ? "C.UTF-8" : "C");
    return is_utf8(locale) ? __real_setlocale(category, "C.UTF-8") : NULL;
}
