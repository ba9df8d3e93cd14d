/* The kernel's BTF in memory, for btf.c and kernel_types.c; and how long the types of any BTF are. */
#pragma once

#include <linux/btf.h>
#include <stddef.h>
#include <stdint.h>

/* The file's two sections. */
struct kernel_btf {
    const uint8_t *types, *types_end;
    const char *strings;
    size_t strings_size;
    uint8_t *mapped, *copy; /* where they lie: a mapping of MAPPED_SIZE bytes, or allocated */
    size_t mapped_size;
};

/* Opens /sys/kernel/btf/vmlinux: 0 or a negative errno. */
int btf_open(struct kernel_btf *btf);
void btf_close(struct kernel_btf *btf);
/* Bytes that follow the struct btf_type of TYPE; -1 for a kind that we do not know. */
ptrdiff_t btf_extra_bytes(const struct btf_type *type);
/* All types by their ids, in an array (malloc) of *COUNT; [0] is NULL: void. NULL if out of memory. */
const struct btf_type **btf_index(const struct kernel_btf *btf, size_t *count);
/* The string at OFFSET, "" for a bad one; and the offset of a string, 0 where there is none. */
const char *btf_string(const struct kernel_btf *btf, uint32_t offset);
uint32_t btf_find_string(const struct kernel_btf *btf, const char *string);
