/* The kernel's own type information, read without libbpf: libbpf takes 11 ms and 11 MB to load it, a scan of the mapped
 * file under 1 ms. */
#pragma once

/* BTF id of the function NAME in /sys/kernel/btf/vmlinux, or a negative errno (-ENOENT: this kernel has none). */
int kernel_btf_function(const char *name);
