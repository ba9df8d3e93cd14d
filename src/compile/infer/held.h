/* The types of shared objects' keys and values, before handlers use them and after (infer.c widens them in between). */
#pragma once

#include <stdbool.h>

#include "compile/context/compiler.h"

/* OBJECT as messages name it. */
const char *held_name(const struct shared *object);

/* Gives all objects the types that they have without any handler. */
void held_start(struct compiler *compiler);

/* A handler takes BASE for a record: the map of whose values it is one, if it is, holds no integers. */
void held_index(struct compiler *compiler, struct value *base);

/*
 * Those objects of the kinds FIRST to LAST of whose values no handler has told more than that something is added to
 * them, or that they are asked for, hold integers: 0 at first where they are always there, else what the script will
 * store. Returns whether there are such.
 */
bool held_assume_integers(struct compiler *compiler, enum object_kind first, enum object_kind last);

/* Lays the records out that keys and values are. Ends with compile_fail where one cannot be. */
void held_lay_out(struct compiler *compiler);
