/*
 * Probes: from a spec such as "libc:malloc" to sites in binaries, and from loaded programs to links in the kernel.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/entry.h"
#include "base/error.h"
#include "probe/module/file_stamp.h"
#include "probe/target.h"

/* How the kernel gets past the instruction that a probe stands on, which decides what the probe costs. */
enum entry {
    ENTRY_STEPPED,  /* it has the CPU execute a copy, and trap again */
    ENTRY_EMULATED, /* it does itself what the instruction does */
    ENTRY_REPLACED, /* it may put a call in its place (Linux 6.18) */
    ENTRIES,
};

/* How a program goes on on another stack: by which function, in which file; static, or NULL. */
struct stack_switch {
    const char *function, *file;
};

/* One place in one binary. */
struct site {
    char *path;        /* what the kernel opens, e.g. /proc/4242/root/usr/lib/x86_64-linux-gnu/libc.so.6 */
    char *module;      /* for people: the path as the target sees it */
    char *function;    /* the symbol as the user named it */
    struct stamp file; /* in which the site was found */
    uint64_t offset;   /* file offset of the instruction, as uprobes want it */
    uint64_t address;  /* ELF virtual address */
    uint64_t inside;   /* bytes after the function's start: non-zero for "+0x1c" specs */
    uint64_t size;     /* of the function; 0: not known */
    bool jumped_to;    /* it begins what is not called but jumped to, with a frame that is under way */
    unsigned slid;     /* bytes between the function's entry, for which the probe stands, and OFFSET and ADDRESS */
    /* bytes of the function's first instruction, where the kernel puts no probe: it has to slide; 0: it does */
    unsigned refused;
    bool of_line;     /* it was named by a source line, which may be one of a function that is inlined there */
    bool of_pattern;  /* it is one of those that a pattern means: they may lack it */
    enum entry entry; /* of an exit: that of its function's entry. Known from slide_sites on */
    enum entry first; /* that of the function's first instruction */
    /* how to come by the registers of the entry where it has slid to; NULL: they are as they were */
    struct site_way *way;
    unsigned moved, shape; /* what the handler reads there, as its cookie has it: bytes; a number */
    /* file offset of a 16-bit counter that the kernel keeps above 0 in processes that are traced; 0: none */
    uint64_t semaphore;
    /* a return probe: exceptions may pass through the code of its file, and meet the probe's return address */
    bool unwound;
    struct stack_switch switches; /* a return probe: a call that is left that way ends the program */
    bool of_go;                   /* in a program of Go, whose functions are called in another way than C's */
    bool is_exit;                 /* one of the instructions that the function returns by (probe/spec/return_sites.h) */
    const char *why;              /* it stands there, for people; NULL: nothing to say. Static */
    /* the function jumps to its own first instruction: how that is told from a call; NULL: it does not */
    struct reentries *reentries;
};

/* Whether the probe of a function's entry may stand further in, where the kernel emulates the instruction
 * (probe/spec/slide.h). */
enum slide {
    SLIDE_OFF,
    SLIDE_EXACT, /* if it sees every call there */
    SLIDE_LOSSY, /* also behind conditional jumps: calls that have jumped away by then are not seen */
};

/*
 * Resolves SPEC for TARGET into *SITES (malloc; freed by sites_free). BINARY:FUNCTION[+OFFSET], where BINARY is a path
 * (has a slash), a command in $PATH, or a library short name ("libc", "libssl"): for running processes through their
 * mappings, inside their own root; for a command through DT_NEEDED, RUNPATH and ld.so.cache; without a target through
 * ld.so.cache. Two target processes with different binaries give a site each. Symbols come from .symtab and .dynsym,
 * also of separate debug files. With * ? [ FUNCTION is a pattern; with "::" or "(" it is a C++ or Rust name as people
 * read it, as it also is where no symbol has that name. BINARY@FILE:LINE is a source line, by DWARF. +OFFSET must be an
 * instruction boundary (Zydis on x86). Errors name the spec, what was searched and close matches ("did you mean
 * malloc?"); IFUNC symbols are refused with their remedy.
 */
int probe_resolve(const char *spec, const struct target *target, struct site **sites, size_t *count, struct error *err);
void sites_free(struct site *sites, size_t count);

/* A function that a pattern matches and that is not probed. */
struct skipped {
    char *function;
    const char *why; /* a sentence's part, static */
};

enum { MAX_SITES = 100000 };

struct sites {
    struct site *items; /* by file */
    size_t count;
    struct skipped *skipped;
    size_t skipped_count;
};

/* Where probes see the returns of functions. */
enum returns {
    RETURNS_NOT_SEEN,
    /* the kernel replaces the return address; of Go's functions, which do not survive that, as the next */
    RETURNS_BY_ADDRESS,
    RETURNS_FOR_SURE,       /* the same, and nobody has to know by which other ways they may be left */
    RETURNS_BY_INSTRUCTION, /* at their return instructions, which become sites too (probe/spec/return_sites.h) */
};

/*
 * The same for the COUNT specs SPECS together: what several of them mean is one site. RETURNS: what they are for. Some
 * functions do not survive return probes; these are refused, or left out where a pattern means them
 * (probe/spec/deny.h). More than MAX_SITES are refused. -ENXIO: see resolve.h. The caller frees with probe_sites_free,
 * unless it fails.
 */
int probe_resolve_all(const char *const *specs, size_t count, const struct target *target, enum returns returns,
                      struct sites *sites, struct error *err);
void probe_sites_free(struct sites *sites);
/* Drops those of SITES for which KEPT, of as many, has false. */
void probe_sites_keep(struct sites *sites, const bool *kept);
/* Whether SITE stands where the kernel puts no probe (REFUSED). */
static inline bool site_is_refused(const struct site *site)
{
    return site->refused && !site->slid;
}
/* Says so in ERR. -EPERM. */
int site_refuse(const struct site *site, struct error *err);
/* Leaves out those of SITES that stand so and are of a pattern; where one is not, or none is left, that is the error.
 */
int probe_sites_leave_refused(struct sites *sites, struct error *err);
/* Moves those of SITES that are functions' entries (probe/spec/slide.h), as far as handlers that READ so much may, and
 * finds out what they cost. 0 or -ENOMEM. */
int slide_sites(struct site *sites, size_t count, enum slide slide, const struct entry_reads *reads, struct error *err);
/*
 * Moves those of SITES back to where they were that do not have what a handler READS, and tells in *STAND how it comes
 * by that at the others; ARENA owns its shapes. Sites that are back stay there.
 */
void slide_settle(struct sites *sites, const struct entry_reads *reads, struct arena *arena, struct entry_stand *stand);
/* At how many of SITES that are entries, or behind them, a handler that READS so much costs no step. */
size_t slide_count(const struct sites *sites, const struct entry_reads *reads);
/* Moves all of SITES back; or SITE alone. */
void slide_back(struct sites *sites);
void site_stay(struct site *site);
/* For programs that do not tell calls from jumps of functions to their own entries: nothing marks those. */
void sites_forget_reentries(struct sites *sites);
/* Where the registers of the entry are at SITE, for people, malloc'd: "rdi = rbx, rsi gone, rsp = rsp + 24"; not the
 * flags, which are gone nearly everywhere. NULL where all are as they were, or there is no memory. */
char *slide_describe(const struct site *site);

/*
 * The modules of TARGET (mapped executables and libraries, without duplicates; for a command its DT_NEEDED closure)
 * that define one of the NAME_COUNT functions NAMES themselves, as module names usable in a spec
 * ("/usr/lib/…/libc.so.6:malloc" resolves). *PATHS is one malloc'd array of malloc'd strings.
 */
int probe_modules_defining(const char *const *names, size_t name_count, const struct target *target, char ***paths,
                           size_t *count, struct error *err);
/* Whether the file at PATH is such a module. */
bool probe_file_defines(const char *path, const char *const *names, size_t count);
/*
 * Sets each of the COUNT OFFSETS to where in the file MODULE, named as in a spec, the function of that of NAMES begins;
 * -1: it defines none. 0 or -errno.
 */
int probe_offsets(const char *module, const char *const *names, size_t count, const struct target *target,
                  int64_t *offsets, struct error *err);

/* The file's name, malloc'd, of TARGET's program where that is a command's and carries its libraries in itself; NULL:
 * it does not. */
char *probe_static_command(const struct target *target);

enum attach_kind {
    ATTACH_ENTRY,   /* program runs at the instruction */
    ATTACH_RETURN,  /* program runs when the function returns */
    ATTACH_SESSION, /* program (attach type 57) runs at both */
    ATTACH_EXIT,    /* program runs at those sites that are exits, where ATTACH_ENTRY leaves them out */
};

struct probe_link;

/*
 * Attaches the program PROGRAM_FD at the COUNT sites, where bpf_get_attach_cookie gives it COOKIE (below 2^16), which
 * site, and how far that slid (sys/cookie.h). Through uprobe_multi (one link per binary and target process) where
 * FEATURE_UPROBE_MULTI is available, else one perf event per site. Only TARGET's processes are trapped where the kernel
 * can filter; the program runs once for a hit, but may see those of others and has to ask for its process. The program
 * must have been loaded with probe_attach_type(kind). On failure nothing stays attached.
 */
int probe_attach(enum attach_kind kind, int program_fd, uint64_t cookie, const struct site *sites, size_t count,
                 const struct target *target, struct probe_link **link, struct error *err);
/*
 * A link that is for one process is bound to the task of its first thread. Where another thread executes a program,
 * that task goes (de_thread of the kernel), and the link sees nothing any more. These two bind it anew: probe_release
 * takes what LINK has for PID alone out of it, into *GONE. Where that is NULL, LINK goes on seeing PID as it is; else
 * probe_attach_again attaches for PID what probe_attach was given, and keeps that in LINK. *GONE is to be detached
 * between the two where probe_attach_type(KIND) is not 0: links of uprobe_multi that are bound to the old task see the
 * hits of the new one as soon as another link has put its breakpoints there. Perf events see none, and take long to be
 * closed: these go last. 0 or a negative errno with a message; LINK keeps what it has.
 */
int probe_release(struct probe_link *link, pid_t pid, struct probe_link **gone, struct error *err);
int probe_attach_again(enum attach_kind kind, int program_fd, uint64_t cookie, const struct site *sites, size_t count,
                       pid_t pid, struct probe_link *link, struct error *err);
/*
 * The function NUMBER (from 0) of several that were to be attached to and that the kernel puts no probe on, owned by
 * LINK: the rest is attached. NULL: there are no more.
 */
const char *probe_refused(const struct probe_link *link, size_t number);
/*
 * The file NUMBER (from 0) that LINK has probes in, as people know it, and in *CHANGE what has become of it since.
 * NULL: there are no more. Owned by LINK.
 */
const char *probe_file(const struct probe_link *link, size_t number, enum stamp_change *change);
/* Has WATCHER (stamp_watcher) watch those files that are still the same. */
void probe_watch_files(const struct probe_link *link, int watcher);
/* Whether programs of KIND that are attached for TARGET see the hits of its processes only: the kernel asks. Else the
 * program has to. */
bool probe_filters(enum attach_kind kind, const struct target *target);
/* Expected attach type for BPF_PROG_LOAD of a program of KIND on this kernel: 0, 48 or 57. */
uint32_t probe_attach_type(enum attach_kind kind);
/* Detaches. NULL is fine. When it returns the program does not run any more. */
void probe_detach(struct probe_link *link);
/*
 * Detaches COUNT links at the same time: the kernel waits 20 to 70 ms for each, but for many at once no longer than for
 * one.
 */
void probe_detach_all(struct probe_link *const *links, size_t count);
