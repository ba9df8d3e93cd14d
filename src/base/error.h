/* The one struct that carries a failure to the user: what, which, why, what to do. */
#pragma once

struct error {
    int code;        /* negative errno; 0: no error */
    char text[2048]; /* one or two lines for the user, without a trailing newline */
};

/* Fills ERR (may be NULL) with CODE (a negative errno) and the formatted text; returns CODE. */
int error_set(struct error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts the formatted text before the text that ERR already carries ("uprobe libc:malloc: " …); returns err->code. */
int error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * What errno value CODE, negative or not, means, as messages say it: "out of memory"; strerror's words for others. The
 * text is good until the calling thread's next call.
 */
const char *error_reason(int code);

/* Names in ERR (may be NULL) may come from files of the target: none reaches a terminal as a control sequence. */
void error_make_printable(struct error *err);
