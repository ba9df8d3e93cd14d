/*
 * Sections of files that have none. What runs needs no section table (`llvm-objcopy --strip-sections`, packers): the
 * loader goes by segments and by what PT_DYNAMIC says ("System V Application Binary Interface", chapter 5). Of that
 * sections are made, under the names that linkers give them, so that whoever reads a file asks only for sections.
 */
#pragma once

#include "elf/elf_file.h"

/*
 * Gives ELF, which has segments and no sections, those that these tell of: the dynamic symbols, their names and
 * versions, relocations, notes, and the segments of code, each as a .text. Sets elf->made_up where there are any. 0, or
 * -ENOMEM.
 */
int dynamic_sections_make(struct elf_file *elf);
