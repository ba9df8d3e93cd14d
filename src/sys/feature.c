#include "sys/feature.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/bpf.h"

static const char *const names[FEATURE_COUNT] = {
    [FEATURE_UPROBE_MULTI] = "uprobe_multi",
    [FEATURE_SESSION] = "session",
    [FEATURE_MAY_GOTO] = "may_goto",
    [FEATURE_PRIVATE_STACK] = "private_stack",
};

const char *feature_name(enum feature feature)
{
    return names[feature];
}

/*
 * A link on "/" cannot be made, since it is no regular file; a kernel that knows ATTACH_TYPE gets as far as finding
 * that out (EBADF), one that does not says EINVAL before it looks at the path.
 */
static bool try_uprobe_link(uint32_t attach_type)
{
    int program = bpf_probe_program(attach_type);
    if (program < 0)
        return false;
    uint64_t offset = 0;
    struct uprobe_multi probe = {.attach_type = attach_type, .path = "/", .offsets = &offset, .count = 1};
    int link = uprobe_multi_link(program, &probe);
    if (link >= 0)
        close(link);
    close(program);
    return link == -EBADF;
}

static bool try_feature(enum feature feature)
{
    switch (feature) {
    case FEATURE_UPROBE_MULTI:
        return try_uprobe_link(ATTACH_TYPE_UPROBE_MULTI);
    case FEATURE_SESSION:
        /* A session is a kind of uprobe_multi link: without the one, there is no way to the other. */
        return feature_available(FEATURE_UPROBE_MULTI) && try_uprobe_link(ATTACH_TYPE_UPROBE_SESSION);
    case FEATURE_MAY_GOTO:
        return bpf_has_may_goto();
    case FEATURE_PRIVATE_STACK:
        return bpf_has_private_stack();
    default:
        return false;
    }
}

static void warn_unknown(const char *variable, const char *name, size_t length)
{
    fprintf(stderr, "uplua: %s names an unknown feature '%.*s'; known are all", variable, (int)length, name);
    for (int i = 0; i < FEATURE_COUNT; i++)
        fprintf(stderr, ", %s", names[i]);
    fputc('\n', stderr);
}

/* The features that the environment's VARIABLE names, as bits. */
static unsigned features_in(const char *variable)
{
    const char *list = getenv(variable);
    unsigned bits = 0;
    while (list && *list) {
        size_t length = strcspn(list, ",");
        int i = 0;
        while (i < FEATURE_COUNT && (strlen(names[i]) != length || memcmp(names[i], list, length) != 0))
            i++;
        if (i < FEATURE_COUNT)
            bits |= 1u << i;
        else if (length == 3 && !memcmp(list, "all", 3))
            bits = ~0u;
        else if (length)
            warn_unknown(variable, list, length);
        list += length + (list[length] == ',');
    }
    return bits;
}

bool feature_available(enum feature feature)
{
    static bool known[FEATURE_COUNT], available[FEATURE_COUNT], environment_read;
    static unsigned off, on;
    if (feature >= FEATURE_COUNT)
        return false;
    if (!environment_read) {
        off = features_in("UPLUA_WITHOUT");
        on = features_in("UPLUA_WITH");
        environment_read = true;
    }
    if (!known[feature]) {
        available[feature] = !(off & 1u << feature) && (on & 1u << feature || try_feature(feature));
        known[feature] = true;
    }
    return available[feature];
}
