/* usdt: runs where the program passes one of its own static probes. */
#include <linux/bpf.h>

#include "compile/lower/lower.h"
#include "compile/providers/providers.h"
#include "sys/bpf.h"
#include "sys/feature.h"

static uint32_t attach_as(bool at_entry)
{
    (void)at_entry;
    return feature_available(FEATURE_UPROBE_MULTI) ? ATTACH_TYPE_UPROBE_MULTI : 0;
}

const struct provider provider_usdt = {
    .name = "usdt",
    .program_type = BPF_PROG_TYPE_KPROBE,
    .attach_as = attach_as,
    .sleeps = true,
    .registers = REGISTERS_USER,
    .rounds = USER_ROUNDS,
    .fields = FIELDS_OF_THREAD | FIELD(FUNC) | FIELD(IP) | FIELD(STACK_POINTER),
    .arguments = "argument",
    .numbered = true,
    .ip = probe_instruction,
};
