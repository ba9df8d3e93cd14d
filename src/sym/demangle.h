/* Symbol names of an ELF file → names for people. */
#pragma once

enum { DEMANGLE_MAX = 4096 };

/*
 * C++ and both of Rust's schemes demangled (Rust's legacy names without their hash), "@VERSION" dropped, made safe by
 * `text_escape`. A malloc'd string, or NULL if there is no memory.
 */
char *demangle(const char *name);

/* The same without the types of parameters and results, "ns::Klass::method"; NULL also where NAME is not mangled. */
char *demangle_bare(const char *name);

/*
 * TEXT made safe for a terminal: control characters (C0, DEL, C1) and bytes that are no UTF-8 become \xNN. At most
 * DEMANGLE_MAX bytes; "..." ends what was longer. A malloc'd string, or NULL if there is no memory.
 */
char *text_escape(const char *text);
