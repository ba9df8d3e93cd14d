/* The state of the pass from the IR to machine operations; shared by lower.c (control flow, arithmetic), phi.c,
 * records.c (records, what is stored), string.c, maps.c (maps and the other shared objects) and event.c (the event). */
#pragma once

#include "compile/machine/machine.h"
#include "compile/object/object.h"

/* Where an IR value is at run time. */
struct place {
    struct operand value;    /* number, boolean (0, 1), id: the value, 0 where absent; string, record: its address */
    struct operand present;  /* non-zero if the value is not nil; OPERAND_NONE: it never is */
    struct operand entry;    /* of a read from a map: the address of what was found, or 0 */
    uint32_t capacity;       /* of a string's buffer */
    struct slot *header;     /* of a fresh record for a ring: its slot, which starts 8 bytes before the record */
    struct slot *in_memory;  /* a number that has been stored for a call by address … */
    struct block *stored_in; /* … in this block */
    struct slot *window;     /* of an access that fetches others' bytes too: these … */
    struct operand fetched;  /* … and whether they are there, 1 or 0 */
};

/* A value that the entry half saves for the return handler. */
struct saved {
    const struct event_field *event;
    struct operand value; /* in the return half */
};

/* Losses that end the program in the same way share what counts them and ends it. */
struct fatal_losses {
    struct machine_block *end;
    struct operand *counters; /* by predecessor of END */
    size_t count;
};

struct lower {
    struct function *function;
    struct compiler *compiler;
    struct program *program;
    struct place *places;         /* by IR value id */
    struct machine_block **first; /* by IR block id: where it starts … */
    struct machine_block **last;  /* … and the block that jumps out of it, where it ends in a jump */
    struct block *block;          /* being lowered */
    struct operand context, pid_tgid, tgid;
    struct slot *zero_key;
    struct block *zero_stored_in; /* the last block that has stored it */
    bool *widened;                /* by IR value id (widen.c); NULL: none */
    bool widens_loops;            /* loops as a whole; and … */
    bool in_loop;                 /* … what is lowered now is in one of these */
    struct slot *rounds;          /* the rounds of all loops so far */
    struct pending_phi *phis;     /* whose arguments are set when all blocks are there */
    size_t phi_count;
    struct saved *saved;
    size_t saved_count;
    const struct pairing *pairing; /* how that reaches the return; NULL: nothing is to be done at the entry */
    /* elapsed.c: when the entry half began; the address of the thread's sum of what probes take; when the return half
     * began; the sum then */
    struct operand entered, sum, returned, taken;
    struct operand result;           /* e.ret of a system call */
    struct fatal_losses fatal[2][2]; /* by the program's result, and whether scratch memory has to be given back */
};

/* --- lower.c --- */

/* Where VALUE is: filled by the operation that lowers it; constants are filled on demand. */
struct place *lower_place(struct lower *lower, struct value *value);
/* VALUE as a number (or id, or boolean): ends the handler where it is nil. */
struct operand lower_number(struct lower *lower, struct value *value);
/* Ends the handler, counted as a Lua error, where the value PLACE is nil. WHAT: "arithmetic on nil". */
void lower_require(struct lower *lower, const struct place *place, const char *what);
/* A new ledger entry: CAUSE and the line of the value lowered. */
unsigned lower_ledger(struct lower *lower, const char *cause);
/* Counts entry ENTRY in a block of its own and goes on at TO (NULL: ends the program with RESULT, 0 or 1). */
struct machine_block *lower_loss(struct lower *lower, unsigned entry, struct machine_block *to, int64_t result);
/* A block that goes straight to TO: a way there of its own, for what a phi of TO is on it. */
struct machine_block *lower_way(struct lower *lower, struct machine_block *to);
/* A cut to BITS, negative if signed, as of IR_CAST. */
struct operand lower_cast(struct program *program, struct operand a, int64_t bits);
/* Places what losses that end the program lead to: last of all. */
void lower_fatal_losses(struct lower *lower);
/* Goes on in a new block if A CODE B, to OTHERWISE if not. */
void lower_continue_if(struct lower *lower, uint8_t code, struct operand a, struct operand b,
                       struct machine_block *otherwise);
/* REFERENCE to a record, known here not to be nil, under another name: bpf_loop.c must tell the two apart. */
struct operand lower_not_nil(struct lower *lower, struct operand reference);
/* 1 where a helper's RESULT is not negative, else 0. It is taken as an int: before Linux 6.4 the kernel calls a map's
 * own functions in place of the helpers, and these return one, whose upper half is zero. */
struct operand lower_is_not_negative(struct lower *lower, struct operand result);

/* --- phi.c --- */

/* Makes registers for what a phi is and whether it is there. */
void phi_lower(struct lower *lower, struct value *value);
/* Gives all phis their arguments, when the blocks are done. */
void phi_set_arguments(struct lower *lower);

/* --- records.c --- */

/* BPF_B … BPF_DW: of a number, boolean or id in memory. */
uint8_t memory_size(struct type type);
/* *(SIZE *)(BASE + OFFSET) = VALUE, a number; any number to the verifier where loops are widened (widen.c). */
void memory_put(struct lower *lower, uint8_t size, struct operand base, int64_t offset, struct operand value);
/* Writes VALUE into memory of type TYPE at BASE + OFFSET. VALUE must not be nil there. */
void memory_store(struct lower *lower, struct operand base, int64_t offset, struct type type, struct value *value);
/* The place of what lies at BASE + OFFSET: a number is loaded, a string copied, a record referred to. */
struct place memory_load(struct lower *lower, struct operand base, int64_t offset, struct type type);
/* An address at which VALUE lies as TYPE, for a helper. */
struct operand memory_address(struct lower *lower, struct value *value, struct type type);
void memory_copy(struct lower *lower, struct operand to, int64_t to_offset, struct operand from, int64_t from_offset,
                 uint32_t size);
void memory_zero(struct lower *lower, struct operand to, int64_t offset, uint32_t size);
void memory_record(struct lower *lower, struct value *value);
void memory_get_field(struct lower *lower, struct value *value);
void memory_set_field(struct lower *lower, struct value *value);
void memory_add_field(struct lower *lower, struct value *value);
void memory_copy_record(struct lower *lower, struct value *value);

/* --- element.c --- */

/* t[i] and t[i] = v, where i is computed. */
void element_load(struct lower *lower, struct value *value);
void element_store(struct lower *lower, struct value *value);

/* --- string.c --- */

/* Writes the string VALUE into CAPACITY bytes at TO + OFFSET: no fewer than it has itself. */
void string_store(struct lower *lower, struct operand to, int64_t offset, uint32_t capacity, struct value *value);
/* The address of a buffer of CAPACITY bytes that holds the string VALUE. */
struct operand string_address(struct lower *lower, struct value *value, uint32_t capacity);
/* Goes to YES where the strings A and B are equal, else to NO. */
void string_equal(struct lower *lower, struct value *a, struct value *b, struct machine_block *yes,
                  struct machine_block *no);
void string_read(struct lower *lower, struct value *value);
/* An array of SIZE chars at ADDRESS, in the KERNEL's memory or the process's, into BUFFER, which is zero: all that
 * stands before a NUL. Then goes on in DONE. */
void string_read_array(struct lower *lower, struct value *value, struct slot *buffer, uint32_t size,
                       struct operand address, bool kernel, struct machine_block *done);
/* The string VALUE, which is there, from SIZE bytes at ADDRESS in the kernel's memory: an array, or a text of which no
 * more is taken. */
void string_read_kernel(struct lower *lower, struct value *value, uint32_t size, bool is_array, struct operand address);
void string_length(struct lower *lower, struct value *value);
void string_starts(struct lower *lower, struct value *value);

/* Where to read the string or buffer VALUE: memory of its capacity, all zero. */
struct operand string_find_place(struct lower *lower, struct value *value);

/* --- buffer.c --- */

/* up.buf(address, size) */
void buffer_read(struct lower *lower, struct value *value);
/* Writes the buffer FROM into CAPACITY bytes at TO + OFFSET. */
void buffer_store(struct lower *lower, struct operand to, int64_t offset, uint32_t capacity, const struct place *from);
/* Goes to YES where the buffers X and Y are equal, else to NO. */
void buffer_equal(struct lower *lower, const struct place *x, const struct place *y, struct machine_block *yes,
                  struct machine_block *no);
/* The number of bytes kept. */
struct operand buffer_length(struct lower *lower, const struct place *place);
/* Not 0 where the buffer at BASE + OFFSET was cut. */
struct operand buffer_cut(struct lower *lower, struct operand base, int64_t offset);
/* The bytes of the string or buffer VALUE, as if it were a string of them, which has one byte more, the mark. */
struct place buffer_text(struct lower *lower, struct value *value);

/* --- find.c --- */

/* s:find("text"): where the text begins, and where it ends. */
void string_find(struct lower *lower, struct value *value);
void string_find_end(struct lower *lower, struct value *value);

/* --- cut_key.c --- */

/* Counts that something is about to be stored in OBJECT under KEY, which is not nil, where a text in that was cut. */
void cut_key_count(struct lower *lower, const struct shared *object, struct value *key);

/* --- maps.c --- */

/* True if READ, an IR_MAP_GET, is loaded where its presence is known. */
bool maps_defer(const struct lower *lower, const struct value *read);
/* The value of the entry that READ, a deferred IR_MAP_GET, has found. */
struct place maps_load(struct lower *lower, struct value *read);
/* Lowers an operation on a shared object. */
void maps_lower(struct lower *lower, struct value *value);
/* The address of the element KEY (an address) of the map called MAP, or 0. */
struct operand maps_lookup(struct lower *lower, const char *map, struct operand key);
/* The only element of an array of one; goes on where it is there (always), to DONE otherwise. */
struct operand maps_only_element(struct lower *lower, const struct shared *object, struct machine_block *done);
/* The ledger's entry for an insertion into OBJECT when it is full. */
unsigned maps_full(struct lower *lower, const struct shared *object);
/* The slot of the record that VALUE emits: 8 bytes for a header, and the record. */
struct slot *maps_emitted(struct lower *lower, const struct value *value);

/* --- recorder.c --- */

/* Finds how large the slots of OBJECT are, and how many there are. */
void recorder_describe(struct compiler *compiler, struct shared *object);
/* The rest of OBJECT's MAP. 0 or -errno. */
int recorder_declare(const struct shared *object, struct object_map *map);
void recorder_emit(struct lower *lower, struct value *value, const struct shared *object);
/* Settles map types and names of all objects used. */
void maps_describe(struct compiler *compiler);
/* Declares the maps of used objects in RESULT. */
int maps_declare(struct compiler *compiler, struct object *result);

/* --- widen.c --- */

/* Decides which values the verifier is not to tell apart, and whether to widen loops. */
void widen_find(struct lower *lower);
/* True if VALUE is one of them. */
bool widen_hides(const struct lower *lower, const struct value *value);
/* Puts program->any_zero there; at the program's start. */
void widen_start(struct lower *lower);
/* NUMBER as any number, related to no other. */
struct operand widen_number(struct lower *lower, struct operand number);
/* NUMBER, which is to be decided on: a widened copy, where loops are widened and this is in one. */
struct operand widen_in_loop(struct lower *lower, struct operand number);
/* Hides what VALUE, just lowered, is known to be, if it is to be hidden. */
void widen_value(struct lower *lower, struct value *value);

/* --- scratch.c --- */

/* Claims a piece of scratch memory where the program needs it. Behind that, slots may lie there. */
void scratch_claim(struct lower *lower);
/* Declares the array of pieces in RESULT where a handler needs one. 0 or -errno. */
int scratch_declare(const struct compiler *compiler, struct object *result);

/* --- aggregate.c --- */

/* The zeros that a new element of any aggregation is made from: `zeros` has so many words. */
enum { ZERO_WORDS = 256 };

/* Settles the kernel's maps for the aggregation OBJECT, which has this NUMBER, and its turn in this setup. */
void aggregate_describe(struct compiler *compiler, struct shared *object, size_t number);
/* Declares them in RESULT. */
int aggregate_declare(const struct shared *object, struct object *result);
void aggregate_lower(struct lower *lower, struct value *value);

/* --- func_names.c --- */

/* A buffer of names_capacity bytes with the name of the site that was hit. */
struct operand func_names_read(struct lower *lower);
/* Adds the map of the names, where the handler reads them. */
void func_names_declare(struct lower *lower, struct object *result);

/* --- argument.c --- */

/* Reads VALUE, an EVENT_GIVEN. */
void argument_lower(struct lower *lower, struct value *value);
/* The number that ARGUMENT, which lies in the context or is a constant, is. */
struct operand argument_word(struct lower *lower, const struct argument *argument);

/* --- pair_syscalls.c --- */

/*
 * At the entry: goes on where the call is one of this CPU's 64-bit interface: another one's numbers and registers mean
 * other things, and the kernel's own tracepoints of single calls leave those out, too. Those are counted in the ledger.
 */
void syscall_expect_native(struct lower *lower);

/* The reverse, before anything else is asked: goes on where the call is one of another interface, and forgets others.
 */
void syscall_expect_compat(struct lower *lower);

/* --- filter.c --- */

/* Marks the shared objects that filters read as used. */
void filter_use(struct compiler *compiler, const struct compile_options *options);
/* At the program's start: ends it with IGNORED where what runs is not traced, which COUNTED says to count. Sets
 * CONTEXT, PID_TGID and TGID of LOWER. */
void filter_lower(struct lower *lower, int64_t ignored, bool counted);
/* The same by what holds for the life of what runs: not by the thread's name and cgroup. */
void filter_for_life(struct lower *lower, int64_t ignored, bool counted);
/* Whether these are asked, too. */
bool filter_turns(const struct lower *lower);
/* Goes on where the thread's name and cgroup are traced, else at OTHER. */
void filter_now(struct lower *lower, struct machine_block *other);
/* A block that goes on to TO if they are, else ends the program and counts that. */
struct machine_block *filter_if_now(struct lower *lower, struct machine_block *to);
/* e.traced: 1 where what runs is traced, else 0, in a handler that runs for all. */
struct operand filter_asked(struct lower *lower);
/* In front of the handler itself: ends the program on CPUs that are not traced. */
void filter_cpus(struct lower *lower);
/* A block that ends the program with IGNORED. */
struct machine_block *filter_ignore(struct lower *lower, int64_t ignored);

/* --- probe_state.c --- */

/* At the program's start: ends it with IGNORED unless its probe is awake in the program's version. */
void state_expect_awake(struct lower *lower, int64_t ignored);
/* Where the handler begins: counts a hit. */
void state_count_hit(struct lower *lower);
/* Behind that, at a return whose entry was kept: ends the program where the probe has its returns off. */
void state_expect_returns(struct lower *lower);
/* A block that goes on to LOSS, which counts a return of a call whose entry was not seen, where that is one. */
struct machine_block *state_if_settled(struct lower *lower, struct machine_block *loss);
/* Not 0 where such a return is one. */
struct operand state_settled(struct lower *lower);
/* Not 0 where the probe was attached before the command began. */
struct operand state_before(struct lower *lower);
/* At the entry: counts a call that is kept. */
void state_count_entry(struct lower *lower);
/* Where what runs is not traced, at a place of the kernel's that it may pass for somebody else: counts that, as long as
 * there is no hit. */
void state_count_other(struct lower *lower);
/* Counts NUMBER calls of handler number HANDLER that were kept and will not return. */
void state_count_ended(struct program *program, size_t handler, struct operand number);
/* Declares the states, if OPTIONS have some, and the counts of so many HANDLERS. 0 or -errno. */
int state_declare(const struct compile_options *options, size_t handlers, struct object *result);

/* --- pair_calls.c --- */

/* Adds the program CALLS_END_PROGRAM where any handler's calls are kept: it counts those that a thread ends in. */
void calls_end_threads(struct compiler *compiler, const struct compile_options *options);

/* --- executed_programs.c --- */

/* Adds the programs EXECUTED_PROGRAM and EXECUTED_END_PROGRAM where any handler takes stacks of processes. */
void executed_note(struct compiler *compiler, const struct compile_options *options);

/* --- elapsed.c --- */

/* Whether EVENT is e.elapsed or e.taken_off, whose saved words are written here. */
bool elapsed_is_of_time(const struct event_field *event);
/* At the entry, before all else: notes the time, where it is wanted. */
void elapsed_enter(struct lower *lower);
/* At the entry, before the call counts as seen: makes what it needs; where that fails, a loss ends the program with
 * FAILED. */
void elapsed_prepare(struct lower *lower, int64_t failed);
/*
 * At the entry, behind all else: stores the time, where the handler asks for e.elapsed, at its place among the saved
 * words at BASE + OFFSET. What a program does behind that counts for the function that it is put on.
 */
void elapsed_begin(struct lower *lower, struct operand base, int64_t offset);
/* At the return, before all else, so that what the program itself does does not count either: notes the time. */
void elapsed_end(struct lower *lower);
/* At the return, once the entry is known: what probes have taken so far, and adds this call's own traps; goes to
 * UNKNOWN where the entry has not been seen. */
void elapsed_recover(struct lower *lower, struct machine_block *unknown);
/* Where the handler ends: adds what it took. */
void elapsed_leave(struct lower *lower);
/* e.elapsed of a call whose entry has saved BEGAN, never below 0. AT_EXIT: the probe stands on the return instruction.
 * And e.taken_off, of one that has saved BEFORE. */
struct operand elapsed_value(struct lower *lower, struct operand began, bool at_exit);
struct operand elapsed_taken_off(struct lower *lower, struct operand before);
/* Declares the map of the threads' sums, where a handler needs it. 0 or -errno. */
int elapsed_declare(const struct compiler *compiler, struct object *result);

/* --- event.c --- */

/* What EVENT, one of the entry, is there. */
struct operand probe_entry_value(struct lower *lower, const struct event_field *event);
/*
 * The address that LINK, the return address of the function that the probe is in, which lies in SLOT or would, was
 * before a return probe took its place: of this function, or of one that has jumped to it at its end.
 */
struct operand probe_return_address(struct lower *lower, struct operand link, struct operand slot);

/* Decides what the entry half must save, lower->saved, and how that reaches the return, lower->pairing. */
void probe_pair(struct lower *lower);
/* Where pairings keep that: a name of the handler's own. */
const char *probe_calls_map(struct lower *lower);
/* Whether the handler runs at a return instruction: the function has not returned yet. */
bool probe_is_at_exit(const struct lower *lower);
/* A new ledger entry: the probe, and WHAT happened to a call or hit of it; and a block that counts it and ends the
 * program with RESULT. */
unsigned probe_ledger(struct lower *lower, const char *what);
struct machine_block *probe_loss(struct lower *lower, const char *what, int64_t result);
/* The thread's name: a string of 16 bytes. */
struct operand probe_comm(struct lower *lower);
/* The word at OFFSET of the context, WHAT to a message; fails where the CPU has none: it is negative. */
struct operand probe_context_word(struct lower *lower, int offset, const char *what);
/* Reads SIZE bytes of the process's memory at ADDRESS. 0 or negative. */
struct operand probe_read_user(struct lower *lower, struct slot *to, uint32_t size, struct operand address);
/* Where the probe stands, for a function's entry that one; and of a function of the kernel: whatever that has put at
 * its first instructions. */
struct operand probe_instruction(struct lower *lower);
/* The same of what a sample has interrupted: where that is in the program, or in the kernel. */
struct operand probe_interrupted_instruction(struct lower *lower);
struct operand probe_kernel_function(struct lower *lower);
/* Filter of who is traced, and in a return handler the recovery of what was saved. */
void probe_prologue(struct lower *lower);
/* Declares the map of what is saved in RESULT where there is one. */
void probe_declare(struct lower *lower, struct object *result);
/* The program of the entry half, where it is one of its own; NULL otherwise. */
struct program *probe_entry_half(struct lower *lower);
void probe_event_field(struct lower *lower, struct value *value);
/* The word that HELPER (bpf_get_func_arg, with the argument's NUMBER, or bpf_get_func_ret) stores for a handler that a
 * function itself calls. */
struct operand probe_call_for_word(struct lower *lower, int32_t helper, const struct operand *number);
void probe_stack(struct lower *lower, struct value *value);
void probe_joined_stack(struct lower *lower, struct value *value);

/* Lowers FUNCTION and adds its programs to RESULT. */
void pass_lower(struct function *function, struct object *result);
