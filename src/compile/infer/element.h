/* t[i] and t[i] = v of a handler's own tables, where i is computed: arrays of integers. */
#pragma once

#include "compile/infer/rules.h"

/* The type of VALUE (IR_GET_ELEMENT), an element of the array ARRAY. */
struct type element_get(struct inference *inference, const struct value *value, struct record *array);
/* Widens ARRAY for what SET (IR_SET_ELEMENT) stores into it, of type TYPE. */
void element_set(struct inference *inference, const struct value *set, struct record *array, struct type type);
