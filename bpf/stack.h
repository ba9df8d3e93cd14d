/* The stack store, as both sides see it: the map `uplua_stacks`, and `uplua_stacks_reserve` beside it, from a 64-bit id
 * to a struct stack. */
#pragma once

#include <linux/types.h>

#define STACK_FRAMES 127
/*
 * Added to the address of a frame that was interrupted by a signal: it made no call, so that the address is no return
 * address, behind the call. The kernel's addresses have it, too, and the bit above.
 */
#define STACK_INTERRUPTED (1ull << 62)
/*
 * A frame whose code is in a file, as nearly all are: the file's number (struct unwind_known) and the offset there,
 * which are the same in whichever process the file is mapped. Others are addresses: of the process, where this bit is
 * not set, or of the kernel.
 */
#define STACK_IN_FILE (1ull << 61)
#define STACK_FILE_SHIFT 40 /* a file's offsets are below it */
#define STACK_FILE(frame) ((frame) >> STACK_FILE_SHIFT & 0xffff)
#define STACK_OFFSET(frame) ((frame) & ((1ull << STACK_FILE_SHIFT) - 1))
/* Beside STACK_IN_FILE: how its caller was found is a guess, since nothing describes the code (RULE_GUESSED). */
#define STACK_GUESSED (1ull << 60)
/* Of a stack that a return probe has taken, the first frame: it is a return address, as the others are. */
#define STACK_RETURNED (1ull << 59)
/* What a frame has beside its address; a kernel's address has all of these bits. */
#define STACK_MARKS (STACK_INTERRUPTED | STACK_GUESSED | STACK_RETURNED)
#define STACK_ENTRIES 65536
#define STACK_RESERVE 256

/* Why a stack has no more frames. */
enum stack_end {
    STACK_WHOLE,      /* there are none, or no more were asked for */
    STACK_NO_TABLE,   /* the last frame's code has no unwind table, and its frame pointer led nowhere */
    STACK_UNMAPPED,   /* the last frame lies in no file that is known: not yet, or it is no code */
    STACK_UNREADABLE, /* the stack's memory cannot be read, or holds what cannot be */
    STACK_CUT,        /* at STACK_FRAMES */
    STACK_JOINED,     /* no frames: frames[0] is the id of the kernel's stack, frames[1] that of the user's below it */
};

struct stack {
    __u32 tgid;    /* the process that it was first seen in; frames that are no file's are of it. 0: the kernel's */
    __u16 count;   /* frames[0 … count - 1]; what lies behind is undefined */
    __u16 end;     /* enum stack_end */
    __u64 program; /* which one that executed: since when, ns; 0: the kernel's stack (bpf/rule_cache.h) */
    /* [0] is where the probe stands, the others are return addresses but for STACK_INTERRUPTED; see STACK_IN_FILE and
     * STACK_RETURNED */
    __u64 frames[STACK_FRAMES];
};

/* How uplua_ustack is told that a return probe asks, in the place of what tells of entries. */
#define STACK_AT_RETURN (-1)

/* The id where no stack could be taken: never in the map. Ids of stacks are neither 0 nor 1. */
#define STACK_UNKNOWN 1

/* Indices of `uplua_stack_lost`: how often, by cause. */
#define STACK_LOST_FULL 0   /* the store is full (or memory is out): the id stands for frames that nobody knows */
#define STACK_LOST_BUSY 1   /* other probes that were interrupted hold all scratch buffers of the CPU: STACK_UNKNOWN */
#define STACK_LOST_DEPTH 2  /* cut at STACK_FRAMES although no smaller depth was asked for */
#define STACK_LOST_RETURN 3 /* a frame's return address is hidden by a return probe's trampoline */
#define STACK_LOST_NO_TABLE 4 /* stacks that ended as the enum's names say */
#define STACK_LOST_UNMAPPED 5
#define STACK_LOST_UNREADABLE 6
#define STACK_LOST_PROGRAM 7 /* programs that processes executed and that could not be noted */
#define STACK_LOST_COUNT 8

/* What the script's side finds by these names, as IS_NAME or tools/contract/contract.c has it. */
#define STACK_NAMES(name) name(uplua_stacks) name(uplua_stacks_reserve) name(uplua_stack_lost)

/* In the library's sources: that there is such a map or variable. */
#define IS_NAME(name) _Static_assert(sizeof(name) > 0, "its name is a contract with the script's side");
