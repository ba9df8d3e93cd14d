/* The providers, one file each or two where a probe has returns: rows for providers.c, and for nobody else. */
#ifndef UPLUA_COMPILE_PROVIDERS_PROVIDERS_H
#define UPLUA_COMPILE_PROVIDERS_PROVIDERS_H

#include "compile/context/provider.h"

extern const struct provider provider_uprobe, provider_uretprobe; /* uprobe.c */
extern const struct provider provider_kprobe, provider_kretprobe; /* kprobe.c */
extern const struct provider provider_fentry, provider_fexit;     /* fentry.c */
extern const struct provider provider_usdt;
extern const struct provider provider_profile, provider_perf, provider_interval; /* sampling.c */
extern const struct provider provider_watch;
extern const struct provider provider_tracepoint;
extern const struct provider provider_rawtracepoint;
extern const struct provider provider_syscall, provider_sysreturn; /* syscall.c */
extern const struct provider provider_testrun;

#endif
