/* profile, perf and interval. profile runs so many times a second on each busy CPU. perf runs at one in so many events
 * that the kernel's perf counts. interval runs whenever so much time has passed, on an idle CPU too. */
#include <linux/bpf.h>

#include "compile/lower/lower.h"
#include "compile/providers/providers.h"

const struct provider provider_profile = {
    .name = "profile",
    .program_type = BPF_PROG_TYPE_PERF_EVENT,
    .registers = REGISTERS_INTERRUPTED,
    .rounds = KERNEL_ROUNDS,
    .fields = FIELDS_OF_THREAD | FIELD(FUNC) | FIELD(IP) | FIELD(PERIOD),
    .ip = probe_interrupted_instruction,
};

const struct provider provider_perf = {
    .name = "perf",
    .program_type = BPF_PROG_TYPE_PERF_EVENT,
    .registers = REGISTERS_INTERRUPTED,
    .rounds = KERNEL_ROUNDS,
    .fields = FIELDS_OF_THREAD | FIELD(FUNC) | FIELD(IP) | FIELD(PERIOD) | FIELD(ADDRESS),
    .ip = probe_interrupted_instruction,
};

const struct provider provider_interval = {
    .name = "interval",
    .program_type = BPF_PROG_TYPE_PERF_EVENT,
    .of_nobody = true,
    .rounds = KERNEL_ROUNDS,
    .fields = FIELDS_OF_ANY | FIELD(FUNC),
};
