/* Where a variable is that belongs to no function, as a handler at an instruction of its file finds it. */
#pragma once

#include <stdbool.h>

#include "probe/args/local_place.h"
#include "probe/module/binary.h"
#include "sym/debugglobal.h"

/* By what a name is looked for. */
enum global_way {
    GLOBAL_DECLARED, /* the declarations of the code's unit */
    GLOBAL_EXPORTED, /* what other units export */
};

/* The ELF address of GLOBAL, if that is fixed, in *ADDRESS; false: it is not, or GLOBAL is in no memory. */
bool global_address(const struct local_context *context, const struct debuglocal *global, uint64_t *address);

/*
 * The variable that NAME means in CODE, CONTEXT's ("total", "ns::counter"), or its part ("config.limits[2]"), in
 * *RESULT, as local_place has it; BINARY is the file. ALIAS: the entry that declares it, of which NAME is another name;
 * 0: none. *HAS_VALUE is false where it is a function's or a type's. False: no such name is known that way.
 */
bool global_place(struct local_context *context, const struct binary *binary, const struct debugglobal_code *code,
                  enum global_way way, const char *name, uint64_t alias, struct argument *result, bool *has_value);
