/*
 * MiniDebugInfo: Fedora and its kin put the symbols of a stripped file's own functions into the file itself, as an ELF
 * file compressed by xz in the section .gnu_debugdata. What .dynsym has is not repeated there.
 */
#pragma once

#include "elf/elf_file.h"

/* A descriptor of the uncompressed file inside ELF; -ENOENT: there is none, -ENODATA: damaged, -EFBIG, -ENOMEM,
 * -errno. */
int mini_debug_info_open(const struct elf_file *elf);
