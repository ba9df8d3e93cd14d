/* Shared objects, as the compiler sees them: maps, aggregations, variables and rings that handlers and the script
 * share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compile/context/host.h"
#include "compile/context/type.h"

enum object_kind {
    OBJECT_HASH,
    OBJECT_LRU,
    OBJECT_PERCPU_HASH,
    OBJECT_ARRAY, /* the maps: to here */
    OBJECT_COUNT, /* the aggregations: from here … */
    OBJECT_SUM,
    OBJECT_MIN,
    OBJECT_MAX,
    OBJECT_STATS,
    OBJECT_HIST,
    OBJECT_LHIST,
    OBJECT_HDR, /* … to here */
    OBJECT_VAR,
    OBJECT_RING,
    OBJECT_RECORDER, /* what has happened last, by CPU (map/recorder.h) */
    OBJECT_OUTPUT,   /* a ring of uplua's own: what handlers print, and the wake-up when one ends the run */
    OBJECT_OTHER,    /* of a kind that handlers cannot use */
};

/* Of a ring that is read only now and then, the reader is woken each time that another one of so many parts begins. */
enum { RING_PARTS = 8 };

/* How the script prints the record that a handler's printf emits. */
struct print {
    const char *format;   /* checked */
    size_t length, count; /* bytes of the format; its arguments */
    struct print_argument {
        char conversion; /* 'd', 's', … */
        bool is_unsigned;
        const struct captured *constant; /* NULL: it is what the tuple that is emitted has at its place, from 1 */
        struct value *value;             /* while it is compiled */
    } * args;
};

/* One shape of the records of a ring. */
struct variant {
    struct record *record;
    const struct print *print; /* NULL but in OBJECT_OUTPUT */
};

/* The buckets of an lhist: COUNT of STEP each from LOW on. Of an hdr: 2^BITS to each power of two (HdrHistogram's half
 * count). */
struct buckets {
    int64_t low;
    uint64_t step, count;
    unsigned bits;
};

/* A shared object. The caller fills the first part; the compiler the rest. What the script has written is told anew in
 * each compilation, until the object is loaded. */
struct shared {
    enum object_kind kind;
    uint64_t max;       /* entries of a map, bytes of a ring (a power of two), of a recorder for each CPU */
    const char *advice; /* for the message that it is full: "give it a larger max" */
    bool ordered;       /* of a ring: its records are wanted in one order of time with those of the others … */
    bool alone;         /* … and have their time where there is no other yet */
    int fd;             /* of the kernel's map once loaded (set by the caller after the load), else -1 */
    bool exported;      /* of an aggregation: what it has no room for is to be added up (struct overflow) */
    bool paced;         /* of a ring: it is read only now and then (lua/uplua/objects/ring.lua) */
    struct buckets buckets;
    int spill_fd;                             /* the same of an aggregation's second map, else -1 */
    int overflow_fd;                          /* … and of its third */
    struct type declared_key, declared_value; /* TYPE_NONE where nothing is declared */
    struct type given_key, given_value;       /* what the script's own writes hold so far; TYPE_NONE if nothing … */
    const struct position *given_key_at, *given_value_at; /* … and where the first one was */

    const char *name; /* of the variable that held it when it was first used; NULL: no handler has used it */
    char map_name[16];
    char spill_name[16]; /* of an aggregation: the map for keys that MAP_NAME has no memory for; "" if there is none */
    char overflow_name[16]; /* … and for all keys together that neither has room for */
    /* of an aggregation: index of its word in the object's counters `uplua_turns` (compile/lower/aggregate.c), -1 if it
     * has none */
    int turn;
    uint32_t map_type, map_flags; /* BPF_MAP_TYPE_*, BPF_F_* */
    bool amounts; /* of a count or sum: handlers add more than 1 at a time, so that it may come to the end of 64 bits */
    bool used;    /* in the last setup compiled */
    bool indexed; /* of a map of whose values nothing is known yet: a handler takes one for a record */
    bool keyed;
    struct type key, value;   /* TYPE_NONE where there is none */
    struct variant *variants; /* of a ring or recorder, by the tag of its records */
    size_t variant_count;
    bool timed;                               /* of a ring: its records have their time (bpf/timed.h) */
    uint32_t slot_size, slots;                /* of a recorder: of each CPU, a power of two */
    const struct position *key_at, *value_at; /* where the types were first seen */
};

/* True for count, sum, min, max, stats and the histograms. */
bool object_is_aggregate(const struct shared *object);
