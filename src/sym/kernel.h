/* The kernel's own symbols: its functions and variables, those of modules, and BPF programs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct kernel;

/* Reads PATH, which has the form of /proc/kallsyms, when first asked. NULL without memory. */
struct kernel *kernel_new(const char *path);
void kernel_free(struct kernel *kernel);

/* True if ADDRESS lies in the kernel's half of the address space. */
bool kernel_has(uint64_t address);

/*
 * The name of what ADDRESS lies in, or NULL, with its distance from the start in *OFFSET and in *MODULE "[kernel]",
 * "[ext4]",
 * "[bpf]". Texts are KERNEL's, until the next call. Modules and BPF programs come and go: where none is known, the list
 * is read again if that was not done a moment ago. Names nothing where the kernel hides its addresses (kptr_restrict).
 */
const char *kernel_lookup(struct kernel *kernel, uint64_t address, uint64_t *offset, const char **module);

/*
 * Gets a FUNCTION of the kernel: its MODULE ("" for the kernel itself) and ADDRESS, 0 where that is hidden. Not 0 ends
 * the visit. The texts live during the call.
 */
typedef int kernel_visit(const char *function, const char *module, uint64_t address, void *context);

/* Gets in *ADDRESS where the first function or variable NAME of PATH, which has the form of /proc/kallsyms, is. 0,
 * -ENOENT: there is none, -EACCES: the kernel hides it, or -errno. */
int kernel_address(const char *path, const char *name, uint64_t *address);

/*
 * Visits the functions in PATH, which has the form of /proc/kallsyms, but for those of BPF and of probes. What the last
 * visit returned, or -errno where PATH cannot be read.
 */
int kernel_functions(const char *path, kernel_visit *visit, void *context);
