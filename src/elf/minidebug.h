/*
 * MiniDebugInfo: Fedora and its kin put the symbols of a stripped file's own functions into the file itself, as an ELF
 * file compressed by xz in the section .gnu_debugdata. What .dynsym has is not repeated there.
 */
#ifndef UPLUA_ELF_MINIDEBUG_H
#define UPLUA_ELF_MINIDEBUG_H

#include "elf/elffile.h"

/* A descriptor of the uncompressed file inside ELF; -ENOENT: there is none, -ENODATA: damaged, -EFBIG, -ENOMEM,
 * -errno. */
int minidebug_open(const struct elffile *elf);

#endif
