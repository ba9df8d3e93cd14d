/* The stack of the machine that reads expressions of debug information (location.c): numbers of a running program. */
#pragma once

#include "sym/location.h"
#include "sym/location_list.h"

enum { LOCATION_DEEPEST_STACK = 16 };

extern const char location_not_understood[];

struct expression_machine {
    struct location_context *context;
    struct bytes at;
    struct location_number stack[LOCATION_DEEPEST_STACK];
    size_t depth;
    struct location_piece current; /* what the last operations say, if they say more than the stack */
    bool done;                     /* they do */
    const char *why;               /* it cannot be known */
    struct location *result;       /* whose terms the numbers are of */
};

/* Each sets MACHINE->why where it cannot be. */
void location_push(struct expression_machine *machine, struct location_number number);
struct location_number location_pop(struct expression_machine *machine);
struct location_number location_number_of(enum location_base base, unsigned reg, int64_t offset);
void location_push_constant(struct expression_machine *machine, uint64_t constant);
/* A constant of the type at OFFSET of the unit, behind which its bytes stand. */
void location_push_typed(struct expression_machine *machine, uint64_t offset);
void location_push_sum(struct expression_machine *machine, struct location_number number, int64_t constant);
/* SIZE bytes at the address NUMBER. */
void location_push_load(struct expression_machine *machine, struct location_number number, uint64_t size);
/* DW_OP_plus and others of two numbers. */
void location_binary(struct expression_machine *machine, unsigned operation);
/* DW_OP_convert, DW_OP_reinterpret: to the type at OFFSET of the unit, 0: one of an address. */
void location_convert(struct expression_machine *machine, uint64_t offset);
