/* Ctrl-C while handlers are compiled and loaded, which C does: no Lua hook ends that, and the verifier may take seconds
 * for each program. */
#pragma once

#include "base/error.h"

/* 0; or -EINTR with a message, where a signal has asked to stop (sys/interrupt.h). */
int cancel_check(struct error *err);

/* From here to cancel_end(), bpf_object__load gives up before the next program once a signal has asked to stop. Returns
 * what ends it. */
int cancel_begin(void);
void cancel_end(int handler);
