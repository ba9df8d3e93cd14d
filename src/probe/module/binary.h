/* An ELF file that probes are put into: its functions, and where they lie in the file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/elf_file.h"
#include "probe/module/module.h"
#include "sym/maps.h"

struct binary;

/* Opens MODULE, which must be an executable or a library for this CPU, and which BINARY borrows. The caller closes
 * it. */
int binary_open(const struct module *module, struct binary **binary, struct error *err);
/* The file of separate debug information of BINARY: -ENOENT where there is none. The caller closes it. */
int binary_open_debug(const struct binary *binary, struct binary **debug);
/* The file that BINARY, which has debug information, shares some of it with. The same. */
int binary_open_common(const struct binary *binary, struct binary **common);
void binary_close(struct binary *binary);

/* Both are BINARY's: its headers, and the file that it was opened from. */
const struct elf_file *binary_elf(const struct binary *binary);
const struct module *binary_module(const struct binary *binary);

/* Bytes of the file from OFFSET into BUFFER: how many there are, at most SIZE. */
size_t binary_read(const struct binary *binary, uint64_t offset, void *buffer, size_t size);

/* File offset of the virtual ADDRESS, which must lie in an executable segment: 0, or -ENOENT. */
int binary_offset(const struct binary *binary, uint64_t address, uint64_t *offset);

/* How far BINARY lies from its own addresses in the process that has MAPS, in *BIAS; false: it has not mapped it. */
bool binary_bias(const struct binary *binary, const struct maps *maps, uint64_t *bias);

/* True for programs of the Go tool chain, which do not survive a hijacked return address. */
bool binary_is_go(const struct binary *binary);

/*
 * 1 if C++ exceptions, or Rust panics, may begin in its code or pass through it with cleanups. Its symbols tell that
 * it uses the unwinder. A static program without symbols counts if one of its functions catches.
 * Else 0; -ENOMEM.
 */
int binary_unwinds(const struct binary *binary);

/* 1 if a symbol of BINARY, imported or defined, is called NAME, else 0; -ENOMEM. */
int binary_has_name(const struct binary *binary, const char *name);

/* True if one of BINARY's sections has ADDRESS when it runs, or BINARY has no table of sections: what a linker has left
 * out has addresses outside of them, such as 0, where the file's header is. */
bool binary_has_place(const struct binary *binary, uint64_t address);
/* True if BINARY is a library that exports the variable at ADDRESS: another file's may take its place in a process. */
bool binary_shares_variable(const struct binary *binary, uint64_t address);

/* How far the first _Thread_local variable of BINARY is from each thread's pointer, in *OFFSET; false: it is a library,
 * which the loader puts anywhere, it has none, or this CPU's thread pointer is not to be had. */
bool binary_thread_block(const struct binary *binary, int64_t *offset);

/* A function's symbol. */
struct function_symbol {
    const char *name; /* NAME_LENGTH characters, without "@VERSION"; gone after the visit */
    size_t name_length;
    const char *version; /* NULL: none is known; gone after the visit */
    uint64_t address, size;
    bool typed;    /* its symbol says that it is a function; else a label in assembly, or */
    bool data;     /* a variable, which is visited for the sake of a good message */
    bool ifunc;    /* chooses an implementation at start: the address is that of the resolver */
    bool global;   /* global or weak */
    bool old;      /* a version that new programs are not linked against */
    unsigned file; /* which source file has it, as a number among those of .symtab; 0: not known, as of global ones */
};

/*
 * Calls VISIT for each function that the binary defines, in .symtab and in .dynsym (so most exported ones come twice),
 * until it returns non-zero, which is then returned.
 */
typedef int function_visit(const struct function_symbol *function, void *context);
int binary_functions(const struct binary *binary, function_visit *visit, void *context);
/* True if it has a .symtab: false for stripped files. */
bool binary_has_symbols(const struct binary *binary);
