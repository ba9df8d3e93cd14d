/* kprobe and kretprobe: run when a function of the kernel is entered, and when it returns. */
#include <linux/bpf.h>

#include "arch/arch.h"
#include "compile/lower/lower.h"
#include "compile/lower/pairing.h"
#include "compile/providers/providers.h"
#include "sys/bpf.h"
#include "sys/feature.h"

enum { FIELDS = FIELDS_OF_THREAD | FIELD(FUNC) | FIELD(IP) };

/* Links of many kprobes stand at functions' entries alone. */
static uint32_t attach_as(bool at_entry)
{
    return at_entry && feature_available(FEATURE_KPROBE_MULTI) ? ATTACH_TYPE_KPROBE_MULTI : 0;
}

static struct operand result(struct lower *lower)
{
    return probe_context_word(lower, arch_cpu.return_value, "e.ret");
}

/* What kprobe and kretprobe have in common. */
#define BY_KPROBE                                                                                                      \
    .program_type = BPF_PROG_TYPE_KPROBE, .kernel_memory = true, .of_kernel = true,                                    \
    .registers = REGISTERS_INTERRUPTED, .rounds = KERNEL_ROUNDS, .words = 8, .argument = arch_argument,                \
    .arguments = "argument", .ip = probe_kernel_function

const struct provider provider_kprobe = {
    .name = "kprobe",
    BY_KPROBE,
    .attach_as = attach_as,
    .fields = FIELDS,
    .at_return = &provider_kretprobe,
    .returning = "function",
};

const struct provider provider_kretprobe = {
    .name = "kretprobe",
    BY_KPROBE,
    .fields = FIELDS | FIELD(RETURN) | FIELD(ELAPSED) | FIELD(TAKEN_OFF),
    .result = result,
    .pairing = &pairing_by_map,
};
