/*
 * The instructions that a function returns by, for probes there: where a return probe, which replaces the return
 * address, cannot be. Go's runtime reads return addresses and moves stacks; other programs go on on another stack, or
 * throw exceptions.
 */
#pragma once

#include "probe/spec/site_list.h"

/* True if functions of BINARY get probes at their return instructions for LIST, in the place of return probes. */
bool return_sites_wanted(const struct binary *binary, const struct site_list *list);

/*
 * Appends to LIST the return instructions of the function whose entry is LIST's last site, in BINARY, and says that
 * they are exits. *WHY: NULL, or why there are none (static): then that site is taken away again. 0 or -ENOMEM.
 */
int return_sites_append(const struct binary *binary, struct site_list *list, const char **why);
