/* Where the kernel keeps the return addresses that return probes have taken the place of. */
#pragma once

/*
 * Five offsets as one number, 0 where they are not known, or too large: UPROBES in struct task_struct: utask; RETURNS
 * in struct uprobe_task: return_instances; in struct return_instance STACK: stack, ORIGINAL: orig_ret_vaddr, NEXT: next
 * (include/linux/uprobes.h).
 */
#define RETURN_CHAIN(uprobes, returns, stack, original, next)                                                          \
    ((uprobes) >> 16 || ((returns) | (stack) | (original) | (next)) >> 12                                              \
         ? 0                                                                                                           \
         : (unsigned long long)(uprobes) | (unsigned long long)(returns) << 16 | (unsigned long long)(stack) << 28 |   \
               (unsigned long long)(original) << 40 | (unsigned long long)(next) << 52)
#define RETURN_CHAIN_UPROBES(chain) ((chain)&0xffff)
#define RETURN_CHAIN_RETURNS(chain) ((chain) >> 16 & 0xfff)
#define RETURN_CHAIN_STACK(chain) ((chain) >> 28 & 0xfff)
#define RETURN_CHAIN_ORIGINAL(chain) ((chain) >> 40 & 0xfff)
#define RETURN_CHAIN_NEXT(chain) ((chain) >> 52)
