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
    uint32_t *marks; /* after btf_index: where each of the types 1, 1 + BTF_MARKED and so on lies */
    size_t count;    /* of types, with [0]: void */
};

/* A pointer to each type would be a megabyte to write at each start, which takes longer than to go from mark to mark.
 */
enum { BTF_MARKED = 16 };

/* Opens /sys/kernel/btf/vmlinux: 0 or a negative errno. */
int btf_open(struct kernel_btf *btf);
void btf_close(struct kernel_btf *btf);
/* Bytes that follow the struct btf_type of TYPE; -1 for a kind that we do not know. */
ptrdiff_t btf_extra_bytes(const struct btf_type *type);
/* The type behind TYPE, the first one behind NULL; NULL at the end, or where the kernel is newer than we are. */
const struct btf_type *btf_next(const struct kernel_btf *btf, const struct btf_type *type);
/* Prepares btf_type: 0, or -ENOMEM. */
int btf_index(struct kernel_btf *btf);
/* The type of that id, NULL for void and where there is none. */
const struct btf_type *btf_type(const struct kernel_btf *btf, uint32_t id);
/* The string at OFFSET, "" for a bad one; and the offset of a string, 0 where there is none. */
const char *btf_string(const struct kernel_btf *btf, uint32_t offset);
uint32_t btf_find_string(const struct kernel_btf *btf, const char *string);
