/* A function that a tracer must find: one copy, under its own name. */
#pragma once

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
