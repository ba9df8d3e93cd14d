/* Where frames are at single instructions of a file, for who reads what lies in them. */
#pragma once

#include <stdint.h>

#include "elf/debug_file.h"
#include "elf/elf_file.h"

struct frame_rules;

/* The call frame information of ELF; SEARCH as in call_frames_read. NULL: there is none. frame_rules_close frees. */
struct frame_rules *frame_rules_open(const struct elf_file *elf, const struct debug_file_search *search);
void frame_rules_close(struct frame_rules *rules);

/*
 * The rule at the ELF address ADDRESS (bpf/unwind.h), in which the part of the frame pointer is of the register REG, by
 * its DWARF number. RULE_UNKNOWN: nothing tells. RULES may be NULL.
 */
uint64_t frame_rule(const struct frame_rules *rules, uint64_t address, unsigned reg);
