/*
 * Addresses of processes → names. Mappings are read when a process is first seen and again when an address is unknown;
 * or they are followed: recorded as they happen. They are kept after the process has exited.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf/notes.h"
#include "sym/debuginfo.h"
#include "sym/maps.h"

struct symbols; /* a cache of processes and of the ELF files that they map */

struct symbol {
    const char *function; /* demangled, control characters escaped; NULL where nothing is known. Owned by SYMBOLS. */
    const char *module;   /* path as the process sees it, "[vdso]", "[heap]" …; NULL: no mapping has the address */
    uint64_t offset;      /* from the function's start; without a function the module's ELF address */
    uint64_t start;       /* without a function: the ELF address at which it begins, UINT64_MAX: that is not known */
    bool kernel;          /* the address is one of the kernel's: its texts are valid until the next call */
};

struct symbols *symbols_new(void);
void symbols_free(struct symbols *symbols);

/* Looks for separate debug files below DIRECTORY instead of /usr/lib/debug. To be called first. 0 or -ENOMEM. */
int symbols_set_debug_root(struct symbols *symbols, const char *directory);

/*
 * Reads the mappings of PID now and opens the files it executes, so that they are known even if it exits. Called
 * again it brings them up to date. 0 or -errno.
 */
int symbols_add_process(struct symbols *symbols, pid_t pid);

/*
 * Records from now on what the COUNT processes PIDS map, and the children that they fork, in whichever thread it
 * happens; with no PIDS, what all processes of the machine map. Reads the mappings that they have now unless they are
 * still to EXECUTE the program that counts; those of the whole machine, which can take a tenth of a second, are read
 * by the first symbols_update. May be called again for more. 0, or -errno where the kernel does not let us: then
 * nothing is recorded, and the rest works.
 */
int symbols_follow(struct symbols *symbols, const pid_t *pids, size_t count, bool execute);

/*
 * Takes in what has been recorded. To be called before the one program that is followed begins: what has not been
 * recorded so far concerns nobody, and does not count as lost.
 */
void symbols_begin(struct symbols *symbols);

/* Takes in the recorded mappings, and ends the recording: later mappings do not matter. The descriptor is closed. */
void symbols_unfollow(struct symbols *symbols);

/* A descriptor that is readable when symbols_update has something to do; -1 where nothing is followed. */
int symbols_follow_fd(const struct symbols *symbols);

/*
 * Takes in what the followed processes have mapped: before lookups, and often enough that no record is lost. True if it
 * is to be called again in a moment, since a process makes code and names of that are still to be looked for.
 */
bool symbols_update(struct symbols *symbols);

enum symbols_change {
    SYMBOLS_MAPPED,   /* this is what the process maps now */
    SYMBOLS_EXECUTED, /* it was what it mapped before it executed another program, what that one maps is told next */
    SYMBOLS_EXITED,   /* it was what it mapped when it exited; NULL: that is forgotten */
    SYMBOLS_ASKED,    /* it maps or mapped it, and nothing has changed: a file's number is not known */
};
typedef void symbols_watcher(void *context, pid_t pid, const struct maps *maps, enum symbols_change change);

/*
 * Calls changed(context, pid, maps, change) whenever the mappings of a process that is followed have changed, or it has
 * exited: during symbols_update and whenever mappings are read. CHANGED may be NULL: nobody watches then.
 */
void symbols_watch(struct symbols *symbols, symbols_watcher *changed, void *context);

/*
 * The file with NUMBER in stacks (STACK_IN_FILE of bpf/stack.h) is IMAGE, which SYMBOLS has; NULL: it cannot be opened,
 * and has a PATH only, unless more is known.
 */
void symbols_number(struct symbols *symbols, uint32_t number, struct image *image, const char *path);

/* Tells whoever watches of all that is known of PID, which is read now if nothing is. */
void symbols_tell(struct symbols *symbols, pid_t pid);

/* Reads the mappings of PID again, unless that was done a moment ago. */
void symbols_read(struct symbols *symbols, pid_t pid);

/*
 * Opens the program PATH, so that its names are known even if it is deleted before it is seen mapped. NULL where it
 * cannot be.
 */
struct image *symbols_keep_file(struct symbols *symbols, const char *path);

/* A number, never 0, that differs from an earlier one if any process's mappings, and so names, may have changed
 * since. */
uint64_t symbols_generation(const struct symbols *symbols);

/*
 * How often processes have renamed code that they make as they run, as far as is known: they are looked at again if
 * that was not done in the last 10 ms, which symbols_update does, too.
 */
uint64_t symbols_renamings(struct symbols *symbols);

/* What could not be known so far. */
struct symbols_lost {
    uint64_t records;  /* of mappings: the kernel's buffers were full, or memory was */
    uint64_t frames;   /* looked up in processes that exited before anything was known of them, or were forgotten */
    uint64_t places;   /* addresses where a program had several files, one after the other: named by the last */
    uint64_t replaced; /* mappings in the place of another file's, while somebody watches */
};
/* The counts now. */
struct symbols_lost symbols_lost(const struct symbols *symbols);

/*
 * Calls VISIT(CONTEXT, MODULE, UNITS) with each file of whose debug information something that was asked for is not
 * read: as image_unread.
 */
void symbols_unread(const struct symbols *symbols, void (*visit)(void *context, const char *module, size_t units),
                    void *context);

/*
 * Names ADDRESS of process PID, or what is there in a file (STACK_IN_FILE of bpf/stack.h), in *RESULT. PROGRAM: the
 * time since when the process executed the program that is meant, as stacks have it (uplua_unwind_program of
 * bpf/rule_cache.h), or 0: the last one that had something at ADDRESS. Always fills it; returns 0, or -ENOENT where not
 * even a mapping is known. Functions come from the file's .symtab, a separate debug file (build id, debuglink with its
 * CRC), else .dynsym and MiniDebugInfo; "malloc@plt" from its stubs; of code that no file has, from what the process
 * says of it. An address of the kernel's half is named by /proc/kallsyms whatever PID is; -ENOENT where that does not
 * know it.
 */
int symbols_lookup(struct symbols *symbols, pid_t pid, uint64_t program, uint64_t address, struct symbol *result);

/* The build id of the file of FRAME, which has STACK_IN_FILE: its length, 0 where none is known, or -errno. */
int symbols_build_id(struct symbols *symbols, pid_t pid, uint64_t frame, uint8_t id[static BUILD_ID_MAX]);

/*
 * Reads the code at FRAME of a stack from its file, as symbols_places finds it: up to SIZE bytes, and in *ADDRESS where
 * they are, as nm prints it. How many there are; 0 where it is of no file, or the file is gone.
 */
size_t symbols_code(struct symbols *symbols, pid_t pid, uint64_t program, uint64_t frame, uint64_t *address, void *code,
                    size_t size);

/*
 * The address that FRAME of a stack stands for: of what is in a file, where process PID had that mapped while it
 * executed PROGRAM; where nothing is known of that any more, as nm prints it.
 */
uint64_t symbols_address(struct symbols *symbols, pid_t pid, uint64_t program, uint64_t frame);

/* Where in a file an address is. */
struct in_file {
    struct image *image; /* NULL: in none */
    uint64_t offset;
    bool executable; /* so it is mapped */
};

/* Where ADDRESS of process PID and PROGRAM, or FRAME of a stack, is. */
struct in_file symbols_in_file(struct symbols *symbols, pid_t pid, uint64_t program, uint64_t address);

/*
 * The places in the source of ADDRESS of process PID and PROGRAM, as above, at most ROOM: the innermost inlined
 * function first, last the function that symbols_lookup names. How many there are: 0 where the file has no debug
 * information (of its own, or a separate debug file). The first address of a file takes as long as its debug
 * information is large, a later one microseconds.
 */
size_t symbols_places(struct symbols *symbols, pid_t pid, uint64_t program, uint64_t address,
                      struct source_line *places, size_t room);
