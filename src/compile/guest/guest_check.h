/* Whether somebody else's BPF object is sound enough to be handed to libbpf, which trusts what its sections and its BTF
 * refer to. */
#pragma once

/* What is wrong with the ELF file FD, a sentence's part, static; NULL: nothing that is known here. */
const char *guest_damage(int fd);
