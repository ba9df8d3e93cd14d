/* Which of many names is nearest to one that was not found. */
#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

void suggest_init(struct suggest *suggest, const char *wanted)
{
    suggest->wanted = wanted;
    suggest->count = 0;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Edits (insert, delete, replace, swap neighbours) that turn A into B, as far as they are below LIMIT. */
static unsigned edit_distance(const char *a, size_t a_length, const char *b, size_t b_length, unsigned limit)
{
    size_t difference = a_length > b_length ? a_length - b_length : b_length - a_length;
    if (difference >= limit)
        return limit;
    unsigned rows[3][SUGGEST_LENGTH + 1];
    unsigned *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        unsigned row_least = now[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned replace = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = least(replace, least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
            row_least = least(row_least, now[j]);
        }
        if (row_least >= limit)
            return limit;
        unsigned *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[b_length];
}

void suggest_offer(struct suggest *suggest, const char *name, size_t length)
{
    size_t wanted = strlen(suggest->wanted);
    if (length == 0 || length >= SUGGEST_LENGTH || wanted >= SUGGEST_LENGTH || wanted == 0)
        return;
    /* A third of the letters may differ, or it is a guess that helps nobody. */
    unsigned limit = 1 + (unsigned)(wanted < 3 ? 1 : wanted / 3);
    unsigned distance = edit_distance(suggest->wanted, wanted, name, length, limit);
    /* A name inside the other: parse → parse.constprop.0, __parse, my_parse. */
    if (distance >= limit && wanted >= 4 && memmem(name, length, suggest->wanted, wanted))
        distance = limit + (unsigned)(length - wanted);
    else if (distance >= limit)
        return;

    size_t at = suggest->count;
    for (size_t i = 0; i < suggest->count; i++)
        if (strlen(suggest->best[i].name) == length && memcmp(suggest->best[i].name, name, length) == 0)
            return;
    while (at > 0 && suggest->best[at - 1].distance > distance)
        at--;
    if (at == SUGGEST_MAX)
        return;
    if (suggest->count < SUGGEST_MAX)
        suggest->count++;
    memmove(&suggest->best[at + 1], &suggest->best[at], (suggest->count - at - 1) * sizeof suggest->best[0]);
    suggest->best[at].distance = distance;
    memcpy(suggest->best[at].name, name, length);
    suggest->best[at].name[length] = '\0';
}

void suggest_prefix(struct suggest *suggest, const char *prefix)
{
    size_t length = strlen(prefix);
    for (size_t i = 0; i < suggest->count; i++) {
        char *name = suggest->best[i].name;
        size_t kept = strnlen(name, SUGGEST_LENGTH - 1 - length);
        memmove(name + length, name, kept);
        memcpy(name, prefix, length);
        name[length + kept] = '\0';
    }
}

const char *suggest_text(struct suggest *suggest)
{
    int used = 0;
    suggest->text[0] = '\0';
    for (size_t i = 0; i < suggest->count; i++)
        used += sprintf(suggest->text + used, "%s%s%s",
                        i == 0                   ? "; did you mean "
                        : i + 1 < suggest->count ? ", "
                                                 : " or ",
                        suggest->best[i].name, i + 1 < suggest->count ? "" : "?");
    return suggest->text;
}
