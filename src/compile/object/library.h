/* The object linked from bpf/, embedded: what object_link and object_load take as LIBRARY. */
#ifndef UPLUA_COMPILE_OBJECT_LIBRARY_H
#define UPLUA_COMPILE_OBJECT_LIBRARY_H

#include <stddef.h>

extern const unsigned char bpf_library[];
extern const size_t bpf_library_size;

#endif
