/* watch: runs when a place in memory is accessed. */
#include <linux/bpf.h>

#include "compile/lower/lower.h"
#include "compile/providers/providers.h"

const struct provider provider_watch = {
    .name = "watch",
    .program_type = BPF_PROG_TYPE_PERF_EVENT,
    .registers = REGISTERS_INTERRUPTED,
    .rounds = KERNEL_ROUNDS,
    .fields = FIELDS_OF_THREAD | FIELD(FUNC) | FIELD(IP) | FIELD(ADDRESS) | FIELD(VALUE),
    .ip = probe_interrupted_instruction,
};
