/* When lists that change are read again: names are asked for by the thousand, also those that are not in them. */
#pragma once

#include <stdint.h>

/* The earliest time, ns (sys/clock.h), at which a list may be read again whose reading began at START and ends now. */
uint64_t next_reading(uint64_t start);
