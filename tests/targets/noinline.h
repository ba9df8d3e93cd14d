/* A function that a tracer must find: one copy, under its own name. */
#ifndef NOINLINE_H
#define NOINLINE_H

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

#endif
