/* The head of a record in a ring: its tag in the low bits, and above them, where rings are read in one order, the low
 * bits of its time (CLOCK_MONOTONIC in ns, of which they repeat after 78 hours). */
#pragma once

enum { RING_TAG_BITS = 16 };
