/* Texts for the reader, each kept once. */
#pragma once

struct texts {
    void *tree; /* tsearch's, of strings */
};

void texts_free(struct texts *texts);

/* TEXT made printable, as the one string with this content that lives as long as TEXTS; "?" without memory. */
const char *texts_intern(struct texts *texts, const char *text);
