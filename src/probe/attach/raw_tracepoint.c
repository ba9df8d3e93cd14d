/* Attaches to raw tracepoints, which make no record. */
#include "probe/attach/raw_tracepoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "probe/attach/link.h"
#include "sys/bpf.h"
#include "sys/capability.h"
#include "sys/kernel_types.h"

/* What calls the programs of a tracepoint; its parameters have names, unlike those of the pointer to it
 * (include/linux/tracepoint.h). */
#define CALLER "__traceiter_"

static void offer(const char *name, void *context)
{
    name += strlen(CALLER);
    suggest_offer(context, name, strlen(name));
}

int raw_tracepoint_function(const char *name, char *text, size_t size, struct error *err)
{
    struct suggest suggest;
    struct kernel_parameter ignored;
    if (snprintf(text, size, CALLER "%s", name) >= (int)size)
        return error_set(err, -ENAMETOOLONG, "%.40s…: the name is too long", name);
    int code = kernel_function_parameter(text, 0, &ignored);
    if (!code || code == -ERANGE)
        return 0;
    if (code != -ENOENT || kernel_types_open())
        return error_set(
            err, code, "%s: the kernel's types (/sys/kernel/btf/vmlinux) cannot be read: %s; up.tracepoint needs none",
            name, code == -ENOENT ? "this kernel has none" : error_reason(code));
    suggest_init(&suggest, name);
    kernel_btf_functions(CALLER, offer, &suggest);
    return error_set(err, -ENOENT, "%s: the kernel has no such tracepoint%s", name, suggest_text(&suggest));
}

static int failed(int code, const char *name, struct error *err)
{
    if (code == -EPERM || code == -EACCES)
        return error_set(err, code, "%s: cannot attach: this needs %s; run uplua as root", name,
                         capability_missing() ? capability_missing() : "CAP_PERFMON");
    return error_set(err, code, "%s: cannot attach: %s", name,
                     code == -ENOENT ? "the kernel does not know it" : error_reason(code));
}

int raw_tracepoint_attach(int program_fd, const char *name, struct probe_link **link, struct error *err)
{
    int code = link_one(link, raw_tracepoint_link(program_fd, name));
    return code < 0 ? failed(code, name, err) : 0;
}
