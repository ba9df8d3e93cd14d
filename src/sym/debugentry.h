/*
 * libdw's entries, for the files of src/sym that read them. What a file says is not to be trusted: references and
 * siblings may go in circles, so that each way along them has an end. Who goes along some asks a question: it passes a
 * bounded number of entries.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

enum { DEBUGENTRY_DEEPEST = 32 }; /* references one after the other, and entries inside each other */

/* Begins a question, which debugentry_end() ends; questions may be asked to answer one. False: there are too many
 * inside each other. */
bool debugentry_begin(void);
void debugentry_end(void);
/* Goes on to the next entry beside ENTRY; false: there is none, or the question has passed too many. */
bool debugentry_next(Dwarf_Die *entry);

/* The attribute NAME of ENTRY itself as a number; false: there is none. */
bool debugentry_number(Dwarf_Die *entry, unsigned name, Dwarf_Word *number);
/* True if ENTRY has the attribute NAME, and it is not false. */
bool debugentry_flag(Dwarf_Die *entry, unsigned name);
/* The entry that attribute NAME of ENTRY refers to; what has only a type's signature stands for the type. */
bool debugentry_referred(Dwarf_Die *entry, unsigned name, Dwarf_Die *result);
/* The same of the type of ENTRY, or of what it is an instance or the definition of. */
bool debugentry_type(Dwarf_Die *entry, Dwarf_Die *result);
/* What the source has of the function that ENTRY is an instance, or the definition, of. */
Dwarf_Die debugentry_root(Dwarf_Die entry);
/* What the linker calls the function ROOT, of that kind; NULL: it knows it not, since it is local to its unit. */
const char *debugentry_linkage_name(Dwarf_Die *root);
/* True if functions with code can be inside of an entry with this tag. */
bool debugentry_holds_functions(int tag);
/* True for a struct, union or class. */
bool debugentry_is_structure(int tag);
/* True if UNIT is of C++, in which a name means the same type in all units. */
bool debugentry_is_cpp(Dwarf_Die *unit);

/* The number (sym/debugtypes.h) of the type that ENTRY, a pointer, a field, a variable …, has; 0: none, so void. */
uint32_t debugtype_of(Dwarf_Die *entry);
/* The entry of the type NUMBER without its other names, a declaration replaced by what it declares; false: void. */
bool debugtype_entry(uint32_t number, Dwarf_Die *entry);
/* True if A and B are one and the same type: a named struct, union, enum, typedef or number of one file, seen in two of
 * its units. */
bool debugtype_same(Dwarf_Die *a, Dwarf_Die *b);
