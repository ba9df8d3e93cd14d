/*
 * s:find("text"): the place of the first of a constant's bytes in a string, without branches, which the verifier would
 * follow each by itself. At each place a number tells whether the text has not come yet, 1 or 0; their sum is the
 * place.
 *
 * The stack is read in aligned words only. So what stands at a place is made of one or two words, in pieces of 7 bytes:
 * what is left of a word tells by its sign whether two pieces differ.
 */
#include "compile/lower/lower.h"

#include <string.h>

enum { WORD = 8, PIECE = 7 };

/* What looks for the text, and the last words that it has loaded. */
struct search {
    struct program *program;
    struct operand base;
    const struct captured *text;
    struct operand words[2], pieces[1024 / PIECE];
    int64_t loaded[2]; /* their numbers; -1: none */
};

/* Word NUMBER of the string. */
static struct operand word_at(struct search *search, int64_t number)
{
    int64_t i = number % 2;
    if (search->loaded[i] != number) {
        search->words[i] = machine_load(search->program, BPF_DW, search->base, number * WORD);
        search->loaded[i] = number;
    }
    return search->words[i];
}

static struct operand shift(struct search *search, uint8_t code, struct operand word, uint32_t bytes)
{
    return bytes ? machine_alu(search->program, code, word, operand_immediate(8 * (int64_t)bytes)) : word;
}

static uint32_t piece_size(const struct search *search, uint32_t piece)
{
    size_t left = search->text->string.length - (size_t)piece * PIECE;
    return left < PIECE ? (uint32_t)left : PIECE;
}

/* The bytes of PIECE of the text, as the upper ones of a word. */
static struct operand wanted(struct search *search, uint32_t piece)
{
    uint64_t word = 0;
    uint32_t size = piece_size(search, piece);
    memcpy((char *)&word + WORD - size, search->text->string.bytes + (size_t)piece * PIECE, size);
    return machine_copy(search->program, operand_immediate((int64_t)word));
}

/* 0 where PIECE stands at byte AT of the string; in the upper 7 bytes of a word. */
static struct operand difference(struct search *search, uint32_t piece, uint32_t at)
{
    uint32_t size = piece_size(search, piece), within = at % WORD;
    struct operand word = shift(search, BPF_RSH, word_at(search, at / WORD), within);
    if (within + size > WORD) {
        struct operand next = shift(search, BPF_LSH, word_at(search, at / WORD + 1), WORD - within);
        word = machine_alu(search->program, BPF_OR, word, next);
    }
    return machine_alu(search->program, BPF_XOR, shift(search, BPF_LSH, word, WORD - size), search->pieces[piece]);
}

/* 1 where the text does not stand at byte AT, else 0. */
static struct operand is_elsewhere(struct search *search, uint32_t pieces, uint32_t at)
{
    struct program *program = search->program;
    struct operand different = difference(search, 0, at);
    for (uint32_t i = 1; i < pieces; i++)
        different = machine_alu(program, BPF_OR, different, difference(search, i, at + i * PIECE));
    different = machine_alu(program, BPF_RSH, different, operand_immediate(1));
    return machine_alu(program, BPF_RSH, machine_alu(program, BPF_SUB, operand_immediate(0), different),
                       operand_immediate(63));
}

void string_find(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    lower_require(lower, lower_place(lower, value->args[0]), "indexing nil");
    const struct place from = buffer_text(lower, value->args[0]);
    struct search search = {
        .program = program, .base = from.value, .text = &ir_value(value->args[1])->constant, .loaded = {-1, -1}};
    uint32_t length = (uint32_t)search.text->string.length, pieces = (length + PIECE - 1) / PIECE;
    uint32_t last = from.capacity - 1; /* the mark is no text */
    for (uint32_t i = 0; i < pieces; i++)
        search.pieces[i] = wanted(&search, i);
    struct operand missing = operand_immediate(1), place = operand_immediate(value->number);
    for (uint32_t at = (uint32_t)value->number - 1; at + length <= last; at++) {
        missing = machine_alu(program, BPF_AND, is_elsewhere(&search, pieces, at), missing);
        place = machine_alu(program, BPF_ADD, missing, place);
    }
    struct operand found = machine_alu(program, BPF_XOR, missing, operand_immediate(1));
    lower_place(lower, value)->present = found;
    lower_place(lower, value)->value = machine_alu(program, BPF_MUL, place, found);
}

void string_find_end(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    const struct place *found = lower_place(lower, value->args[0]);
    struct operand behind = machine_alu(program, BPF_MUL, found->present, operand_immediate(value->number));
    lower_place(lower, value)->present = found->present;
    lower_place(lower, value)->value = machine_alu(program, BPF_ADD, found->value, behind);
}
