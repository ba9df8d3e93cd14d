/* Texts for the reader, each kept once. */
#include "sym/texts.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "sym/demangle.h"

void texts_free(struct texts *texts)
{
    tdestroy(texts->tree, free);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(a, b);
}

const char *texts_intern(struct texts *texts, const char *text)
{
    char *safe = text_escape(text);
    char **found = safe ? tsearch(safe, &texts->tree, compare_texts) : NULL;
    if (!found || *found != safe)
        free(safe);
    return found ? *found : "?";
}
