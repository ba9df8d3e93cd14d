/*
 * BPF objects that somebody else has compiled, brought along: opened, changed as long as they are not loaded, and
 * loaded by libbpf.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stddef.h>

#include "base/error.h"

struct guest;

/* Opens the object file PATH. The caller frees. 0, or -errno with the reason in ERR: no such file, no BPF object,
 * damaged. */
int guest_open(const char *path, struct guest **guest, struct error *err);
void guest_free(struct guest *guest);

/* libbpf's object, which GUEST owns: programs that are not to be loaded have their autoload switched off. */
struct bpf_object *guest_object(const struct guest *guest);

/* Loads it. 0, or -errno with the reason in ERR, and the end of the verifier's log. It cannot be tried a second
 * time. */
int guest_load(struct guest *guest, struct error *err);

/*
 * The variables of SECTION (".rodata", ".data", ".bss"), *SIZE bytes: what they begin with, to be written to, until
 * GUEST is loaded; then, but for .rodata, those that the programs see. GUEST owns them. NULL: it has none.
 */
void *guest_data(const struct guest *guest, const char *section, size_t *size);
