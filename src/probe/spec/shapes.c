/* Which sites have what a handler reads, and in which shapes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "probe/probe.h"
#include "probe/reentry.h"
#include "probe/spec/slide.h"
#include "sys/cookie.h"

static const char back[] = SLIDE_PRICE ": the handler reads what is gone at the next cheaper place";
static const char refused[] = "and the handler reads what is gone behind it";
static const char returned[] = SLIDE_PRICE ": returns are seen by the stack pointer, which has moved by the next place";

static void stay(struct site *site, const char *why)
{
    site->offset -= site->slid;
    site->address -= site->slid;
    site->slid = site->moved = site->shape = 0;
    site->entry = site->first;
    site->why = site->refused ? refused : why;
    free(site->way);
    site->way = NULL;
}

/* Why SITE has not all that a handler READS; NULL: it has. */
static const char *find_missing(const struct site *site, const struct entry_reads *reads)
{
    const unsigned pointer = arch_code()->stack_pointer;
    if (!site->way)
        return NULL;
    if (reads->memory && site->way->wrote)
        return back;
    for (size_t i = 0; i < site->way->count; i++) {
        const struct entry_value *value = &site->way->values[i];
        bool is_link = arch_cpu.return_address >= 0 && value->word == (unsigned)arch_cpu.return_address / 8;
        if (reads->returns && (value->word == pointer || is_link))
            return returned;
        if (!(reads->registers >> value->word & 1))
            continue;
        bool is_moved = value->kind == ENTRY_VALUE_REGISTER && value->base == pointer && value->plus <= 0 &&
                        value->plus % 8 == 0 && -value->plus <= 8 * COOKIE_MOVED_MASK;
        if (value->kind == ENTRY_VALUE_GONE || (value->word == pointer && !is_moved))
            return back;
    }
    return NULL;
}

void site_expect(struct site *site, const struct site *before, const struct entry_reads *reads)
{
    const char *why = site->is_exit ? NULL : find_missing(site, reads);
    if (why)
        stay(site, why);
    if (site->is_exit && before)
        site->entry = before->entry;
}

/* Those values of WAY that a handler READS and that are not where they were, the stack pointer apart, into VALUES: how
 * many. */
static size_t pick(const struct site_way *way, const struct entry_reads *reads, struct entry_value *values)
{
    size_t count = 0;
    for (size_t i = 0; way && i < way->count; i++)
        if (reads->registers >> way->values[i].word & 1 && way->values[i].word != arch_code()->stack_pointer)
            values[count++] = way->values[i];
    return count;
}

static bool is_same(const struct entry_shape *shape, const struct entry_value *values, size_t count)
{
    bool same = shape->count == count;
    for (size_t i = 0; i < count && same; i++)
        same = shape->values[i].word == values[i].word && shape->values[i].kind == values[i].kind &&
               shape->values[i].base == values[i].base && shape->values[i].offset == values[i].offset &&
               shape->values[i].plus == values[i].plus;
    return same;
}

/* The number of SITE's shape, one of SHAPES, of which there may be one more then; ENTRY_SHAPES: there are too many. */
static unsigned shape_of(const struct site *site, const struct entry_reads *reads, struct arena *arena,
                         struct entry_shape *shapes, size_t *count)
{
    struct entry_value values[ARCH_WORDS];
    size_t value_count = pick(site->way, reads, values);
    for (size_t i = 0; i < *count; i++)
        if (is_same(&shapes[i], values, value_count))
            return (unsigned)i;
    if (*count == ENTRY_SHAPES)
        return ENTRY_SHAPES;
    struct entry_value *kept = arena_allocate(arena, (value_count + 1) * sizeof *kept);
    memcpy(kept, values, value_count * sizeof *kept);
    shapes[*count] = (struct entry_shape){kept, value_count};
    return (unsigned)(*count)++;
}

static unsigned moved_of(const struct site *site, const struct entry_reads *reads)
{
    const unsigned pointer = arch_code()->stack_pointer;
    for (size_t i = 0; site->way && i < site->way->count && reads->registers >> pointer & 1; i++)
        if (site->way->values[i].word == pointer)
            return (unsigned)-site->way->values[i].plus;
    return 0;
}

/* VALUE for a site's, where COMMON, that of those before it, is the same; else -1. */
static int join(bool first, int common, int value)
{
    return first || common == value ? value : -1;
}

void slide_settle(struct sites *sites, const struct entry_reads *given, struct arena *arena, struct entry_stand *stand)
{
    struct entry_shape *shapes = arena_allocate(arena, ENTRY_SHAPES * sizeof *shapes);
    struct entry_reads with_pointer = *given, *reads = &with_pointer;
    *stand = (struct entry_stand){.entry = -1, .shapes = shapes, .shape_count = 1}; /* 0: all are where they were */
    for (size_t i = 0; i < sites->count; i++)
        stand->reenters |= sites->items[i].reentries && !sites->items[i].reentries->unknown;
    if (stand->reenters) /* which are told from calls by the stack pointer */
        reads->registers |= UINT64_C(1) << arch_code()->stack_pointer;
    bool first = true;
    for (size_t i = 0; i < sites->count; i++) {
        struct site *site = &sites->items[i];
        if (!site->is_exit) {
            const char *why = find_missing(site, reads);
            unsigned shape = why ? ENTRY_SHAPES : shape_of(site, reads, arena, shapes, &stand->shape_count);
            if (shape == ENTRY_SHAPES && site->slid) {
                stay(site, why ? why : back);
                stand->back++;
                shape = 0;
            }
            site->shape = shape;
            site->moved = moved_of(site, reads);
            stand->slid = join(first, stand->slid, (int)site->slid);
            stand->moved = join(first, stand->moved, (int)site->moved);
            stand->shape = join(first, stand->shape, (int)site->shape);
        } else if (i) {
            site->entry = site[-1].entry; /* its function's, or that of another exit */
        }
        stand->entry = i && stand->entry != (int)site->entry ? -1 : (int)site->entry;
        first = first && site->is_exit;
    }
}

size_t slide_count(const struct sites *sites, const struct entry_reads *reads)
{
    size_t count = 0;
    for (size_t i = 0; i < sites->count; i++) {
        const struct site *site = &sites->items[i];
        count += !site->is_exit && (find_missing(site, reads) ? site->first : site->entry) != ENTRY_STEPPED;
    }
    return count;
}

void sites_forget_reentries(struct sites *sites)
{
    for (size_t i = 0; i < sites->count; i++) {
        free(sites->items[i].reentries);
        sites->items[i].reentries = NULL;
    }
}

void site_stay(struct site *site)
{
    if (site->slid)
        stay(site, back);
}

void slide_back(struct sites *sites)
{
    for (size_t i = 0; i < sites->count; i++)
        site_stay(&sites->items[i]);
}

/* --- for people --- */

static const char *name_of(unsigned word)
{
    const char *name;
    for (unsigned i = 0; (name = arch_register_name(i)); i++)
        if (arch_register(name) == 8 * (int)word)
            return name;
    return "?";
}

/* Adds what VALUE says to TEXT, of SIZE bytes. */
static void describe(const struct entry_value *value, char *text, size_t size)
{
    size_t length = strlen(text);
    const char *comma = length ? ", " : "", *word = name_of(value->word), *base = name_of(value->base);
    char plus[32] = "";
    if (value->plus)
        snprintf(plus, sizeof plus, " %c %d", value->plus < 0 ? '+' : '-', abs(value->plus));
    if (value->kind == ENTRY_VALUE_GONE)
        snprintf(text + length, size - length, "%s%s gone", comma, word);
    else if (value->kind == ENTRY_VALUE_REGISTER)
        snprintf(text + length, size - length, "%s%s = %s%s", comma, word, base, plus);
    else
        snprintf(text + length, size - length, "%s%s = [%s%+d]%s", comma, word, base, value->offset, plus);
}

char *slide_describe(const struct site *site)
{
    char text[1024] = "";
    for (size_t i = 0; site->way && i < site->way->count; i++)
        if (site->way->values[i].word != (unsigned)arch_register("flags") / 8)
            describe(&site->way->values[i], text, sizeof text);
    return *text ? strdup(text) : NULL;
}
