/* Finds the maps of the library that an object needs: the others need not be created. */
#pragma once

#include <stddef.h>

#include "compile/object/object.h"

/*
 * Calls UNUSED(context, name) for each map of LIBRARY (an ELF object in memory) that no function refers to which the
 * programs of OBJECT call, directly or not. Of an ELF file that it does not understand all maps count as used.
 */
void library_maps_leave_out(const struct object *object, const void *library, size_t size,
                            void (*unused)(void *context, const char *name), void *context);
