/* Attaches to functions of the kernel. */
#include "probe/attach/kernel.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/suggest.h"
#include "probe/attach/link.h"
#include "sym/kernel.h"
#include "sys/bpf.h"
#include "sys/capability.h"
#include "sys/cookie.h"
#include "sys/feature.h"
#include "sys/perf.h"

enum {
    MAX_BY_EVENT = 1000, /* each takes a descriptor and some milliseconds */
    MAX_BY_LINK = 65536,
};

/* --- from a spec to functions --- */

struct kernel_search {
    const char *module; /* NULL: any */
    const char *function;
    struct kernel_sites *sites;
    struct suggest near;
    bool module_seen;
};

/* Symbols that compilers and the kernel's build make beside a function: no calls arrive there. */
static bool is_by_product(const char *name)
{
    return strstr(name, ".cold") || !strncmp(name, "__pfx_", 6) || !strncmp(name, "__cfi_", 6) ||
           !strncmp(name, "__SCT__", 7);
}

/* What a function returns to while the kernel follows it: since 5.18, or later by CPU, the first. */
static bool is_trampoline(const char *name)
{
    return !strcmp(name, "arch_rethook_trampoline") || !strcmp(name, "__kretprobe_trampoline");
}

static int keep(struct kernel_search *search, const char *function, const char *module, uint64_t address)
{
    struct kernel_sites *sites = search->sites;
    struct kernel_site *site = array_add(&sites->sites, &sites->count, sizeof *site);
    if (!site)
        return -ENOMEM;
    *site = (struct kernel_site){
        .function = strdup(function), .module = *module ? strdup(module) : NULL, .address = address};
    return site->function && (!*module || site->module) ? 0 : -ENOMEM;
}

static int visit(const char *function, const char *module, uint64_t address, void *context)
{
    struct kernel_search *search = context;
    if (!*module && is_trampoline(function))
        search->sites->trampoline = address;
    if (search->module && strcmp(module, search->module))
        return 0;
    search->module_seen = true;
    bool found = search->sites->pattern ? !is_by_product(function) && !fnmatch(search->function, function, 0)
                                        : !strcmp(search->function, function);
    if (found)
        return keep(search, function, module, address);
    if (!search->sites->pattern)
        suggest_offer(&search->near, function, strlen(function));
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct kernel_site *left = a, *right = b;
    int order = strcmp(left->function, right->function);
    if (!order)
        order = strcmp(left->module ? left->module : "", right->module ? right->module : "");
    return order ? order : (left->address > right->address) - (left->address < right->address);
}

static bool same_name(const struct kernel_site *a, const struct kernel_site *b)
{
    return !strcmp(a->function, b->function) && !strcmp(a->module ? a->module : "", b->module ? b->module : "");
}

static void free_site(struct kernel_site *site)
{
    free(site->function);
    free(site->module);
}

/* Brings the sites into order and drops what stands there twice. */
static void settle(struct kernel_sites *sites)
{
    size_t kept = 0;
    qsort(sites->sites, sites->count, sizeof *sites->sites, by_name);
    for (size_t i = 0; i < sites->count; i++) {
        struct kernel_site *site = &sites->sites[i], *last = kept ? &sites->sites[kept - 1] : NULL;
        bool shares = last && same_name(last, site);
        if (shares && last->address == site->address) {
            free_site(site);
            continue;
        }
        if (shares)
            last->shares_name = site->shares_name = true;
        sites->sites[kept++] = *site;
    }
    sites->count = kept;
}

/* Cuts "+0x1c" off the end of FUNCTION. */
static int cut_offset(const char *spec, char *function, uint64_t *offset, struct error *err)
{
    char *plus = strchr(function, '+'), *end;
    if (!plus)
        return 0;
    errno = 0;
    *offset = strtoull(plus + 1, &end, 0);
    if (!isdigit((unsigned char)plus[1]) || *end || errno)
        return error_set(err, -EINVAL, "%s: '%s' is not an offset; write a number of bytes such as +28 or +0x1c", spec,
                         plus);
    *plus = '\0';
    if (*offset && strpbrk(function, "*?["))
        return error_set(err, -EINVAL, "%s: an offset needs one function, not a pattern", spec);
    return 0;
}

static int not_found(const char *spec, struct kernel_search *search, struct error *err)
{
    if (search->module && !search->module_seen)
        return error_set(err, -ENOENT, "%s: the kernel has no module %s loaded; see lsmod", spec, search->module);
    const char *where = search->module ? search->module : "kernel";
    return error_set(err, -ENOENT, "%s: no such function in the %s%s", spec, where, suggest_text(&search->near));
}

static int find(const char *spec, const char *symbols, struct kernel_search *search, struct error *err)
{
    suggest_init(&search->near, search->function);
    search->sites->pattern = strpbrk(search->function, "*?[");
    int code = kernel_functions(symbols, visit, search);
    if (code == -ENOMEM)
        return error_set(err, code, "%s: out of memory", spec);
    if (code < 0)
        return error_set(err, code, "%s: cannot read the kernel's functions in %s: %s", spec, symbols,
                         error_reason(code));
    settle(search->sites);
    return search->sites->count ? 0 : not_found(spec, search, err);
}

int kernel_resolve(const char *spec, const char *symbols, struct kernel_sites *sites, struct error *err)
{
    memset(sites, 0, sizeof *sites);
    char *text = strdup(spec);
    if (!text)
        return error_set(err, -ENOMEM, "out of memory");
    char *colon = strchr(text, ':');
    if (colon)
        *colon = '\0';
    struct kernel_search search = {.module = colon ? text : NULL, .function = colon ? colon + 1 : text, .sites = sites};
    int code = !*text || !*search.function
                   ? error_set(err, -EINVAL,
                               "'%s' names no function; write FUNCTION, such as vfs_read, or MODULE:FUNCTION", spec)
                   : cut_offset(spec, colon ? colon + 1 : text, &sites->inside, err);
    if (!code)
        code = find(spec, symbols, &search, err);
    free(text);
    if (code)
        kernel_sites_free(sites);
    return code;
}

void kernel_sites_free(struct kernel_sites *sites)
{
    for (size_t i = 0; i < sites->count; i++)
        free_site(&sites->sites[i]);
    free(sites->sites);
    memset(sites, 0, sizeof *sites);
}

void kernel_sites_keep(struct kernel_sites *sites, const bool *kept)
{
    size_t count = 0;
    for (size_t i = 0; i < sites->count; i++) {
        if (kept[i])
            sites->sites[count++] = sites->sites[i];
        else
            free_site(&sites->sites[i]);
    }
    sites->count = count;
}

/* --- from functions to links --- */

static int not_permitted(int code, const char *what, struct error *err)
{
    const char *missing = capability_missing();
    return error_set(err, code, "cannot probe %s: this needs %s; run uplua as root", what,
                     missing ? missing : "CAP_SYS_ADMIN");
}

int kernel_check(const char *kind, struct error *err)
{
    int code = feature_available(FEATURE_KPROBE_MULTI) ? 0 : feature_code(FEATURE_KPROBE);
    if (code == -EPERM || code == -EACCES)
        return not_permitted(code, "the kernel's functions", err);
    if (code)
        return error_set(
            err, code,
            "%s: this kernel has no kprobes (%s); it has tracepoints: up.tracepoint, or up.syscall for system "
            "calls",
            kind, code == -ECANCELED ? "UPLUA_WITHOUT" : "CONFIG_KPROBE_EVENTS");
    return 0;
}

static int failed(int code, const struct kernel_sites *sites, const struct kernel_site *site, struct error *err)
{
    const char *name = site->function;
    switch (code) {
    case -EPERM:
    case -EACCES:
        return not_permitted(code, name, err);
    case -EILSEQ:
        return error_set(err, code, "cannot probe %s: no instruction starts at +%#llx", name,
                         (unsigned long long)sites->inside);
    case -EADDRNOTAVAIL:
        return error_set(err, code,
                         "cannot probe %s: several functions have this name, and their addresses are hidden "
                         "(sysctl kernel.kptr_restrict)",
                         name);
    case -EINVAL:
    case -ENOENT:
    case -ESRCH:
    case -EOPNOTSUPP:
        return error_set(
            err, code,
            "cannot probe %s: the kernel permits no probe there: probes themselves need it, or its code is gone "
            "(see kprobes/blacklist in debugfs)",
            name);
    default:
        return error_set(err, code, "cannot probe %s: %s", name, error_reason(code));
    }
}

/* One call of kernel_attach. */
struct kernel_attach {
    int program;
    uint64_t cookie;
    const struct kernel_sites *sites;
    bool at_return;
    struct probe_link *link;
};

/* Room for a module's name (56 bytes at most), a colon, and a symbol's (KSYM_NAME_LEN is 512). */
enum { NAME_SIZE = 576 };

/* By which the program knows the site. */
static uint64_t cookie_of(const struct kernel_attach *attach, size_t site)
{
    return attach->cookie | (uint64_t)site << COOKIE_SITE_SHIFT;
}

static int attach_site(const struct kernel_attach *attach, const struct kernel_site *site)
{
    char name[NAME_SIZE];
    bool by_address = site->shares_name && site->address;
    snprintf(name, sizeof name, "%s%s%s", site->module ? site->module : "", site->module ? ":" : "", site->function);
    struct perf_kprobe probe = {
        .function = by_address ? NULL : name,
        .offset = attach->sites->inside,
        .address = site->address + attach->sites->inside,
        .at_return = attach->at_return,
        .cookie = cookie_of(attach, (size_t)(site - attach->sites->sites)),
    };
    return link_keep(attach->link, perf_kprobe_attach(attach->program, &probe));
}

static bool is_refused(int code)
{
    return code == -EINVAL || code == -ENOENT || code == -ESRCH || code == -EOPNOTSUPP;
}

/* One event for each function. */
static int attach_events(const struct kernel_attach *attach, size_t *left_out, struct error *err)
{
    const struct kernel_sites *sites = attach->sites;
    for (size_t i = 0; i < sites->count; i++) {
        int code = attach_site(attach, &sites->sites[i]);
        if (code && !(sites->pattern && is_refused(code)))
            return failed(code, sites, &sites->sites[i], err);
        *left_out += code != 0;
    }
    return 0;
}

/* What a link of many kprobes is made from, by site. */
struct words {
    const char **names;
    uint64_t *addresses, *cookies;
    bool hidden; /* the addresses */
};

/*
 * One link for COUNT sites from FIRST on. Where the kernel refuses it, it does not say for which: then one for each
 * half, down to the sites that it means.
 */
static int attach_link(const struct kernel_attach *attach, const struct words *words, size_t first, size_t count,
                       size_t *left_out, struct error *err)
{
    struct kprobe_multi probe = {
        .functions = words->hidden ? words->names + first : NULL,
        .addresses = words->hidden ? NULL : words->addresses + first,
        .cookies = words->cookies + first,
        .count = (uint32_t)count,
    };
    int code = link_keep(attach->link, kprobe_multi_link(attach->program, &probe));
    if (!code)
        return 0;
    if (!attach->sites->pattern || !is_refused(code))
        return failed(code, attach->sites, &attach->sites->sites[first], err);
    if (count == 1) {
        ++*left_out;
        return 0;
    }
    code = attach_link(attach, words, first, count / 2, left_out, err);
    return code ? code : attach_link(attach, words, first + count / 2, count - count / 2, left_out, err);
}

static int attach_links(const struct kernel_attach *attach, size_t *left_out, struct error *err)
{
    size_t count = attach->sites->count;
    uint64_t *numbers = calloc(count, 2 * sizeof *numbers);
    struct words words = {
        .names = calloc(count, sizeof *words.names), .addresses = numbers, .cookies = numbers + count};
    int code = words.names && numbers ? 0 : error_set(err, -ENOMEM, "out of memory");
    for (size_t i = 0; i < count && !code; i++) {
        words.names[i] = attach->sites->sites[i].function;
        words.addresses[i] = attach->sites->sites[i].address;
        words.cookies[i] = cookie_of(attach, i);
        words.hidden |= !words.addresses[i];
    }
    if (!code)
        code = attach_link(attach, &words, 0, count, left_out, err);
    free(words.names);
    free(numbers);
    return code;
}

int kernel_attach(int program_fd, uint64_t cookie, const struct kernel_sites *sites, enum kernel_place place,
                  struct probe_link **link, size_t *left_out, struct error *err)
{
    bool together = feature_available(FEATURE_KPROBE_MULTI) && !sites->inside && place == KERNEL_ENTRY;
    size_t most = together ? MAX_BY_LINK : MAX_BY_EVENT;
    *left_out = 0;
    *link = NULL;
    if (sites->count > most)
        return error_set(err, -E2BIG,
                         "%zu functions match; this kernel can be probed at %zu at a time: write a narrower pattern",
                         sites->count, most);
    if (link_new(link, err) < 0)
        return -ENOMEM;
    struct kernel_attach attach = {
        .program = program_fd, .cookie = cookie, .sites = sites, .at_return = place == KERNEL_RETURN, .link = *link};
    int code = together ? attach_links(&attach, left_out, err) : attach_events(&attach, left_out, err);
    if (!code && *left_out == sites->count)
        code = failed(-EINVAL, sites, sites->sites, err);
    return link_settle(link, code);
}

/* --- calls from the function itself --- */

/* Why functions can call no handlers, as trying it has returned CODE. */
static const char *why_no_trampoline(int code)
{
    enum { ENOTSUPP_KERNEL = 524 }; /* include/linux/errno.h: register_fentry, where ftrace calls nothing directly */
    if (code == -ENOTSUPP_KERNEL)
        return "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS, which aarch64 has since Linux 6.4";
    return code == -ECANCELED ? "UPLUA_WITHOUT" : code == -EPERM ? "it is locked down" : "CONFIG_FUNCTION_TRACER";
}

int kernel_check_trampoline(const char *kind, struct error *err)
{
    int code = feature_code(FEATURE_BTF);
    if (code)
        return error_set(err, code, "%s: this kernel does not tell its types (CONFIG_DEBUG_INFO_BTF); use up.kprobe",
                         kind);
    code = feature_code(FEATURE_TRAMPOLINE);
    if ((code == -EPERM || code == -EACCES) && capability_missing())
        return not_permitted(code, "the kernel's functions", err);
    if (code)
        return error_set(err, code, "%s: this kernel's functions can call no handlers (%s); %s", kind,
                         why_no_trampoline(code),
                         feature_available(FEATURE_KPROBE) ? "use up.kprobe" : "it has tracepoints: up.tracepoint");
    return 0;
}

int kernel_attach_trampoline(int program_fd, const char *function, struct probe_link **link, struct error *err)
{
    int code = link_one(link, raw_tracepoint_link(program_fd, NULL));
    if (!code)
        return 0;
    if (code == -EBUSY || code == -EINVAL || code == -ENOENT)
        return error_set(err, code, "cannot probe %s: it cannot call handlers; use up.kprobe", function);
    return code == -EPERM || code == -EACCES
               ? not_permitted(code, function, err)
               : error_set(err, code, "cannot probe %s: %s", function, error_reason(code));
}
