/*
 * USDT probes without a package: what the macros of sys/sdt.h write, for programs built with gcc or clang.
 *
 *   __asm__ volatile(USDT("app", "request", "-4@%0 8@%1")::"nor"(length), "nor"(path));
 *
 * puts a nop there and a note into .note.stapsdt that says where it is and where its arguments are: so many bytes each,
 * negative if signed, "f" for a fraction, in whatever register, memory or constant the compiler chooses. USDT_GUARDED
 * also names an unsigned short, in the section .probes, that tracers keep above 0: what only they need can be computed
 * behind `if (app_request_semaphore)`.
 */
#ifndef USDT_H
#define USDT_H

#define USDT(provider, name, arguments) USDT_GUARDED(provider, name, "0", arguments)
#define USDT_GUARDED(provider, name, semaphore, arguments)                                                             \
    "990: nop\n"                                                                                                       \
    ".pushsection .note.stapsdt, \"\", \"note\"\n"                                                                     \
    ".balign 4\n"                                                                                                      \
    ".4byte 992f-991f, 994f-993f, 3\n"                                                                                 \
    "991: .asciz \"stapsdt\"\n"                                                                                        \
    "992: .balign 4\n"                                                                                                 \
    "993: .8byte 990b, _.stapsdt.base, " semaphore "\n"                                                                \
    ".asciz \"" provider "\"\n"                                                                                        \
    ".asciz \"" name "\"\n"                                                                                            \
    ".asciz \"" arguments "\"\n"                                                                                       \
    "994: .balign 4\n"                                                                                                 \
    ".popsection\n"                                                                                                    \
    ".ifndef _.stapsdt.base\n"                                                                                         \
    ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"                                        \
    ".weak _.stapsdt.base\n"                                                                                           \
    ".hidden _.stapsdt.base\n"                                                                                         \
    "_.stapsdt.base: .space 1\n"                                                                                       \
    ".size _.stapsdt.base, 1\n"                                                                                        \
    ".popsection\n"                                                                                                    \
    ".endif\n"

#endif
