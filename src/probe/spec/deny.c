/* Functions that do not survive a probe. */
#include "probe/spec/deny.h"

#include <fnmatch.h>
#include <stddef.h>

static const char keeps[] = "it keeps its return address for later, where a return probe has put another one";
static const char unwinds[] = "it looks for its caller by its return address, where a return probe has put another one";
static const char jumped[] =
    "it is entered by a jump: a return probe would overwrite a word of the stack that is no return address";
static const char twice[] = "it returns twice on one stack, and a return probe's address is good for one return";
static const char restarts[] = "the kernel starts its code anew whenever a probe in it is hit: it would never end";

/* The names as fnmatch's patterns. A return probe replaces the return address on the stack by that of the kernel's
 * trampoline. */
static const struct denied {
    const char *name;
    bool at_entry; /* too */
    const char *why;
} list[] = {
    {"setjmp", false, keeps},
    {"_setjmp", false, keeps},
    {"__setjmp", false, keeps},
    {"sigsetjmp", false, keeps},
    {"__sigsetjmp", false, keeps},
    {"__sigjmp_save", false, keeps},
    {"getcontext", false, keeps},
    {"__getcontext", false, keeps},
    {"swapcontext", false, keeps},
    {"__swapcontext", false, keeps},
    {"_Unwind_*", false, unwinds},
    {"__cxa_throw", false, unwinds},
    {"__cxa_rethrow", false, unwinds},
    {"_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE", false, unwinds},
    {"_start", false, jumped},
    {"_dl_start_user", false, jumped},
    {"__start_context", false, jumped},
    {"__restore_rt", false, jumped},
    {"_dl_runtime_resolve*", false, jumped},
    {"_dl_runtime_profile*", false, jumped},
    {"__morestack*", false, keeps},
    {"vfork", false, twice},
    {"__vfork", false, twice},
    {"__libc_vfork", false, twice},
    {"TcmallocSlab_Internal_*", true, restarts},
    {"rseq_*", true, restarts},
};

const char *probe_denied(const char *function, bool at_return)
{
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if ((at_return || list[i].at_entry) && fnmatch(list[i].name, function, 0) == 0)
            return list[i].why;
    return NULL;
}
