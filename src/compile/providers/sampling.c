/* profile, perf and interval: run where a CPU is busy, so many times a second; at one in so many events that the
 * kernel's perf counts; and each time that so much time has passed, whatever the CPU does then. */
#include <linux/bpf.h>

#include "compile/lower/lower.h"
#include "compile/providers/providers.h"

const struct provider provider_profile = {
    .name = "profile",
    .program_type = BPF_PROG_TYPE_PERF_EVENT,
    .registers = REGISTERS_INTERRUPTED,
    .rounds = KERNEL_ROUNDS,
    .fields = FIELDS_OF_THREAD | FIELD(IP) | FIELD(PERIOD),
    .ip = probe_instruction,
};

const struct provider provider_perf = {
    .name = "perf",
    .program_type = BPF_PROG_TYPE_PERF_EVENT,
    .registers = REGISTERS_INTERRUPTED,
    .rounds = KERNEL_ROUNDS,
    .fields = FIELDS_OF_THREAD | FIELD(IP) | FIELD(PERIOD) | FIELD(ADDRESS),
    .ip = probe_instruction,
};

const struct provider provider_interval = {
    .name = "interval",
    .program_type = BPF_PROG_TYPE_PERF_EVENT,
    .of_nobody = true,
    .rounds = KERNEL_ROUNDS,
    .fields = FIELDS_OF_ANY,
};
