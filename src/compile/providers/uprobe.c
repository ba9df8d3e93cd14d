/* uprobe and uretprobe: run when a function of a program is entered, and when it returns. */
#include <linux/bpf.h>

#include "arch/arch.h"
#include "compile/lower/lower.h"
#include "compile/lower/pairing.h"
#include "compile/providers/providers.h"
#include "sys/bpf.h"
#include "sys/feature.h"

enum {
    FIELDS = FIELDS_OF_THREAD | FIELD(FUNC) | FIELD(IP) | FIELD(STACK_POINTER) | FIELD(CALLER),
};

uint32_t providers_attach_uprobe(bool at_entry)
{
    (void)at_entry;
    return feature_available(FEATURE_UPROBE_MULTI) ? ATTACH_TYPE_UPROBE_MULTI : 0; /* at returns the same */
}

static struct operand result(struct lower *lower)
{
    return probe_context_word(lower, arch_cpu.return_value, "e.ret");
}

/* What uprobe and uretprobe have in common. */
#define BY_UPROBE                                                                                                      \
    .program_type = BPF_PROG_TYPE_KPROBE, .attach_as = providers_attach_uprobe, .sleeps = true,                        \
    .registers = REGISTERS_USER, .rounds = USER_ROUNDS, .words = 8, .argument = arch_argument,                         \
    .arguments = "argument", .ip = probe_instruction

const struct provider provider_uprobe = {
    .name = "uprobe",
    BY_UPROBE,
    .fields = FIELDS,
    .variables = true,
    .at_return = &provider_uretprobe,
    .returning = "function",
};

const struct provider provider_uretprobe = {
    .name = "uretprobe",
    BY_UPROBE,
    .measured = true,
    .fields = FIELDS | FIELD(RETURN) | FIELD(ELAPSED) | FIELD(TAKEN_OFF),
    .result = result,
    .pairing = &pairing_by_storage,
};
