/* The rule at one instruction: the row of its function's call frame information. */
#include "unwind/frame_address.h"

#include <stdlib.h>

#include "unwind/call_frames.h"
#include "unwind/cfa.h"
#include "unwind/rules.h"

struct frame_rules {
    struct call_frames frames;
};

struct row_search {
    uint64_t address, rule;
};

static void take_row(void *context, uint64_t address, uint64_t rule)
{
    struct row_search *search = context;
    if (address <= search->address)
        search->rule = rule;
}

/* The FDE that describes ADDRESS: of those that do, the one that starts last; NULL: none does. */
static const struct fde *find_fde(const struct call_frames *frames, uint64_t address)
{
    size_t low = 0, high = frames->fde_count;
    while (low < high) { /* to the first that starts behind ADDRESS */
        size_t middle = low + (high - low) / 2;
        if (frames->fdes[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    while (low > 0 && frames->fdes[low - 1].end <= address)
        low--;
    while (low > 1 && frames->fdes[low - 2].start == frames->fdes[low - 1].start)
        low--;
    return low && address < frames->fdes[low - 1].end ? &frames->fdes[low - 1] : NULL;
}

struct frame_rules *frame_rules_open(const struct elf_file *elf, const struct debug_file_search *search)
{
    struct frame_rules *rules = calloc(1, sizeof *rules);
    struct error ignored = {0};
    if (!rules || !call_frames_read(&rules->frames, elf, search, &ignored))
        return rules;
    free(rules);
    return NULL;
}

void frame_rules_close(struct frame_rules *rules)
{
    if (rules)
        call_frames_free(&rules->frames);
    free(rules);
}

uint64_t frame_rule(const struct frame_rules *rules, uint64_t address, unsigned reg)
{
    struct row_search row = {.address = address, .rule = RULE_UNKNOWN};
    struct cfa_state initial;
    const struct fde *fde = rules ? find_fde(&rules->frames, address) : NULL;
    if (!fde || reg > UINT8_MAX)
        return RULE_UNKNOWN;
    struct cie cie = rules->frames.cies[fde->cie];
    struct arch_unwind arch = *cie.arch;
    arch.frame_pointer = (uint8_t)reg;
    cie.arch = &arch;
    if (cfa_start(&cie, &initial))
        cfa_run(&cie, fde, &initial, take_row, &row);
    return row.rule;
}
