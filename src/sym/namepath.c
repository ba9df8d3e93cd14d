/* Goes from units inwards, since entries do not say what they are in. */
#include "sym/namepath.h"

#include <dwarf.h>
#include <string.h>

void namepath_push(struct namepath *path, const char *bytes, size_t length)
{
    if (path->count < DEBUGENTRY_DEEPEST)
        path->steps[path->count++] = (struct namepath_step){.bytes = bytes, .length = length};
}

void namepath_split(const char *name, struct namepath *path, bool *absolute)
{
    int inside = 0;
    const char *start = name;
    path->count = 0;
    *absolute = name[0] == ':' && name[1] == ':';
    for (const char *c = name; *c; c++) {
        inside += (*c == '<') - (*c == '>');
        if (inside <= 0 && c[0] == ':' && c[1] == ':') {
            if (c > start)
                namepath_push(path, start, (size_t)(c - start));
            start = c + 2;
            c++;
        }
    }
    namepath_push(path, start, strlen(start));
}

bool namepath_is(const struct namepath_step *step, const char *name)
{
    return name && !strncmp(name, step->bytes, step->length) && !name[step->length];
}

bool namepath_has_names(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module || debugentry_is_structure(tag);
}

static void find_path(Dwarf_Die *target, bool follow, struct namepath *path);

/* Takes down ENTRY, which is around something. FOLLOW: a function is where the source declares it. */
static void add_around(struct namepath *path, Dwarf_Die *entry, bool follow)
{
    int tag = dwarf_tag(entry);
    const char *name = dwarf_diename(entry);
    if (namepath_has_names(tag)) {
        bool named = name && path->count < DEBUGENTRY_DEEPEST;
        bool transparent = tag == DW_TAG_namespace && debugentry_flag(entry, DW_AT_export_symbols);
        if (named || debugentry_is_structure(tag))
            path->steps[path->count++] =
                (struct namepath_step){name ? name : "", name ? strlen(name) : 0, transparent, *entry};
    } else if (!path->in_function && tag != DW_TAG_lexical_block) {
        Dwarf_Die root = debugentry_root(*entry);
        if (follow && root.addr != entry->addr)
            find_path(&root, false, path); /* a method's definition is outside of its class */
        path->in_function = true;
        path->outside = path->count;
        path->function = *entry;
    }
}

/* With FOLLOW one function around is looked for elsewhere; what a file says of more may go in circles. */
static void find_path(Dwarf_Die *target, bool follow, struct namepath *path)
{
    Dwarf_Die parent, entry;
    Dwarf_Off wanted = dwarf_dieoffset(target);
    memset(path, 0, sizeof *path);
    if (!dwarf_diecu(target, &parent, NULL, NULL))
        return;
    /* A child's own children follow it, before the next one. */
    while (path->count < DEBUGENTRY_DEEPEST && !dwarf_child(&parent, &entry)) {
        bool any = false;
        do {
            if (dwarf_dieoffset(&entry) > wanted)
                break;
            parent = entry;
            any = true;
        } while (debugentry_next(&entry));
        if (!any || dwarf_dieoffset(&parent) == wanted)
            return;
        add_around(path, &parent, follow);
    }
}

void namepath_of(Dwarf_Die *target, struct namepath *path)
{
    find_path(target, true, path);
}

static bool same_step(const struct namepath_step *a, const struct namepath_step *b)
{
    return a->length == b->length && !memcmp(a->bytes, b->bytes, a->length);
}

bool namepath_leads_to(const struct namepath *path, const struct namepath *around, size_t depth)
{
    size_t at = 0;
    for (size_t i = 0; i < path->count; i++) {
        while (at < depth && around->steps[at].transparent && !same_step(&path->steps[i], &around->steps[at]))
            at++;
        if (at < depth && same_step(&path->steps[i], &around->steps[at]))
            at++;
        else if (!path->steps[i].transparent)
            return false;
    }
    while (at < depth && around->steps[at].transparent)
        at++;
    return at == depth;
}

size_t namepath_common(const struct namepath *a, const struct namepath *b, size_t most)
{
    size_t depth = 0;
    while (depth < a->count && depth < b->count && depth < most && same_step(&a->steps[depth], &b->steps[depth]))
        depth++;
    return depth;
}
