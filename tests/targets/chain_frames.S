/*
 * Frames written by hand, that only DWARF expressions describe. Each calls mark.
 *
 *   expression    the caller's stack pointer is in memory, as in libcrypto
 *   saves         also the places of the caller's frame pointer and return address are expressions; the frame pointer
 *                 holds something else during the call
 *   holds         the same, said by expressions for the registers' values
 *
 *   take          calls nothing: its first instruction reads from the address that is its argument
 */
    .text

    .macro begin name
    .globl \name
    .type \name, %function
\name:
    .cfi_startproc
    .endm

    .macro end name
    .cfi_endproc
    .size \name, .-\name
    .endm

#ifdef __x86_64__

    .macro enter
    movq %rsp, %rax
    .cfi_def_cfa_register %rax
    subq $1000, %rsp
    andq $-64, %rsp
    movq %rax, 24(%rsp)
    .endm

    .macro leave_frame
    movq 24(%rsp), %rsp
    .cfi_def_cfa %rsp, 8
    ret
    .endm

    .macro clobber
    movq %rbp, 32(%rsp)
    .cfi_escape 0x0f, 7, 0x77, 16, 0x38, 0x22, 0x06, 0x23, 8 /* CFA = *(rsp + 16 + 8) + 8 */
    .endm

    .macro restore_frame
    movq 32(%rsp), %rbp
    .cfi_restore %rbp
    .cfi_offset %rip, -8
    leave_frame
    .endm

    begin expression
    enter
    .cfi_escape 0x0f, 5, 0x77, 24, 0x06, 0x23, 8 /* CFA = *(rsp + 24) + 8 */
    call mark
    leave_frame
    end expression

    begin saves
    enter
    clobber
    .cfi_escape 0x10, 6, 2, 0x77, 32       /* rbp at rsp + 32 */
    .cfi_escape 0x10, 16, 3, 0x11, 0x78, 0x22 /* rip at CFA + (-8) */
    xorl %ebp, %ebp
    call mark
    restore_frame
    end saves

    begin holds
    enter
    clobber
    .cfi_escape 0x16, 6, 3, 0x77, 32, 0x06    /* rbp = *(rsp + 32) */
    .cfi_escape 0x16, 16, 3, 0x38, 0x1c, 0x06 /* rip = *(CFA - 8) */
    xorl %ebp, %ebp
    call mark
    restore_frame
    end holds

    begin take
    movq (%rdi), %rax
    ret
    end take

#else

    .macro enter
    mov x9, sp
    stp x29, x30, [sp, #-48]!
    .cfi_def_cfa_offset 48
    .cfi_offset x29, -48
    .cfi_offset x30, -40
    str x9, [sp, #24]
    .endm

    .macro leave_frame
    ldp x29, x30, [sp], #48
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .endm

    begin expression
    enter
    .cfi_escape 0x0f, 3, 0x8f, 24, 0x06 /* CFA = *(sp + 24) */
    bl mark
    leave_frame
    end expression

    begin saves
    enter
    .cfi_escape 0x0f, 5, 0x8f, 16, 0x38, 0x22, 0x06 /* CFA = *(sp + 16 + 8) */
    .cfi_escape 0x10, 29, 2, 0x8f, 0                /* x29 at sp */
    .cfi_escape 0x10, 30, 3, 0x11, 0x58, 0x22       /* x30 at CFA + (-40) */
    mov x29, xzr
    bl mark
    leave_frame
    end saves

    begin holds
    enter
    .cfi_escape 0x0f, 5, 0x8f, 16, 0x38, 0x22, 0x06 /* CFA = *(sp + 16 + 8) */
    .cfi_escape 0x16, 29, 3, 0x8f, 0, 0x06          /* x29 = *sp */
    .cfi_escape 0x16, 30, 4, 0x08, 40, 0x1c, 0x06   /* x30 = *(CFA - 40) */
    mov x29, xzr
    bl mark
    leave_frame
    end holds

    begin take
    ldr x0, [x0]
    ret
    end take

#endif

    .section .note.GNU-stack, "", %progbits
