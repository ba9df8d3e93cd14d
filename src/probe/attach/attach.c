/* Attaches programs to the sites of functions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/attach/link.h"
#include "probe/attach/translator.h"
#include "probe/probe.h"
#include "probe/reentry.h"
#include "sys/bpf.h"
#include "sys/capability.h"
#include "sys/cookie.h"
#include "sys/feature.h"
#include "sys/perf.h"
#include "sys/procstat.h"

/*
 * Above this number of processes one link without a filter is cheaper than one for each: all links of a site are asked
 * at every hit, and the program checks its process itself.
 */
enum { MAX_FILTERED = 16 };

#ifndef ENOTSUPP
#define ENOTSUPP 524 /* the kernel's own; uprobes say it of instructions that they cannot step */
#endif

/* One call of probe_attach. */
struct uprobe_attach {
    enum attach_kind kind;
    int program;
    uint64_t cookie;
    const struct site *sites; /* all */
    const pid_t *pids;        /* one link for each; 0 means all processes */
    size_t pid_count;
    const struct target *target; /* or NULL */
    struct probe_link *link;
};

uint32_t probe_attach_type(enum attach_kind kind)
{
    if (kind == ATTACH_SESSION)
        return ATTACH_TYPE_UPROBE_SESSION;
    return feature_available(FEATURE_UPROBE_MULTI) ? ATTACH_TYPE_UPROBE_MULTI : 0;
}

static int failed(int code, const struct site *site, struct error *err)
{
    const char *where = site->module;
    if (code == -ENOENT && procstat_exited(site->path))
        code = -ESRCH;
    switch (code) {
    case -EPERM:
    case -EACCES:
        /* Kernels with the fix of CVE-2025-38466 want more for a uprobe event than for a uprobe_multi link. */
        return error_set(err, code, "cannot attach to %s in %s: this needs %s; run uplua as root", site->function,
                         where, capability_missing() ? capability_missing() : "CAP_SYS_ADMIN");
    case -ENOENT:
        return error_set(err, code, "cannot attach to %s: %s is gone", site->function, where);
    case -ESRCH:
        return error_set(err, code, "cannot attach to %s in %s: the process has exited", site->function, where);
    case -EIO:
        return error_set(err, code, "cannot attach to %s: the kernel puts no probes into files of the filesystem of %s",
                         site->function, where);
    case -ENOTSUPP:
    case -EOPNOTSUPP:
    case -ENOEXEC:
        return error_set(err, code,
                         "cannot attach to %s in %s: the kernel refuses a probe on the instruction at file "
                         "offset %#llx",
                         site->function, where, (unsigned long long)site->offset);
    case -EINVAL:
        /* All probes of a place share one counter of its file, or have none (alloc_uprobe of the kernel). */
        return error_set(
            err, code,
            "cannot attach to %s in %s: the kernel refuses a probe at file offset %#llx; beside a USDT probe that "
            "raises a semaphore, or another tracer's probe with such a counter, it takes none without",
            site->function, where, (unsigned long long)site->offset);
    case -ENODEV:
        return error_set(err, code, "cannot attach to %s in %s: this kernel has no uprobes (CONFIG_UPROBE_EVENTS)",
                         site->function, where);
    default:
        return error_set(err, code, "cannot attach to %s in %s: %s", site->function, where, error_reason(code));
    }
}

static uint64_t cookie_of(const struct uprobe_attach *attach, const struct site *site)
{
    return attach->cookie | (uint64_t)site->slid << COOKIE_SLID_SHIFT | (uint64_t)site->entry << COOKIE_ENTRY_SHIFT |
           (uint64_t)(site - attach->sites) << COOKIE_SITE_SHIFT | (uint64_t)(site->moved / 8) << COOKIE_MOVED_SHIFT |
           (uint64_t)site->shape << COOKIE_SHAPE_SHIFT |
           (uint64_t)(site->reentries && site->reentries->repeats ? COOKIE_REPEATS : COOKIE_CALL) << COOKIE_ROLE_SHIFT;
}

/* At how many places the program takes down what comes next, of SITE's function. */
static size_t marks_of(const struct uprobe_attach *attach, const struct site *site)
{
    bool is_entry = attach->kind == ATTACH_ENTRY || attach->kind == ATTACH_SESSION;
    return is_entry && site->reentries ? site->reentries->count : 0;
}

/* Where mark NUMBER of SITE is, in *COOKIE what the program is told there. */
static uint64_t mark_at(const struct uprobe_attach *attach, const struct site *site, size_t number, uint64_t *cookie)
{
    const struct reentry_mark *mark = &site->reentries->marks[number];
    *cookie = attach->cookie | (uint64_t)(site - attach->sites) << COOKIE_SITE_SHIFT |
              (uint64_t)(mark->passed ? COOKIE_PASSED : COOKIE_REENTERS) << COOKIE_ROLE_SHIFT;
    return site->offset - site->slid + mark->inside;
}

/* Places in one file, as the kernel wants them. */
struct places {
    const uint64_t *offsets, *cookies;
    const uint64_t *semaphores; /* or NULL */
};

/* A link at the COUNT PLACES, which are all in the file of SITE: its descriptor or -errno. */
static int link_multi(const struct uprobe_attach *attach, const struct site *site, pid_t pid,
                      const struct places *places, size_t count)
{
    bool session = attach->kind == ATTACH_SESSION;
    struct uprobe_multi probe = {
        .attach_type = session ? ATTACH_TYPE_UPROBE_SESSION : ATTACH_TYPE_UPROBE_MULTI,
        .path = site->path,
        .offsets = places->offsets,
        .cookies = places->cookies,
        .semaphores = places->semaphores,
        .count = (uint32_t)count,
        .at_return = attach->kind == ATTACH_RETURN,
        .pid = pid,
    };
    return uprobe_multi_link(attach->program, &probe);
}

/* True if CODE says that the kernel does not take an instruction. */
static bool is_refusal(int code)
{
    return code == -ENOTSUPP || code == -EOPNOTSUPP || code == -ENOEXEC || code == -EINVAL;
}

/*
 * Links the COUNT places. Where the kernel refuses an instruction, the halves get links of their own, down to the one
 * place that it refuses; which instructions it takes depends on its version. 0 or -errno: of a place that is ALONE,
 * also that.
 */
static int link_or_halve(const struct uprobe_attach *attach, const struct site *site, pid_t pid,
                         const struct places *places, size_t count, bool alone)
{
    int fd = link_multi(attach, site, pid, places, count);
    if (fd >= 0)
        return link_keep(attach->link, fd);
    if (!is_refusal(fd) || alone)
        return fd;
    if (count == 1)
        return link_refuse(attach->link,
                           attach->sites[*places->cookies >> COOKIE_SITE_SHIFT & COOKIE_SITE_MASK].function);
    size_t half = count / 2;
    struct places rest = {places->offsets + half, places->cookies + half,
                          places->semaphores ? places->semaphores + half : NULL};
    int result = link_or_halve(attach, site, pid, places, half, false);
    return result < 0 ? result : link_or_halve(attach, site, pid, &rest, count - half, false);
}

static bool have_semaphores(const struct site *sites, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sites[i].semaphore)
            return true;
    return false;
}

/* True if the program is to run at SITE. */
static bool is_meant(const struct uprobe_attach *attach, const struct site *site)
{
    return site->is_exit == (attach->kind == ATTACH_EXIT);
}

/*
 * What the program is to run at and where the kernel puts no probe, as the handler reads what is gone behind it: told
 * of here, as the kernel tells only where the file is mapped by then. 0, 1: SITE is not to be attached to, or -errno.
 */
static int refuse(const struct uprobe_attach *attach, const struct site *site, struct error *err)
{
    if (!site_is_refused(site))
        return 0;
    if (!site->of_pattern)
        return site_refuse(site, err);
    return link_refuse(attach->link, site->function) < 0 ? error_set(err, -ENOMEM, "out of memory") : 1;
}

/* How many places the program is to run at, of the COUNT SITES and the marks in their functions. */
static size_t count_places(const struct uprobe_attach *attach, const struct site *sites, size_t count)
{
    size_t places = count;
    for (size_t i = 0; i < count; i++)
        places += marks_of(attach, &sites[i]);
    return places;
}

/* All SITES lie in one file. WORDS: room for three for each of the ROOM places. */
static int attach_multi(const struct uprobe_attach *attach, const struct site *sites, uint64_t *words, size_t room,
                        size_t count, struct error *err)
{
    uint64_t *offsets = words, *cookies = words + room, *semaphores = words + 2 * room;
    struct places places = {offsets, cookies, have_semaphores(sites, count) ? semaphores : NULL};
    size_t meant = 0;
    for (size_t i = 0; i < count; i++) {
        int refused = is_meant(attach, &sites[i]) ? refuse(attach, &sites[i], err) : 1;
        if (refused < 0)
            return refused;
        if (refused)
            continue;
        offsets[meant] = sites[i].offset;
        cookies[meant] = cookie_of(attach, &sites[i]);
        semaphores[meant++] = sites[i].semaphore;
        for (size_t mark = 0; mark < marks_of(attach, &sites[i]); mark++, meant++)
            offsets[meant] = mark_at(attach, &sites[i], mark, &cookies[meant]);
    }
    for (size_t i = 0; i < attach->pid_count && meant; i++) {
        attach->link->pid = attach->pids[i];
        int result = link_or_halve(attach, sites, attach->pids[i], &places, meant, meant == 1);
        if (result < 0)
            return failed(result, sites, err);
    }
    return 0;
}

/* Attaches by perf events what PROBE says, for SITE; where that is one of SEVERAL, the kernel may refuse it. */
static int attach_event(const struct uprobe_attach *attach, const struct site *site, struct perf_uprobe *probe,
                        bool several, struct error *err)
{
    for (size_t i = 0; i < attach->pid_count; i++) {
        probe->pid = attach->link->pid = attach->pids[i];
        int fd = perf_uprobe_attach(attach->program, probe);
        if (is_refusal(fd) && several)
            return link_refuse(attach->link, site->function) < 0 ? error_set(err, -ENOMEM, "out of memory") : 0;
        int result = link_keep(attach->link, fd);
        if (result < 0)
            return failed(result, site, err);
    }
    return 0;
}

static int attach_perf(const struct uprobe_attach *attach, const struct site *sites, size_t count, struct error *err)
{
    int result = 0;
    for (size_t s = 0; s < count && result == 0; s++) {
        int refused = is_meant(attach, &sites[s]) ? refuse(attach, &sites[s], err) : 1;
        if (refused < 0)
            return refused;
        if (refused)
            continue;
        struct perf_uprobe probe = {
            .path = sites[s].path,
            .offset = sites[s].offset,
            .at_return = attach->kind == ATTACH_RETURN,
            .cookie = cookie_of(attach, &sites[s]),
            .semaphore = sites[s].semaphore,
        };
        result = attach_event(attach, &sites[s], &probe, count > 1, err);
        for (size_t mark = 0; mark < marks_of(attach, &sites[s]) && result == 0; mark++) {
            probe.offset = mark_at(attach, &sites[s], mark, &probe.cookie);
            result = attach_event(attach, &sites[s], &probe, false, err);
        }
    }
    return result;
}

static int attach_places(const struct uprobe_attach *attach, const struct site *sites, size_t count, struct error *err)
{
    if (attach->kind != ATTACH_SESSION && !feature_available(FEATURE_UPROBE_MULTI))
        return attach_perf(attach, sites, count, err);
    size_t room = count_places(attach, sites, count);
    uint64_t *words = calloc(room, 3 * sizeof *words);
    if (!words)
        return error_set(err, -ENOMEM, "out of memory");
    int result = attach_multi(attach, sites, words, room, count, err);
    free(words);
    return result;
}

/* Whether the file of SITE is still as it was when the site was found. Where its name is gone, the probes have the
 * file. */
static int check_file(const struct site *site, struct error *err)
{
    switch (stamp_compare(&site->file, site->path)) {
    case STAMP_REPLACED:
        return error_set(
            err, -ESTALE,
            "cannot attach to %s: %s was replaced by another file while the probes were being set; run uplua again",
            site->function, site->module);
    case STAMP_WRITTEN:
        return error_set(err, -ESTALE,
                         "cannot attach to %s: %s was written to while the probes were being set, which could stand in "
                         "the middle of "
                         "instructions now; run uplua again",
                         site->function, site->module);
    default:
        return 0;
    }
}

/*
 * The kernel opens the path anew, and puts the probes at the places that were found earlier. So the file is checked
 * before the attach, to harm no process, and again after it. From then on the watch over the link's files sees every
 * change.
 */
static int attach_file(const struct uprobe_attach *attach, const struct site *sites, size_t count, struct error *err)
{
    int result = check_file(sites, err);
    if (result == 0)
        result = translator_check(sites, attach->target, attach->pids, attach->pid_count, err);
    if (result == 0)
        result = attach_places(attach, sites, count, err);
    if (result == 0)
        result = check_file(sites, err);
    if (result < 0)
        return result;
    result = link_file(attach->link, sites);
    return result < 0 ? failed(result, sites, err) : 0;
}

/*
 * Whether links that are each for one process see the hits of that process alone. A perf event at returns does not:
 * Linux 6.1 asks for its process at the entry only, so that at a return the events of all processes fire, each once.
 */
static bool filters_exactly(enum attach_kind kind, const struct target *target)
{
    if (kind == ATTACH_SESSION || feature_available(FEATURE_UPROBE_MULTI))
        return uprobe_multi_filters_process();
    return kind != ATTACH_RETURN || target->count == 1;
}

bool probe_filters(enum attach_kind kind, const struct target *target)
{
    return target && target->count && !target->follow && target->count <= MAX_FILTERED && filters_exactly(kind, target);
}

/* The processes to filter by in ATTACH: none where the kernel cannot, where there are too many, or where others
 * come. */
static void choose_filter(struct uprobe_attach *attach, const struct target *target)
{
    static const pid_t everyone = 0;
    attach->pids = &everyone;
    attach->pid_count = 1;
    if (probe_filters(attach->kind, target)) {
        attach->pids = target->pids;
        attach->pid_count = target->count;
    }
}

/* Attaches at the COUNT SITES, file by file. */
static int attach_files(const struct uprobe_attach *attach, size_t count, struct error *err)
{
    const struct site *sites = attach->sites;
    int result = 0;
    for (size_t i = 0, n; i < count && result == 0; i += n) {
        for (n = 1; i + n < count && strcmp(sites[i + n].path, sites[i].path) == 0; n++)
            continue;
        result = attach_file(attach, sites + i, n, err);
    }
    return result;
}

int probe_attach(enum attach_kind kind, int program_fd, uint64_t cookie, const struct site *sites, size_t count,
                 const struct target *target, struct probe_link **link, struct error *err)
{
    if (link_new(link, err) < 0)
        return -ENOMEM;
    struct uprobe_attach attach = {
        .kind = kind, .program = program_fd, .cookie = cookie, .sites = sites, .target = target, .link = *link};
    choose_filter(&attach, target);
    int result = attach_files(&attach, count, err);
    if (result == 0 && !(*link)->count)
        result = error_set(
            err, -EINVAL,
            "cannot attach to %s in %s: the kernel refuses a probe on its first instruction, and on all others",
            sites->function, sites->module);
    return link_settle(link, result);
}

int probe_release(struct probe_link *link, pid_t pid, struct probe_link **gone, struct error *err)
{
    return link_take(link, pid, gone) < 0 ? error_set(err, -ENOMEM, "out of memory") : 0;
}

int probe_attach_again(enum attach_kind kind, int program_fd, uint64_t cookie, const struct site *sites, size_t count,
                       pid_t pid, struct probe_link *link, struct error *err)
{
    struct uprobe_attach attach = {.kind = kind,
                                   .program = program_fd,
                                   .cookie = cookie,
                                   .sites = sites,
                                   .pids = &pid,
                                   .pid_count = 1,
                                   .link = link};
    return attach_files(&attach, count, err);
}
