/* usdt: runs where the program passes one of its own static probes. */
#include <linux/bpf.h>

#include "compile/lower/lower.h"
#include "compile/providers/providers.h"

const struct provider provider_usdt = {
    .name = "usdt",
    .program_type = BPF_PROG_TYPE_KPROBE,
    .attach_as = providers_attach_uprobe,
    .sleeps = true,
    .registers = REGISTERS_USER,
    .rounds = USER_ROUNDS,
    .fields = FIELDS_OF_THREAD | FIELD(FUNC) | FIELD(IP) | FIELD(STACK_POINTER),
    .arguments = "argument",
    .numbered = true,
    .ip = probe_instruction,
};
