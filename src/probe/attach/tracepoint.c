/* Finds tracepoints and their fields, and attaches to them. */
#include "probe/attach/tracepoint.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "base/array.h"
#include "base/suggest.h"
#include "probe/attach/link.h"
#include "sys/capability.h"
#include "sys/perf.h"
#include "sys/tracefs.h"

enum { MAX_NAME = 128 };

/* --- names --- */

/* Splits SPEC at its colon. */
static int split(const char *spec, char system[MAX_NAME], char name[MAX_NAME])
{
    const char *colon = strchr(spec, ':');
    if (!colon || colon == spec || !colon[1] || strchr(colon + 1, ':') || strchr(spec, '/') ||
        colon - spec >= MAX_NAME || strlen(colon + 1) >= MAX_NAME)
        return -EINVAL;
    memcpy(system, spec, (size_t)(colon - spec));
    system[colon - spec] = '\0';
    strcpy(name, colon + 1);
    return 0;
}

static int offer(const char *name, void *context)
{
    suggest_offer(context, name, strlen(name));
    return 0;
}

/* Names of system calls' tracepoints, which all begin alike: what is behind that is compared. */
struct call_search {
    const char *prefix;
    struct suggest *suggest;
};

static int offer_call(const char *name, void *context)
{
    const struct call_search *search = context;
    size_t length = strlen(search->prefix);
    if (!strncmp(name, search->prefix, length))
        suggest_offer(search->suggest, name + length, strlen(name + length));
    return 0;
}

/* Offers the tracepoints in the folder PATH for NAME. 0, or -errno. */
static int offer_all(const char *path, const char *name, struct suggest *suggest)
{
    static const char *const prefixes[] = {"sys_enter_", "sys_exit_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        struct call_search search = {prefixes[i], suggest};
        size_t length = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], length) != 0)
            continue;
        suggest_init(suggest, name + length);
        int code = tracefs_list(path, offer_call, &search, NULL);
        suggest_prefix(suggest, prefixes[i]);
        return code;
    }
    suggest_init(suggest, name);
    return tracefs_list(path, offer, suggest, NULL);
}

/* Of a walk through the tracepoints of one or all systems. */
struct tracepoint_walk {
    const char *system;
    int (*visit)(const char *system, const char *name, void *context);
    void *context;
};

static int visit_name(const char *name, void *context)
{
    const struct tracepoint_walk *walk = context;
    return walk->visit(walk->system, name, walk->context);
}

/* The kernel lists the records of its own tracers beside the tracepoints, but no program runs there. */
static bool is_record(const char *system)
{
    return !strcmp(system, "ftrace");
}

static int visit_system(const char *system, void *context)
{
    struct tracepoint_walk *walk = context;
    char path[MAX_NAME + 16];
    if (is_record(system) || snprintf(path, sizeof path, "events/%s", system) >= (int)sizeof path)
        return 0;
    walk->system = system;
    tracefs_list(path, visit_name, walk, NULL); /* gone by now: then it has none */
    return 0;
}

/* Calls VISIT for all tracepoints; what it returns does not end the walk. */
static int each(int (*visit)(const char *system, const char *name, void *context), void *context, struct error *err)
{
    struct tracepoint_walk walk = {.visit = visit, .context = context};
    return tracefs_list("events", visit_system, &walk, err);
}

struct tracepoint_search {
    const char *name;
    char found[2 * MAX_NAME + 1];
};

static int find_name(const char *system, const char *name, void *context)
{
    struct tracepoint_search *wanted = context;
    if (!strcmp(name, wanted->name) && !*wanted->found)
        snprintf(wanted->found, sizeof wanted->found, "%s:%s", system, name);
    return 0;
}

/* SPEC is no SYSTEM:NAME; perhaps it is a NAME alone. */
static int fail_form(const char *spec, struct error *err)
{
    struct tracepoint_search wanted = {.name = spec};
    int code = each(find_name, &wanted, err);
    if (code < 0)
        return code;
    if (*wanted.found)
        return error_set(err, -EINVAL, "%s: a tracepoint is named with its system: %s", spec, wanted.found);
    return error_set(err, -EINVAL, "%s: a tracepoint is SYSTEM:NAME, as in sched:sched_switch", spec);
}

static int fail_unknown(const char *spec, const char *system, const char *name, struct error *err)
{
    char path[MAX_NAME + 16];
    struct suggest suggest;
    snprintf(path, sizeof path, "events/%s", system);
    if (offer_all(path, name, &suggest) == 0) {
        if (suggest.count)
            return error_set(err, -ENOENT, "%s: the kernel has no such tracepoint%s", spec, suggest_text(&suggest));
    } else {
        suggest_init(&suggest, system);
        int code = tracefs_list("events", offer, &suggest, err);
        if (code < 0)
            return code;
        if (suggest.count)
            return error_set(err, -ENOENT, "%s: the kernel has no tracepoints of a system '%s'%s", spec, system,
                             suggest_text(&suggest));
    }
    struct tracepoint_search wanted = {.name = name};
    each(find_name, &wanted, NULL);
    return error_set(err, -ENOENT, "%s: the kernel has no such tracepoint%s%s%s", spec,
                     *wanted.found ? "; did you mean " : "", wanted.found, *wanted.found ? "?" : "");
}

/* --- descriptions --- */

static char *copy_type(const struct tep_format_field *field)
{
    const char *end = strpbrk(field->type, "[");
    char *type = NULL;
    if (!(field->flags & TEP_FIELD_IS_ARRAY) || field->flags & TEP_FIELD_IS_DYNAMIC || end)
        return strdup(field->type);
    return asprintf(&type, "%s[%u]", field->type, field->arraylen) < 0 ? NULL : type;
}

static int add_field(struct tracepoint *tracepoint, const struct tep_format_field *field, bool common)
{
    struct tracepoint_field *added = array_add(&tracepoint->fields, &tracepoint->field_count, sizeof *added);
    if (!added)
        return -ENOMEM;
    bool relative = field->flags & TEP_FIELD_IS_RELATIVE, dynamic = field->flags & TEP_FIELD_IS_DYNAMIC;
    bool array = field->flags & TEP_FIELD_IS_ARRAY;
    *added = (struct tracepoint_field){
        .name = strdup(field->name),
        .type = copy_type(field),
        .offset = (unsigned)field->offset,
        .size = (unsigned)field->size,
        .is_signed = field->flags & TEP_FIELD_IS_SIGNED,
        .common = common,
        .count = array && !dynamic ? (unsigned)field->arraylen : 0,
        .element = array ? (unsigned)field->elementsize : 0,
        .where = relative  ? FIELD_REL_LOC
                 : dynamic ? FIELD_DATA_LOC
                           : FIELD_HERE,
    };
    if (array && !dynamic && field->arraylen && field->size % field->arraylen == 0)
        added->element = (unsigned)(field->size / field->arraylen);
    return added->name && added->type ? 0 : -ENOMEM;
}

static int add_fields(struct tracepoint *tracepoint, const struct tep_format_field *list, bool common)
{
    int code = 0;
    for (; list && !code; list = list->next)
        code = add_field(tracepoint, list, common);
    return code;
}

/* How the record is printed is no part of it, and more than libtraceevent can always read: it is left out. */
static int cut_print_format(char **text)
{
    static const char nothing[] = "print fmt: \"\"\n";
    char *print = strstr(*text, "print fmt:");
    size_t length = print ? (size_t)(print - *text) : strlen(*text);
    char *longer = realloc(*text, length + sizeof nothing);
    if (!longer)
        return -ENOMEM;
    memcpy(longer + length, nothing, sizeof nothing);
    *text = longer;
    return 0;
}

static int parse(struct tracepoint *tracepoint, char **text)
{
    struct tep_handle *tep = tep_alloc();
    struct tep_event *event = NULL;
    int code = tep ? cut_print_format(text) : -ENOMEM;
    tep_set_loglevel(TEP_LOG_NONE);
    if (!code) {
        tep_set_long_size(tep, sizeof(long));
        code = tep_parse_format(tep, &event, *text, strlen(*text), tracepoint->system) || !event ? -EINVAL : 0;
    }
    if (!code) {
        tracepoint->id = (uint64_t)event->id;
        code = add_fields(tracepoint, event->format.common_fields, true);
    }
    if (!code)
        code = add_fields(tracepoint, event->format.fields, false);
    tep_free(tep);
    return code;
}

int tracepoint_find(const char *spec, struct tracepoint **result, struct error *err)
{
    char system[MAX_NAME], name[MAX_NAME], path[2 * MAX_NAME + 32], *text = NULL;
    *result = NULL;
    if (split(spec, system, name) < 0)
        return fail_form(spec, err);
    if (is_record(system))
        return error_set(err, -EINVAL,
                         "%s: it is a record that the kernel's own tracers write: no BPF program can run there", spec);
    snprintf(path, sizeof path, "events/%s/%s/format", system, name);
    int code = tracefs_read(path, &text, err);
    if (code == -ENOENT || code == -ENOTDIR)
        return fail_unknown(spec, system, name, err);
    if (code < 0)
        return error_prefix(err, "%s: ", spec);
    struct tracepoint *tracepoint = calloc(1, sizeof *tracepoint);
    code = tracepoint && (tracepoint->system = strdup(system)) && (tracepoint->name = strdup(name))
               ? parse(tracepoint, &text)
               : -ENOMEM;
    free(text);
    if (!code) {
        *result = tracepoint;
        return 0;
    }
    tracepoint_free(tracepoint);
    return error_set(err, code, code == -ENOMEM ? "out of memory" : "%s: the kernel's description of it cannot be read",
                     spec);
}

void tracepoint_free(struct tracepoint *tracepoint)
{
    if (!tracepoint)
        return;
    for (size_t i = 0; i < tracepoint->field_count; i++) {
        free(tracepoint->fields[i].name);
        free(tracepoint->fields[i].type);
    }
    free(tracepoint->fields);
    free(tracepoint->system);
    free(tracepoint->name);
    free(tracepoint);
}

/* --- patterns --- */

struct matches {
    const char *pattern;
    char **names;
    size_t count;
    bool failed;
};

static int add_match(const char *system, const char *name, void *context)
{
    struct matches *matches = context;
    char full[2 * MAX_NAME + 2];
    if (snprintf(full, sizeof full, "%s:%s", system, name) >= (int)sizeof full || fnmatch(matches->pattern, full, 0))
        return 0;
    matches->failed |= array_add_string(&matches->names, &matches->count, full) < 0;
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int tracepoint_match(const char *pattern, char ***names, size_t *count, struct error *err)
{
    struct matches matches = {.pattern = pattern};
    *names = NULL;
    *count = 0;
    int code = strchr(pattern, ':') ? each(add_match, &matches, err) : fail_form(pattern, err);
    if (!code && matches.failed)
        code = error_set(err, -ENOMEM, "out of memory");
    if (!code && !matches.count)
        code = error_set(err, -ENOENT, "%s: the kernel has no tracepoint that matches", pattern);
    if (code) {
        array_free_strings(matches.names, matches.count);
        return code;
    }
    qsort(matches.names, matches.count, sizeof *matches.names, compare_names);
    *names = matches.names;
    *count = matches.count;
    return 0;
}

/* --- attaching --- */

static int failed(int code, const struct tracepoint *tracepoint, struct error *err)
{
    const char *reason = error_reason(code);
    if (code == -EPERM || code == -EACCES)
        return error_set(err, code, "%s:%s: cannot attach: this needs %s; run uplua as root", tracepoint->system,
                         tracepoint->name, capability_missing() ? capability_missing() : "CAP_PERFMON");
    if (code == -E2BIG)
        reason = "the kernel runs no more than 64 programs at one tracepoint";
    return error_set(err, code, "%s:%s: cannot attach: %s", tracepoint->system, tracepoint->name, reason);
}

int tracepoint_attach(int program_fd, uint64_t cookie, const struct tracepoint *tracepoint, struct probe_link **link,
                      struct error *err)
{
    int code = link_one(link, perf_tracepoint_attach(program_fd, tracepoint->id, cookie));
    return code < 0 ? failed(code, tracepoint, err) : 0;
}
