/* /etc/ld.so.cache: the dynamic loader's index from library names to paths, in glibc's format of 2.2 and later. */
#pragma once

/* Calls VISIT for each 64-bit library of this CPU, until it returns non-zero, which is returned; 0 where there is no
 * cache. */
typedef int ld_so_cache_visit(const char *name, const char *path, void *context);
int ld_so_cache_each(const char *root, ld_so_cache_visit *visit, void *context);
