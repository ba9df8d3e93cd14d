/* Types of debug information as the calling convention sees them (arch/passing.h). */
#pragma once

#include <stdint.h>

#include "arch/passing.h"

/* The type NUMBER (sym/debugtypes.h); without a size where it is nothing that is known here. */
struct passing_type convention_type(uint32_t number);

/*
 * The same of Rust, whose own convention is not written down: what has stayed the same in all its versions. Numbers and
 * addresses are passed as C's, a reference to a text or a slice as two of them, and what is larger than two words as an
 * address, which its location has to confirm. Nothing is known of other structs.
 */
struct passing_type convention_rust_type(uint32_t number);
