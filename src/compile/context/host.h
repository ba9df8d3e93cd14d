/*
 * The values that a handler's function captures, as the compiler sees them without Lua: constants, functions to inline,
 * tables to look into, shared objects. src/lua/host.c implements it over a Lua state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "compile/context/ctype.h"

struct bytecode;

enum captured_kind {
    CAPTURED_NIL,
    CAPTURED_BOOLEAN,
    CAPTURED_NUMBER,
    CAPTURED_I64,
    CAPTURED_U64,
    CAPTURED_STRING,
    CAPTURED_FUNCTION, /* .handle: a Lua function, inlined where it is called */
    CAPTURED_TABLE,    /* .handle: its fields are captured in their turn */
    CAPTURED_OBJECT,   /* .handle: number of a shared object, from 0 */
    CAPTURED_CTYPE,    /* .handle: a C type, as ffi.typeof returns it */
    CAPTURED_BUILTIN,  /* .string: what the compiler knows it by, such as "i32" or "bit.band" */
    CAPTURED_OTHER,    /* .string: what it is, for a message: "a coroutine" */
};

struct captured {
    enum captured_kind kind;
    union {
        bool boolean;
        double number;
        int64_t i64;
        uint64_t u64;
        int handle;
        struct {
            const char *bytes;
            size_t length;
        } string; /* lives as long as the compilation */
    };
};

struct host {
    void *context;
    /* Upvalue INDEX of the function FUNCTION. */
    struct captured (*upvalue)(void *context, int function, unsigned index);
    /* Global NAME as FUNCTION sees it (its own environment table). */
    struct captured (*global)(void *context, int function, const char *name, size_t length);
    /* TABLE[KEY]; nil where absent. Does not run metamethods of tables other than uplua's own. */
    struct captured (*field)(void *context, int table, const struct captured *key);
    /* The decoded bytecode of FUNCTION, owned by the host; NULL with ERR filled for a C function and the
     * like. */
    const struct bytecode *(*bytecode)(void *context, int function, struct error *err);
    /*
     * The handler uses what upvalue, global or field has given last, at FILE:LINE, where it is called NAME ("limit",
     * "config.limit"): the user should hear of it if the script changes it later. NULL: nobody wants to know.
     */
    void (*used)(void *context, const char *name, const char *file, int line);
    const struct ctype_source *ctypes; /* its functions take the same context */
};
