/* The places where probed functions are inlined, file by file. */
#include "probe/spec/inlined.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "probe/module/debug.h"
#include "sym/debuginlined.h"
#include "sym/debuglines.h"

struct place {
    size_t number; /* of the function among the file's */
    uint64_t address;
    uint64_t entry; /* in .debug_info */
};

/* Those sites of one file that are functions' entries, and where these are inlined. */
struct file_sites {
    const struct site **sites;
    uint64_t *entries;
    size_t count;
    struct place *places;
    size_t place_count, place_capacity;
};

static int add_place(size_t number, uint64_t address, uint64_t entry, void *context)
{
    struct file_sites *file = context;
    if (!array_room(&file->places, file->place_count, &file->place_capacity, sizeof *file->places))
        return -ENOMEM;
    file->places[file->place_count++] = (struct place){number, address, entry};
    return 0;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *one = a, *other = b;
    if (one->number != other->number)
        return one->number < other->number ? -1 : 1;
    return (one->address > other->address) - (one->address < other->address);
}

/* The line of the function's own source where PLACE begins: "main.c:12", in *LINE, if code of it begins at COUNT places
 * at least. */
static bool find_line(const struct place *place, size_t count, struct debuginfo *debuginfo, struct source_line *line)
{
    enum { DEEPEST = 32 };
    struct source_line chain[DEEPEST];
    uint64_t *addresses = NULL;
    size_t depth = debuginfo_lookup(debuginfo, place->address, chain, DEEPEST), at = 0, begins = 0;
    unsigned nearest;
    while (at < depth && chain[at].entry != place->entry)
        at++;
    const char *file = at < depth ? debuginfo_declared_in(debuginfo, place->entry) : NULL;
    if (!file || !chain[at].file || strcmp(file, chain[at].file) != 0 ||
        chain[at].line < debuglines_declared(debuginfo, place->entry))
        return false;
    bool found = debuglines_find(debuginfo, file, chain[at].line, &addresses, &begins, &nearest);
    free(addresses);
    *line = chain[at];
    return found && begins >= count;
}

/* Takes the function of PLACE, the first of COUNT, as the example. */
static void describe(const struct file_sites *file, const struct place *place, size_t count,
                     struct debuginfo *debuginfo, struct inlined *result)
{
    struct source_line line;
    result->example = file->sites[place->number];
    if (!find_line(place, count + 1, debuginfo, &line)) /* and in itself */
        return;
    const char *slash = strrchr(line.file, '/');
    snprintf(result->line, sizeof result->line, "%s:%u", slash ? slash + 1 : line.file, line.line);
}

/* Adds the places of FILE to RESULT. Several files may have the code of one function, of which the linker keeps that of
 * one: it moves what describes the others there, or to where no code is. */
static void count_places(struct file_sites *file, const struct binary *binary, struct debuginfo *debuginfo,
                         struct inlined *result)
{
    const struct place *last = NULL, *first = NULL;
    size_t of_first = 0;
    if (file->place_count)
        qsort(file->places, file->place_count, sizeof *file->places, compare_places);
    for (const struct place *place = file->places; place < file->places + file->place_count; place++) {
        uint64_t offset;
        if (binary_offset(binary, place->address, &offset) || !binary_has_place(binary, place->address) ||
            (last && !compare_places(last, place)))
            continue;
        if (!result->places++)
            first = place;
        of_first += first && first->number == place->number;
        result->functions += !last || last->number != place->number;
        last = place;
    }
    if (first)
        describe(file, first, of_first, debuginfo, result);
}

/* Opens the file of SITE as MODULE, which BINARY borrows, if it is the same still: by what the kernel opened, which
 * leads nowhere where a process has ended, else by its name. */
static bool open_file(const struct site *site, struct module *module, struct binary **binary)
{
    const char *paths[] = {site->path, site->module};
    struct error err;
    for (size_t i = 0; i < 2; i++) {
        *module = (struct module){.path = (char *)paths[i], .name = site->module};
        if (access(paths[i], R_OK) || stamp_compare(&site->file, paths[i]) != STAMP_SAME)
            continue;
        return binary_open(module, binary, &err) == 0;
    }
    return false;
}

static int add_sites(struct file_sites *file, const struct site *first, size_t count)
{
    file->sites = calloc(count, sizeof(const struct site *));
    file->entries = calloc(count, sizeof *file->entries);
    if (!file->sites || !file->entries)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        if (first[i].inside || first[i].is_exit)
            continue;
        file->sites[file->count] = &first[i];
        file->entries[file->count++] = first[i].address - first[i].slid;
    }
    return 0;
}

/* The COUNT sites from FIRST on, of one file. */
static int look_at_file(const struct site *first, size_t count, struct inlined *result)
{
    struct file_sites file = {0};
    struct debuginfo *debuginfo;
    struct binary *binary;
    struct module module;
    struct error err;
    if (!open_file(first, &module, &binary))
        return 0;
    int status = add_sites(&file, first, count);
    if (!status && file.count && debuginfo_is_in(binary_elf(binary)) &&
        !debug_keep(binary, first->function, "", &debuginfo, &err)) {
        status = debuginlined_visit(debuginfo, file.entries, file.count, add_place, &file);
        count_places(&file, binary, debuginfo, result);
    }
    free(file.sites);
    free(file.entries);
    free(file.places);
    binary_close(binary);
    return status == -ENOMEM ? status : 0;
}

int sites_inlined(const struct sites *sites, struct inlined *result)
{
    int status = 0;
    *result = (struct inlined){0};
    for (size_t i = 0, next; i < sites->count && !status; i = next) {
        for (next = i + 1; next < sites->count && !strcmp(sites->items[i].path, sites->items[next].path);)
            next++;
        status = look_at_file(&sites->items[i], next - i, result);
    }
    return status;
}
