/*
 * Whether watchpoints can be trusted on this machine. On some virtual machines the CPU's debug registers do harm, or
 * nothing:
 *
 *   harmful   debug exceptions come with an empty DR6 now and then, which the kernel (arch/x86/kernel/traps.c,
 *             exc_debug_user) takes for an icebp instruction: the program is ended by SIGTRAP, and the access is not
 *             counted. Measured on an Intel host under KVM: 14 in 100,000 accesses.
 *   blind     the kernel takes the watchpoint, and no access is ever reported. Measured: 0 of 20,000.
 *
 * Nothing but a trial tells: programs of uplua's own access a watched place of theirs, and the kernel counts. They end
 * with uplua, take part in nothing of its, and dump no core.
 *
 * The verdict holds until the machine boots anew (/proc/sys/kernel/random/boot_id), and is kept in the folder of
 * sys/state_folder.h, a line of text for each kind of access.
 *
 * $UPLUA_WITH=watchpoint trusts without a trial. For tests $UPLUA_WATCH_TRIAL=harmful has trial programs end
 * themselves by SIGTRAP, =blind access another place; such a verdict is kept for runs with the same word alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sys/watchpoint.h"

struct watch_trial {
    unsigned programs;   /* 0: there was no trial, and there is trust */
    unsigned ended;      /* of them, by a signal */
    int signal;          /* the last of these signals */
    uint64_t made, seen; /* accesses, and how many of them the kernel has counted */
};

enum watch_verdict { WATCH_TRUSTED, WATCH_HARMFUL, WATCH_BLIND };

/*
 * Has trial programs make accesses of the kind ACCESS, 100,000 in all, or fewer where these take more than 0.3 s of the
 * CPU; or reads what is known since the boot. 0, or -errno where there can be no trial.
 */
int watch_trial(enum watch_access access, struct watch_trial *trial);

/* What follows from TRIAL: trusted is a machine on which each access was counted, and no program ended. */
enum watch_verdict watch_trial_verdict(const struct watch_trial *trial);
