/* Where a function returns to, as its caller has said, though a return probe of it, or of the function whose place it
 * has taken by a tail call, has put the kernel's own code there. Global to the verifier, as in aggregate.bpf.c. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "return_address.h"
#include "trampoline.h"

/*
 * LINK, the return address of a function that begins and that has it, or would have it, in SLOT of the stack; if that
 * is hidden, the address that the kernel keeps for it, 0 where none is found. FIELDS: TRAMPOLINE_FIELDS; CHAIN:
 * RETURN_CHAIN.
 */
__noinline long uplua_return_address(long link, long slot, long fields, long chain)
{
    enum { DEEPEST = 64 }; /* of the kernel: MAX_URETPROBE_DEPTH */
    if (!is_trampoline((__u64)link, (__u64)fields))
        return link;
    if (!chain)
        return 0;
    __u64 uprobes = kernel_word((__u64)bpf_get_current_task() + RETURN_CHAIN_UPROBES((__u64)chain));
    __u64 instance = uprobes ? kernel_word(uprobes + RETURN_CHAIN_RETURNS((__u64)chain)) : 0;
    for (int i = 0; i < DEEPEST && instance; i++) {
        if (kernel_word(instance + RETURN_CHAIN_STACK((__u64)chain)) == (__u64)slot)
            return (long)kernel_word(instance + RETURN_CHAIN_ORIGINAL((__u64)chain));
        instance = kernel_word(instance + RETURN_CHAIN_NEXT((__u64)chain));
    }
    return 0;
}
