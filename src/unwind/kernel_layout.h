/* Where this kernel keeps what the walk reads of processes, mappings and files. */
#pragma once

#include "../bpf/unwind.h"

/* Fills in KERNEL's offsets from the kernel's BTF. They stay 0 where one that the walk needs is not there. */
void kernel_layout_read(struct unwind_kernel *kernel);
/* The same in the map MAP (uplua_unwind_kernel), where nobody loads tables but it is asked for programs. 0 or -errno.
 */
int kernel_layout_write(int map);
