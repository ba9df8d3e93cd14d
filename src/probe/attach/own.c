/*
 * bpf_trace_run1 … 12 run programs on raw tracepoints, __bpf_trace_CLASS calls them, perf_syscall_enter those on a
 * system call's; __traceiter_NAME calls all who look at a tracepoint, if there are several (include/trace/bpf_probe.h,
 * include/linux/tracepoint.h; since Linux 5.10). Functions that stand between them are joined to them if nobody calls
 * anything in there: the stubs that kprobes may take, and the padding before functions.
 */
#include "probe/attach/own.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "sym/kernel.h"

struct kernel_function {
    uint64_t address;
    bool own;
};

struct functions {
    struct kernel_function *items;
    size_t count;
};

static bool begins(const char *name, const char *start)
{
    return !strncmp(name, start, strlen(start));
}

static bool is_own(const char *name)
{
    return begins(name, "__traceiter_") || begins(name, "__bpf_trace_") || begins(name, "bpf_trace_run") ||
           begins(name, "__probestub_") || begins(name, "perf_syscall_enter") || begins(name, "perf_syscall_exit");
}

static int add(const char *name, const char *module, uint64_t address, void *context)
{
    (void)module;
    struct functions *functions = context;
    if (!address || begins(name, "__pfx_"))
        return 0;
    struct kernel_function *function = array_add(&functions->items, &functions->count, sizeof *function);
    if (!function)
        return -ENOMEM;
    *function = (struct kernel_function){address, is_own(name)};
    return 0;
}

static int by_address(const void *a, const void *b)
{
    const struct kernel_function *left = a, *right = b;
    if (left->address != right->address)
        return left->address < right->address ? -1 : 1;
    return (int)right->own - (int)left->own; /* of two names for one function the one that says more */
}

/* Makes the ranges; behind the last function nothing is known, so that it is none. */
static int join(const struct functions *functions, struct own_code *own)
{
    size_t count = 1;
    bool inside = false;
    for (size_t i = 0; i < functions->count; i++) {
        const struct kernel_function *function = &functions->items[i];
        if ((i && function[-1].address == function->address) || function->own == inside)
            continue;
        if (count == OWN_RANGES)
            return -E2BIG;
        if (function->own)
            own->ranges[count].start = function->address;
        else
            own->ranges[count].size = function->address - own->ranges[count].start;
        count += inside;
        inside = function->own;
    }
    while (count < OWN_RANGES)
        own->ranges[count++].start = OWN_NO_START;
    return 0;
}

int own_code_read(const char *path, struct own_code *own)
{
    struct functions functions = {0};
    *own = (struct own_code){0};
    int result = kernel_functions(path, add, &functions);
    if (!result) {
        qsort(functions.items, functions.count, sizeof *functions.items, by_address);
        result = join(&functions, own);
    }
    free(functions.items);
    return result;
}
