/* Tracepoints without a record: the program gets what the kernel's code gives the tracepoint, at less cost. */
#pragma once

#include "probe/probe.h"

/*
 * The function of the kernel whose parameters behind the first are those of the tracepoint NAME, into TEXT of SIZE
 * bytes. Errors name close matches.
 */
int raw_tracepoint_function(const char *name, char *text, size_t size, struct error *err);

/* Runs PROGRAM_FD (a raw_tracepoint handler's) at every hit of the tracepoint NAME on the machine. On failure nothing
 * stays attached. */
int raw_tracepoint_attach(int program_fd, const char *name, struct probe_link **link, struct error *err);
