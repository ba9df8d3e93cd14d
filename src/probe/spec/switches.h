/*
 * Programs whose functions are left by going on on another stack, as coroutines do. The kernel follows returns by a
 * list for each thread, innermost first, and by the stack pointer; a return on one stack of a call that is not the
 * innermost, since another began on another stack, ends the program by SIGILL (kernel/events/uprobes.c,
 * uprobe_handle_trampoline).
 */
#pragma once

#include "probe/module/binary.h"
#include "probe/probe.h"
#include "probe/target.h"

/*
 * By which function of those that are known, and in which file, BINARY, or what TARGET has mapped or its command is
 * linked with, or without a target what BINARY is linked with, may go on on another stack: both static, or NULL. 0 or
 * -ENOMEM.
 */
int switches_stacks(const struct binary *binary, const struct target *target, struct stack_switch *result);
