/* The object linked from bpf/, embedded: what object_link and object_load take as LIBRARY. */
#pragma once

#include <stddef.h>

extern const unsigned char bpf_library[];
extern const size_t bpf_library_size;
