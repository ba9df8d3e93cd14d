/* fentry and fexit: the entry and the return of a function of the kernel, by calls from the function itself, which
 * tells its arguments at the return, too. */
#include <linux/bpf.h>

#include "compile/lower/lower.h"
#include "compile/providers/providers.h"

enum { FIELDS = FIELDS_OF_THREAD | FIELD(FUNC) | FIELD(IP) };

static struct operand result(struct lower *lower)
{
    return probe_call_for_word(lower, BPF_FUNC_get_func_ret, NULL);
}

const struct provider provider_fentry = {
    .name = "fentry",
    .program_type = BPF_PROG_TYPE_TRACING,
    .attach_type = BPF_TRACE_FENTRY,
    .kernel_memory = true,
    .called = true,
    .registers = REGISTERS_THREAD,
    .rounds = KERNEL_ROUNDS,
    .fields = FIELDS,
    .arguments = "argument",
    .numbered = true,
    .ip = probe_kernel_function,
    .at_return = &provider_fexit,
    .returning = "function",
};

const struct provider provider_fexit = {
    .name = "fexit",
    .program_type = BPF_PROG_TYPE_TRACING,
    .attach_type = BPF_TRACE_FEXIT,
    .kernel_memory = true,
    .called = true,
    .registers = REGISTERS_THREAD,
    .rounds = KERNEL_ROUNDS,
    .fields = FIELDS | FIELD(RETURN),
    .arguments = "argument",
    .numbered = true,
    .result = result,
    .ip = probe_kernel_function,
};
