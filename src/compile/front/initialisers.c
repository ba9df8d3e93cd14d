/* Finds the fields of a fresh record that are set before anything reads the record: they need no presence bit. */
#include "compile/front/build.h"

/* True if USE, of the record that SET sets a field of, may look at it before. */
static bool may_come_before(const struct value *use, const struct value *set, const struct value *record)
{
    if (use->block->order < record->block->order) /* a phi, for another round */
        return false;
    return use->block == set->block ? use->at < set->at : !ir_dominates(set->block, use->block);
}

void build_mark_initialisers(struct function *function)
{
    ir_find_users(function);
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *set = block->first; set; set = set->next) {
            if (set->op != IR_SET_FIELD || set->args[0]->op != IR_RECORD)
                continue;
            const struct value *record = set->args[0];
            set->initialises = true;
            for (size_t i = 0; i < record->user_count && set->initialises; i++) {
                const struct value *use = record->users[i];
                bool sets = use->op == IR_SET_FIELD && use->args[0] == record && use->args[1] != record;
                set->initialises = sets || !may_come_before(use, set, record);
            }
        }
}
