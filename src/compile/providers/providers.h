/* The list of providers: a row for each kind of probe, in the order of --info. Its struct provider_NAME is in NAME.c,
 * or where several have much in common, as an entry and its return, in the file of one of them. */
#pragma once

#include "compile/context/provider.h"

/* clang-format off */
#define PROVIDERS(ROW) \
    ROW(uprobe) \
    ROW(uretprobe) \
    ROW(kprobe) \
    ROW(kretprobe) \
    ROW(fentry) \
    ROW(fexit) \
    ROW(usdt) \
    ROW(profile) \
    ROW(perf) \
    ROW(watch) \
    ROW(interval) \
    ROW(tracepoint) \
    ROW(raw_tracepoint) \
    ROW(syscall) \
    ROW(sysreturn) \
    ROW(testrun)
/* clang-format on */

#define DECLARE_PROVIDER(kind) extern const struct provider provider_##kind;
PROVIDERS(DECLARE_PROVIDER)
#undef DECLARE_PROVIDER

/* provider_attach_type's answer for what libbpf attaches to many places of programs at once. */
uint32_t providers_attach_uprobe(bool at_entry);
