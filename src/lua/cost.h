/* What probes take, for the handlers that take it off e.elapsed (probe/attach/cost.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "compile/compile.h"

struct cost_run;

/* Begins to measure what the COUNT HANDLERS want to know, while they are loaded: for cost_finish. NULL: nothing. */
struct cost_run *cost_begin_for(const struct handler *handlers, size_t count);
/* Tells the handlers that have the COUNTERS (COST_COUNTERS); NULL: none. */
void cost_write(volatile uint64_t *counters);
