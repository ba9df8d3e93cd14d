/*
 * What bpf_get_attach_cookie gives a handler's program: the compiler reads what the attaching writes.
 *
 *   bits 0 … 13   which handler, where several were joined into one program (compile/object/merge.c); 0: it is alone
 *   bits 14, 15   what a hit there tells (enum cookie_role)
 *   bits 16 … 27  bytes between the function's entry and the probe (probe/spec/slide.h)
 *   bits 28, 29   how the kernel gets past the probe's instruction (enum entry of probe/probe.h)
 *   bits 30 … 46  number of the site among the handler's
 *   bits 47 … 57  by how many words the stack pointer is lower there than at the entry
 *   bits 58 … 63  number of the shape in which the site has what the handler reads (base/entry.h)
 */
#pragma once

/* What a hit tells of a function that jumps to its own first instruction (probe/reentry.h). */
enum cookie_role {
    COOKIE_CALL,     /* it is called, unless the hit before was one of … */
    COOKIE_REENTERS, /* … its first instruction comes next, unless this is a jump that is not taken: … */
    COOKIE_PASSED,   /* … then it is this instruction that comes next */
    COOKIE_REPEATS,  /* the first and the second in one: of an instruction that may be hit again and again */
};

enum {
    COOKIE_HANDLER_MASK = 0x3fff,
    COOKIE_ROLE_SHIFT = 14,
    COOKIE_ROLE_MASK = 3,
    COOKIE_SLID_SHIFT = 16,
    COOKIE_SLID_MASK = 0xfff,
    COOKIE_ENTRY_SHIFT = 28,
    COOKIE_ENTRY_MASK = 3,
    COOKIE_SITE_SHIFT = 30,
    COOKIE_SITE_MASK = 0x1ffff,
    COOKIE_MOVED_SHIFT = 47,
    COOKIE_MOVED_MASK = 0x7ff,
    COOKIE_SHAPE_SHIFT = 58,
    COOKIE_SHAPE_MASK = 0x3f,
};
