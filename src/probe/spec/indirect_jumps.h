/*
 * The jumps of a function that say by a register or by memory where they go: whether all of their targets are known.
 *
 * A target that is read as a whole word, or that the function was given, is an address that the file has somewhere: the
 * loader's relocations, words of data, or instructions tell which there are (struct slide_code's limit). A target that
 * is the sum of a place and of a distance that lies there (`lea t(%rip), %rdx; movslq (%rdx,%rdi,4), %rax;
 * add %rdx, %rax`) is told by the table at that place, which some instruction of the file mentions. Any other sum may
 * be anything.
 */
#pragma once

#include "probe/spec/slide.h"

/* A table of distances from BASE that lies at TABLE. */
typedef void jump_table_visit(uint64_t table, uint64_t base, void *context);

/*
 * Whether the targets of all indirect jumps of CODE's function are known by the file's addresses and by tables of
 * distances from themselves. VISIT gets tables of distances from elsewhere, besides.
 */
bool indirect_jumps_known(const struct arch_code *arch, const struct slide_code *code, jump_table_visit *visit,
                          void *context);
