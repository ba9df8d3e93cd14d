/* For the handlers in C: where an event's words are, and the count of what was lost that their Lua counterparts keep
 * unasked. */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define WORD(ctx, n) (((const __u64 *)(ctx))[n])

/* Of raw_syscalls:sys_enter. */
#define SYSTEM_CALL(ctx) WORD(ctx, 1)
#ifdef __TARGET_ARCH_arm64
#define GETPID 172
#else
#define GETPID 39
#endif

/* Of a uprobe: the words of the saved registers, as bpf_tracing.h has them. */
#if defined(__TARGET_ARCH_x86)
#define ARGUMENT0(ctx) WORD(ctx, 14)                 /* rdi */
#define ARGUMENT1(ctx) WORD(ctx, 13)                 /* rsi */
#define ARGUMENT2(ctx) WORD(ctx, 12)                 /* rdx */
#define ARGUMENT3(ctx) WORD(ctx, 11)                 /* rcx */
#define RETURNED(ctx) WORD(ctx, 10)                  /* rax */
#define ENTRY_STACK_POINTER(ctx) (WORD(ctx, 19) - 8) /* of the entry, seen from the return */
#elif defined(__TARGET_ARCH_arm64)
#define ARGUMENT0(ctx) WORD(ctx, 0)
#define ARGUMENT1(ctx) WORD(ctx, 1)
#define ARGUMENT2(ctx) WORD(ctx, 2)
#define ARGUMENT3(ctx) WORD(ctx, 3)
#define RETURNED(ctx) WORD(ctx, 0)
#define ENTRY_STACK_POINTER(ctx) WORD(ctx, 31)
#endif

/* What was lost, by cause. */
__u64 ledger[8];
#define LOSE(cause) __sync_fetch_and_add(&ledger[cause], 1)

/* A uprobe's handler leaves out uplua itself. */
#define UPLUA 4242

char _license[] SEC("license") = "GPL";
