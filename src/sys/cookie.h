/*
 * What bpf_get_attach_cookie gives a handler's program: the compiler reads what the attaching writes.
 *
 *   bits 0 … 15   which handler, where several were joined into one program (compile/object/merge.c); 0: it is alone
 *   bits 16 … 31  bytes between the function's entry and the probe (probe/spec/slide.h)
 *   bits 32, 33   how the kernel gets past the probe's instruction (enum entry of probe/probe.h)
 *   bits 34 …     number of the site among the handler's
 */
#pragma once

enum {
    COOKIE_HANDLER_MASK = 0xffff,
    COOKIE_SLID_SHIFT = 16,
    COOKIE_SLID_MASK = 0xffff,
    COOKIE_ENTRY_SHIFT = 32,
    COOKIE_ENTRY_MASK = 3,
    COOKIE_SITE_SHIFT = 34,
};
