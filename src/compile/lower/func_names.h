/* e.func of handlers with several sites: the map of their names. */
#pragma once

#include "compile/context/handler.h"
#include "compile/object/object.h"

/* Writes the names of the handler's sites to the map that it reads them from. 0 or -errno. */
int func_names_fill(const struct handler *handler, const struct loaded *loaded);
