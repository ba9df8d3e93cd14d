/* Types of debug information as the calling convention sees them (arch/passing.h). */
#pragma once

#include <stdint.h>

#include "arch/passing.h"

/* The type NUMBER (sym/debugtypes.h); without a size where it is nothing that is known here. */
struct passing_type convention_type(uint32_t number);
