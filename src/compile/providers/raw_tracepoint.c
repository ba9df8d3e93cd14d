/* raw_tracepoint: runs where the kernel passes one of its tracepoints; the context is the words that it is given. */
#include <linux/bpf.h>

#include "compile/providers/providers.h"

const struct provider provider_raw_tracepoint = {
    .name = "raw_tracepoint",
    .program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
    .kernel_memory = true,
    .registers = REGISTERS_THREAD,
    .rounds = KERNEL_ROUNDS,
    .fields = FIELDS_OF_THREAD | FIELD(FUNC),
    .arguments = "argument",
    .numbered = true,
};
