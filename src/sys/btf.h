/* The kernel's own type information, read without libbpf: libbpf takes 11 ms and 11 MB to load it, a scan of the mapped
 * file under 1 ms. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* BTF id of the function NAME in /sys/kernel/btf/vmlinux, or a negative errno (-ENOENT: this kernel has none). */
int kernel_btf_function(const char *name);

/* A member of one of the kernel's structures. */
struct kernel_field {
    const char *type, *name;
    uint32_t offset; /* filled in: bytes */
};

/*
 * Fills in the offsets of COUNT fields; members of anonymous structures inside count as the structure's own. 0 or a
 * negative errno: -ENOENT where one of them does not exist in this kernel; its offset is UINT32_MAX, and those of the
 * others are filled in.
 */
int kernel_btf_fields(struct kernel_field *fields, size_t count);
