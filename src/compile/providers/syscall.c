/* syscall and sysreturn: run where a thread enters the kernel by a system call, and where it leaves it. */
#include <linux/bpf.h>

#include "compile/lower/lower.h"
#include "compile/lower/pairing.h"
#include "compile/providers/providers.h"

enum { FIELDS = FIELDS_OF_THREAD | FIELD(FUNC) | FIELD(CALL) | FIELD(STACK_POINTER) };

/* What has come of the call, as its pairing knows. */
static struct operand result(struct lower *lower)
{
    return lower->result;
}

/* What syscall and sysreturn have in common. */
#define BY_SYSCALL                                                                                                     \
    .program_type = BPF_PROG_TYPE_TRACEPOINT, .registers = REGISTERS_THREAD, .rounds = KERNEL_ROUNDS,                  \
    .arguments = "argument", .numbered = true

const struct provider provider_syscall = {
    .name = "syscall",
    BY_SYSCALL,
    .fields = FIELDS,
    .at_return = &provider_sysreturn,
    .returning = "call",
};

const struct provider provider_sysreturn = {
    .name = "sysreturn",
    BY_SYSCALL,
    .fields = FIELDS | FIELD(RETURN) | FIELD(ELAPSED) | FIELD(TAKEN_OFF),
    .result = result,
    .word_result = true,
    .pairing = &pairing_of_syscall,
};
