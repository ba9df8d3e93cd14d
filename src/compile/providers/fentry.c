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

/* What fentry and fexit have in common. */
#define CALLED                                                                                                         \
    .program_type = BPF_PROG_TYPE_TRACING, .kernel_memory = true, .called = true, .registers = REGISTERS_THREAD,       \
    .rounds = KERNEL_ROUNDS, .arguments = "argument", .numbered = true, .ip = probe_kernel_function

const struct provider provider_fentry = {
    .name = "fentry",
    CALLED,
    .attach_type = BPF_TRACE_FENTRY,
    .fields = FIELDS,
    .at_return = &provider_fexit,
    .returning = "function",
};

const struct provider provider_fexit = {
    .name = "fexit",
    CALLED,
    .attach_type = BPF_TRACE_FEXIT,
    .fields = FIELDS | FIELD(RETURN),
    .result = result,
};
