/* CPU-specific parts of the BPF library: the place of the user's registers in a probe's context, and the form of an
 * address. */
#pragma once

#include <linux/types.h>

#define CONTEXT_WORD(ctx, index) (((const __u64 *)(ctx))[index])

#if defined(__TARGET_ARCH_x86)

/* struct pt_regs: r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss */
#define CONTEXT_FRAME_POINTER(ctx) CONTEXT_WORD(ctx, 4)
#define CONTEXT_INSTRUCTION(ctx) CONTEXT_WORD(ctx, 16)
#define CONTEXT_STACK_POINTER(ctx) CONTEXT_WORD(ctx, 19)
#define CONTEXT_LINK(ctx) 0
/* The call has pushed the return address. */
#define RETURN_ADDRESS_ON_STACK 1
#define DWARF_STACK_POINTER 7
#define DWARF_FRAME_POINTER 6
/* Below the CFA, where a function keeps a frame pointer: its return address and its caller's frame pointer. */
#define FRAME_RECORD_LINK -8
#define FRAME_RECORD_FRAME -16
/* struct rt_sigframe: from the stack pointer of a signal's trampoline to the registers in its ucontext. */
#define SIGNAL_FRAME_POINTER 120
#define SIGNAL_STACK_POINTER 160
#define SIGNAL_INSTRUCTION 168
/*
 * Where the register with a DWARF number below 16 is, in words: in struct pt_regs (there is no stack pointer in them),
 * and from SIGNAL_REGISTERS on behind that stack pointer.
 */
#define CONTEXT_REGISTERS 16
#define CONTEXT_REGISTER(number) (0x01236789f4ed5bcaull >> 4 * (number)&15)
#define SIGNAL_REGISTERS 40
#define SIGNAL_REGISTER(number) (0x76543210fa89becdull >> 4 * (number)&15)
#define SIGNAL_TRAMPOLINE 0x0f0000000fc0c748ull /* its code begins with: mov $15, %rax; syscall */
/* int3, behind which the kernel has a thread until it finds out whose breakpoint it was. */
#define BREAKPOINT 0xcc
#define BREAKPOINT_SIZE 1
/*
 * The kernel's code that calls it for a uprobe (trampoline.h): its first eight bytes, and how many words it has pushed,
 * two bits for each of its bytes. What a function with a return probe returns to (Linux 6.11): push %rax, %rcx, %r11;
 * mov $335, %rax; syscall; pop %r11, %rcx; ret. What a probed nop calls (6.18): push %rcx, %r11, %rax; mov $336, %rax;
 * syscall; pop %rax, %r11, %rcx; ret.
 */
#define HAS_TRAMPOLINES 1
#define RETURN_TRAMPOLINE 0x4fc0c74853415150ull
#define RETURN_TRAMPOLINE_PUSHED 0x1bfffffa4ull
#define CALL_TRAMPOLINE 0x50c0c74850534151ull
#define CALL_TRAMPOLINE_PUSHED 0x1afffff94ull
#define TRAMPOLINE_SIZE 18
#define TRAMPOLINE_SYSCALL_END 13
#define CALL_SIZE 5
/* CODE, eight bytes, ends with a call: e8 and a distance, or ff /2 with a register or a place in memory. */
#define CODE_BYTE(code, back) ((code) >> (64 - 8 * (back)) & 255)
#define ENDS_WITH_FF_2(code, size) (CODE_BYTE(code, size) == 0xff && (CODE_BYTE(code, (size)-1) & 0x38) == 0x10)
#define ENDS_WITH_CALL(code)                                                                                           \
    (CODE_BYTE(code, 5) == 0xe8 || ENDS_WITH_FF_2(code, 2) || ENDS_WITH_FF_2(code, 3) || ENDS_WITH_FF_2(code, 4) ||    \
     ENDS_WITH_FF_2(code, 6) || ENDS_WITH_FF_2(code, 7))
/* Of a system call: in the registers with which the thread is in the kernel, byte offsets of its number, of the
 * instruction behind the one that enters, and of the stack pointer. */
#define REGISTERS_CALL 120
#define REGISTERS_INSTRUCTION 128
#define REGISTERS_STACK_POINTER 152
#define CALL_RT_SIGRETURN 15
#define CALL_EXECVE 59
#define CALL_RESTART_SYSCALL 219
#define CALL_EXECVEAT 322
#define CALL_READ 0
#define IS_FORK(call) ((call) >= 56 && (call) <= 58 || (call) == 435) /* clone, fork, vfork, clone3 */
#define SYSTEM_CALL_SIZE 2                                            /* bytes of the instruction */
/* From the stack pointer of rt_sigreturn to where the signal's frame has the program's own, and where it goes on. */
#define FRAME_STACK_POINTER 160
#define FRAME_INSTRUCTION 168
/* The word of a task, which begins with its thread_info, in which a bit says that it has a filter of seccomp. */
#define THREAD_WORK 8
#define THREAD_WORK_SECCOMP 0       /* SYSCALL_WORK_SECCOMP */
#define USER_ADDRESSES (1ull << 56) /* with five levels of page tables; 47 bits with four */
#define SIGNS_RETURN_ADDRESSES 0
/* The highest page of user space (trampoline.h). Above it one page stays free (TASK_SIZE_MAX). */
#define IS_HIGHEST_PAGE(address)                                                                                       \
    ((address) >> 12 == ((1ull << 47) - 8192) >> 12 || (address) >> 12 == ((1ull << 56) - 8192) >> 12)

#elif defined(__TARGET_ARCH_arm64)

/* struct user_pt_regs: x0 … x30, sp, pc, pstate */
#define CONTEXT_FRAME_POINTER(ctx) CONTEXT_WORD(ctx, 29)
#define CONTEXT_LINK(ctx) CONTEXT_WORD(ctx, 30)
#define CONTEXT_STACK_POINTER(ctx) CONTEXT_WORD(ctx, 31)
#define CONTEXT_INSTRUCTION(ctx) CONTEXT_WORD(ctx, 32)
#define RETURN_ADDRESS_ON_STACK 0
#define DWARF_STACK_POINTER 31
#define DWARF_FRAME_POINTER 29
/* A frame record may be anywhere in its frame: what is called the CFA here is its end. */
#define FRAME_RECORD_LINK -8
#define FRAME_RECORD_FRAME -16
/* struct rt_sigframe: siginfo, and in its ucontext the struct sigcontext. */
#define SIGNAL_FRAME_POINTER 544
#define SIGNAL_LINK 552
#define SIGNAL_STACK_POINTER 560
#define SIGNAL_INSTRUCTION 568
/* As above. */
#define CONTEXT_REGISTERS 31
#define CONTEXT_REGISTER(number) (number)
#define SIGNAL_REGISTERS 312
#define SIGNAL_REGISTER(number) (number)
#define SIGNAL_TRAMPOLINE 0xd4000001d2801168ull /* mov x8, #139; svc #0 */
/* CODE, two instructions, ends with a call: BL, BLR, BLRAA and their like. */
#define ENDS_WITH_CALL(code)                                                                                           \
    (((code) >> 32 & 0xfc000000) == 0x94000000 || ((code) >> 32 & 0xfffff000 & ~0x01000000ull) == 0xd63f0000)
/* Uprobes are breakpoints; the kernel has a thread on them. */
#define HAS_TRAMPOLINES 0
#define BREAKPOINT_SIZE 0
#define CALL_SIZE 4
/* Of a system call, as above: behind struct user_pt_regs are the first argument, orig_x0, and the number. */
#define REGISTERS_CALL 280
#define REGISTERS_INSTRUCTION 256
#define REGISTERS_STACK_POINTER 248
#define CALL_RESTART_SYSCALL 128
#define CALL_RT_SIGRETURN 139
#define CALL_EXECVE 221
#define CALL_EXECVEAT 281
#define CALL_READ 63
#define IS_FORK(call) ((call) == 220 || (call) == 435)
#define SYSTEM_CALL_SIZE 4
#define FRAME_STACK_POINTER 560
#define FRAME_INSTRUCTION 568
#define THREAD_WORK 0
#define THREAD_WORK_SECCOMP 11      /* TIF_SECCOMP */
#define USER_ADDRESSES (1ull << 52) /* the kernel can be built for 36, 39, 42, 47, 48 and 52 bits */
/* In the bits above those; which they are is in the masks of arch_code_mask. */
#define SIGNS_RETURN_ADDRESSES 1
/* As above: of 36 bits or more; pages have 4 to 64 KiB. */
#define IS_HIGHEST_PAGE(address) ((address) >> 35 && !(((address) | 0xffff) & (((address) | 0xffff) + 1)))

#else
#error "define __TARGET_ARCH_x86 or __TARGET_ARCH_arm64"
#endif

/* The return address ADDRESS without its signature. MASK: that of arch_code_mask. */
#define CODE_ADDRESS(address, mask) (SIGNS_RETURN_ADDRESSES ? (address) & (mask) : (address))
