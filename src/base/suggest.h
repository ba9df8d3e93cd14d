/* "did you mean malloc?": the names that resemble one that was not found. */
#pragma once

#include <stddef.h>

enum { SUGGEST_MAX = 3, SUGGEST_LENGTH = 96 };

struct suggest {
    const char *wanted;
    size_t count;
    struct {
        unsigned distance;
        char name[SUGGEST_LENGTH];
    } best[SUGGEST_MAX]; /* by distance */
    char text[(SUGGEST_MAX + 1) * SUGGEST_LENGTH];
};

/* Starts a search for names like WANTED, which is borrowed. */
void suggest_init(struct suggest *suggest, const char *wanted);
/* Remembers NAME (LENGTH characters) if it is among those that resemble most. */
void suggest_offer(struct suggest *suggest, const char *name, size_t length);
/* Puts PREFIX before the names. */
void suggest_prefix(struct suggest *suggest, const char *prefix);
/* "; did you mean a, b or c?", or "" where nothing resembles; in SUGGEST. */
const char *suggest_text(struct suggest *suggest);
