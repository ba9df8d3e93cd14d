/* Where a variable is: in the file that has it, and in a running process. */
#pragma once

#include <stdint.h>

#include "probe/target.h"
#include "sym/maps.h"

/*
 * The address in the process of TARGET, its only one, of the variable that the spec TEXT names ("libc:stdout",
 * "./app:counters+0x10"), in *ADDRESS; MAPS are the process's. Where the program has a variable of that name, too, it
 * is the program's, as the loader decides it for all. 0, or -errno: -ENOENT with an empty ERR where there is no such
 * variable.
 */
int variable_address(const char *text, const struct target *target, const struct maps *maps, uint64_t *address,
                     struct error *err);

/* A variable in its file, which nobody needs to have mapped. */
struct variable {
    char module[256]; /* its path as the target sees it, perhaps cut off */
    uint64_t bytes;   /* from the spec's offset to the variable's end, or of the field; 0: its symbol does not say */
    char spec[256];   /* of the same place without fields: "./app:config+0x18", for variable_address */
};
/*
 * What the variable that the spec TEXT names is for TARGET, where processes with different files may have different
 * ones: the first. Behind its name fields and indices may follow, "./app:config.limits[2].high", which debug
 * information knows. 0, or -errno with the reason in ERR and close matches.
 */
int variable_find(const char *text, const struct target *target, struct variable *variable, struct error *err);

/*
 * Calls VISIT for each variable of a binary that the spec TEXT matches, "./app:coun*", for exported ones twice; MODULE
 * is the binary's path as the target sees it, BYTES is 0 where its symbol does not say, TYPE is NULL unless TYPES are
 * asked for and debug information has it. What only linkers put there is left out. 0, or -errno with the reason in ERR.
 */
typedef void variable_visit(const char *module, const char *name, uint64_t bytes, const char *type, void *context);
int variables_list(const char *text, const struct target *target, bool types, variable_visit *visit, void *context,
                   struct error *err);
