/* The distinct rules of all unwind tables: numbers for rows. Twelve large binaries have 1,115 of them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../bpf/unwind.h"

struct unwind_rules {
    uint64_t *items; /* by number; 0 and 1 are RULE_UNKNOWN and RULE_END */
    size_t count, capacity;
    uint32_t *buckets; /* open addressing: numbers, 0 is free */
    size_t bucket_count;
};

/* 0 or -ENOMEM. */
int unwind_rules_init(struct unwind_rules *rules);
void unwind_rules_free(struct unwind_rules *rules);

/* The number of RULE, which is added if it is new. Where there is no number or memory left: 0, RULE_UNKNOWN's. */
uint32_t unwind_rules_number(struct unwind_rules *rules, uint64_t rule);

/* The rule with these parts (bpf/unwind.h); RULE_UNEXPRESSED where one of them does not fit. FRAME and LINK in bytes.
 */
uint64_t unwind_rule(enum rule_kind kind, uint64_t base, int64_t offset, int64_t frame, int64_t link);
/* The same of the kinds that read the CFA at base + OFFSET and add ADDEND. */
uint64_t unwind_rule_deref(enum rule_kind kind, uint64_t base, int64_t offset, int64_t addend, int64_t frame,
                           int64_t link);
