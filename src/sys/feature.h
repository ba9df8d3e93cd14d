/*
 * What this kernel offers. A feature is decided by trying it, not by the version number, once per process and only
 * when somebody asks. $UPLUA_WITHOUT=uprobe_multi,session,… switches features off ("all": all), so that the older paths are
 * tested; $UPLUA_WITH=… takes them as there without trying, so that code for other kernels can be looked at.
 */
#ifndef UPLUA_SYS_FEATURE_H
#define UPLUA_SYS_FEATURE_H

#include <stdbool.h>

enum feature {
    FEATURE_UPROBE_MULTI, /* one link for thousands of uprobes; Linux 6.6 */
    FEATURE_SESSION,      /* entry and return in one uprobe link, with a cookie between them; Linux 6.13 */
    FEATURE_MAY_GOTO,     /* loops that the kernel bounds, not the verifier; Linux 6.9 */
    FEATURE_PRIVATE_STACK, /* 512 bytes of stack for each function of a program, not for all together; Linux 6.13, x86 */
    FEATURE_COUNT,
};

/* The name used in UPLUA_WITHOUT and --info, such as "uprobe_multi". */
const char *feature_name(enum feature feature);

/* True where the kernel has FEATURE, or UPLUA_WITH names it, and UPLUA_WITHOUT does not. Cheap after the first call. */
bool feature_available(enum feature feature);

#endif
