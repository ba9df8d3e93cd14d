/* Which functions that are probed are also inlined into others: calls there are none that a probe sees. */
#pragma once

#include "probe/probe.h"

struct inlined {
    size_t functions;           /* of the sites, that are inlined somewhere … */
    size_t places;              /* … and where, all together */
    const struct site *example; /* one of them, if there are any, … */
    char line[256];             /* … and the source line that begins at a place of it, "main.c:12"; "": not known */
};

/*
 * Fills in *RESULT what the debug information of their files says of SITES that are functions' entries; where there is
 * none nobody knows. Separate debug files, which take some 0.3 s, are not read for this. 0, or -ENOMEM.
 */
int sites_inlined(const struct sites *sites, struct inlined *result);
