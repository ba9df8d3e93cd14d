/* The parameters of a program's functions as handlers get them: e.args.NAME, by debug information. */
#pragma once

#include "base/arena.h"
#include "base/argument.h"
#include "probe/probe.h"

/*
 * The parameters of the function that each of SITES stands for, as a handler at its entry, or AT_RETURN, finds them:
 * *ARGUMENTS and *COUNT, in ARENA. Several functions have to have the same ones. 0, or -errno with the reason in ERR:
 * no debug information, a site inside of a function, one that is called in another way than C's.
 */
int parameters_find(const struct sites *sites, bool at_return, struct arena *arena, const struct argument **arguments,
                    size_t *count, struct error *err);

/*
 * What the functions that SITES stand for return, in ARENA: its kind, bits and type; place is ARGUMENT_NOWHERE where
 * that is nothing, or no word. Several functions have to return the same. 0, or -errno with the reason in ERR, as
 * above.
 */
int parameters_result(const struct sites *sites, struct arena *arena, struct argument *result, struct error *err);

/* What one function returns: its type, or WHY nobody knows that, in words that follow its name; NULL: it is known. */
struct function_result {
    struct argument type; /* as of parameters_result */
    const char *why;
};

/* What the function of each of SITES returns: RESULTS has as many, whose texts are in ARENA. Behind the first 10,000
 * functions nobody looks, which is said. */
void parameters_results(const struct sites *sites, struct arena *arena, struct function_result *results);
