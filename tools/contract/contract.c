/*
 * What Lua takes from the headers of C, of bpf/ and of the system: not a program. `make` compiles it to assembly for
 * the CPU that is built for; generate.lua reads the texts that begin with -> in that, and the declarations from the
 * preprocessed text. So a number, a name or a layout that is not there ends the build.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/bpf.h>
#include <linux/kcmp.h>
#include <linux/mman.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../bpf/aggregate.h"
#include "../bpf/call_pairs.h"
#include "../bpf/recorder.h"
#include "../bpf/stack.h"
#include "../bpf/system_calls.h"
#include "../bpf/timed.h"
#include "../bpf/tracer_frames.h"
#include "../bpf/unwind.h"
#include "compile/compile.h"
#include "compile/context/handler.h"
#include "compile/context/probe_state.h"
#include "compile/context/provider.h"
#include "compile/context/type.h"
#include "compile/object/object.h"
#include "map/map.h"
#include "map/merge.h"
#include "map/recorder.h"
#include "map/ring.h"
#include "map/var.h"
#include "scan/scan.h"
#include "sym/fold.h"
#include "sys/exit_hold.h"
#include "sys/procstat.h"
#include "sys/realtime.h"
#include "sys/timeline.h"

#define LINE(text, value) __asm__ volatile("\n.ascii \"-> " text " %0\"" : : "i"((long long)(value)));
#define NUMBER(name) LINE("number " #name, name)
/* The text that the macro NAME stands for. */
#define TEXT(name) LINE("text " #name " " name, 0)
/* The text NAME itself: what is called so in the BPF library, whose sources compare. */
#define NAME(name) LINE("text " #name " " #name, 0)
/* A structure of the system: it becomes struct uplua_NAME with the MEMBERs that follow. TYPE: of a pointer. */
#define STRUCT(name, type) LINE("struct " #name, sizeof(type))
#define MEMBER_AS(text, type, field)                                                                                   \
    LINE("field " #field " " text, offsetof(type, field))                                                              \
    LINE("size", sizeof(((type *)0)->field))
#define MEMBER(type, field) MEMBER_AS("int", type, field) LINE("sign", (__typeof__(((type *)0)->field))-1 < 1)

void contract(void);

static void library(void)
{
    NUMBER(STACK_FRAMES)
    NUMBER(STACK_INTERRUPTED)
    NUMBER(STACK_IN_FILE)
    NUMBER(STACK_GUESSED)
    NUMBER(STACK_RETURNED)
    NUMBER(STACK_WHOLE)
    NUMBER(STACK_NO_TABLE)
    NUMBER(STACK_UNMAPPED)
    NUMBER(STACK_UNREADABLE)
    NUMBER(STACK_CUT)
    NUMBER(STACK_JOINED)
    NUMBER(STACK_LOST_FULL)
    NUMBER(STACK_LOST_BUSY)
    NUMBER(STACK_LOST_DEPTH)
    NUMBER(STACK_LOST_RETURN)
    NUMBER(STACK_LOST_NO_TABLE)
    NUMBER(STACK_LOST_UNMAPPED)
    NUMBER(STACK_LOST_UNREADABLE)
    NUMBER(STACK_LOST_PROGRAM)
    NUMBER(STACK_LOST_COUNT)
    NUMBER(AGGREGATE_LOST_EXTREME)
    NUMBER(AGGREGATE_LOST_COUNT)
    NUMBER(LOG2_BUCKETS)
    NUMBER(STRETCH)
    NUMBER(RECORDER_HEAD)
    NUMBER(RING_TAG_BITS)
    NUMBER(RECORDER_SLOT_HEAD)
    NUMBER(RECORDER_TIME)
    NUMBER(RECORDER_TAG_BITS)
    NUMBER(SYSTEM_CALL_ANY)
    NUMBER(SYSTEM_CALL_ATTEMPTS)
    NUMBER(SYSTEM_CALL_COMPAT)
    NUMBER(SYSTEM_CALL_AT_SIGNAL)
    STACK_NAMES(NAME)
    UNWIND_NAMES(NAME)
    TRACER_FRAMES_NAMES(NAME)
    AGGREGATE_NAMES(NAME)
    CALL_PAIRS_NAMES(NAME)
}

static void compiler(void)
{
    NUMBER(MAX_STRING)
    NUMBER(MAX_BUFFER)
    NUMBER(BUFFER_HEADER)
    NUMBER(MAX_VARIABLE_SIZE)
    NUMBER(NAMES_MAX_CAPACITY)
    NUMBER(PROCSTAT_BIRTH_WITHIN)
    NUMBER(RING_PARTS)
    NUMBER(TEST_WORDS)
    NUMBER(TIMELINE_TOO_LONG)
    NUMBER(ROOT_ADDRESS)
    NUMBER(ROOT_REGISTER)
    NUMBER(ROOT_EPOLL)
    NUMBER(ROOT_TIMER)
    NUMBER(CHUNK_USED)
    NUMBER(CHUNK_FREE)
    NUMBER(CHUNK_FAST)
    NUMBER(CHUNK_CACHED)
    NUMBER(EXIT_HELD)
    NUMBER(EXIT_MISSED)
    TEXT(LEDGER_COUNTERS)
    TEXT(EXITED_COUNTERS)
    TEXT(TURN_COUNTERS)
    TEXT(COST_COUNTERS)
    TEXT(PROBE_STATES)
    TEXT(PROBE_COUNTS)
    TEXT(CALLS_END_PROGRAM)
    TEXT(EXECUTED_PROGRAM)
    TEXT(EXECUTED_END_PROGRAM)
}

static void perf(void)
{
    NUMBER(PERF_TYPE_HARDWARE)
    NUMBER(PERF_TYPE_SOFTWARE)
    NUMBER(PERF_TYPE_HW_CACHE)
    NUMBER(PERF_TYPE_RAW)
    NUMBER(PERF_COUNT_SW_CPU_CLOCK)
    NUMBER(PERF_COUNT_SW_TASK_CLOCK)
    NUMBER(PERF_COUNT_SW_PAGE_FAULTS)
    NUMBER(PERF_COUNT_SW_CONTEXT_SWITCHES)
    NUMBER(PERF_COUNT_SW_CPU_MIGRATIONS)
    NUMBER(PERF_COUNT_SW_PAGE_FAULTS_MIN)
    NUMBER(PERF_COUNT_SW_PAGE_FAULTS_MAJ)
    NUMBER(PERF_COUNT_SW_ALIGNMENT_FAULTS)
    NUMBER(PERF_COUNT_SW_EMULATION_FAULTS)
    NUMBER(PERF_COUNT_SW_CGROUP_SWITCHES)
    NUMBER(PERF_COUNT_HW_CPU_CYCLES)
    NUMBER(PERF_COUNT_HW_INSTRUCTIONS)
    NUMBER(PERF_COUNT_HW_CACHE_REFERENCES)
    NUMBER(PERF_COUNT_HW_CACHE_MISSES)
    NUMBER(PERF_COUNT_HW_BRANCH_INSTRUCTIONS)
    NUMBER(PERF_COUNT_HW_BRANCH_MISSES)
    NUMBER(PERF_COUNT_HW_BUS_CYCLES)
    NUMBER(PERF_COUNT_HW_STALLED_CYCLES_FRONTEND)
    NUMBER(PERF_COUNT_HW_STALLED_CYCLES_BACKEND)
    NUMBER(PERF_COUNT_HW_REF_CPU_CYCLES)
    NUMBER(PERF_COUNT_HW_CACHE_L1D)
    NUMBER(PERF_COUNT_HW_CACHE_L1I)
    NUMBER(PERF_COUNT_HW_CACHE_LL)
    NUMBER(PERF_COUNT_HW_CACHE_DTLB)
    NUMBER(PERF_COUNT_HW_CACHE_ITLB)
    NUMBER(PERF_COUNT_HW_CACHE_BPU)
    NUMBER(PERF_COUNT_HW_CACHE_NODE)
    NUMBER(PERF_COUNT_HW_CACHE_OP_READ)
    NUMBER(PERF_COUNT_HW_CACHE_OP_WRITE)
    NUMBER(PERF_COUNT_HW_CACHE_OP_PREFETCH)
    NUMBER(PERF_COUNT_HW_CACHE_RESULT_MISS)
}

/* All flags that the headers have, for up.flags. */
static void flags(void)
{
#include "flag_names.h"
    NUMBER(CSIGNAL)
}

static void system_headers(void)
{
    NUMBER(AF_INET)
    NUMBER(AF_INET6)
    NUMBER(ENOENT)
    NUMBER(E2BIG)
    NUMBER(ESRCH)
    NUMBER(ETIMEDOUT)
    NUMBER(CLOCK_MONOTONIC)
    NUMBER(CLOCK_REALTIME)
    NUMBER(TIOCGWINSZ)
    NUMBER(CLONE_VM)
    NUMBER(CLONE_VFORK)
    NUMBER(CLONE_THREAD)
    NUMBER(KCMP_VM)
    NUMBER(BPF_RINGBUF_BUSY_BIT)
    NUMBER(BPF_RINGBUF_DISCARD_BIT)
    NUMBER(BPF_RINGBUF_HDR_SZ)
    STRUCT(timespec, struct timespec)
    MEMBER(struct timespec, tv_sec)
    MEMBER(struct timespec, tv_nsec)
    STRUCT(winsize, struct winsize)
    MEMBER(struct winsize, ws_row)
    MEMBER(struct winsize, ws_col)
    STRUCT(glob, glob_t)
    MEMBER(glob_t, gl_pathc)
    MEMBER_AS("char**", glob_t, gl_pathv)
}

void contract(void)
{
    library();
    compiler();
    perf();
    flags();
    system_headers();
}
