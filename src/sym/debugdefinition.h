/*
 * Structs, unions and classes that a unit of a program's DWARF only declares: where another unit of the same file
 * defines them. clang defines a class only where its constructors or virtual functions are, and gcc what a header only
 * names.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>

/*
 * The definition in *RESULT of what DECLARATION declares, by its name and those of the namespaces and classes around
 * it. False: its file has none; or several that differ, as C may, of which nothing says which is meant; or it belongs
 * to a function or an unnamed namespace, which no other unit has. Only within a question (sym/debugentry.h).
 */
bool debugdefinition_find(Dwarf_Die *declaration, Dwarf_Die *result);
