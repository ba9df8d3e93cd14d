/* Finds an instruction behind a function's entry where a probe costs less. */
#include "probe/spec/slide.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "probe/module/binary.h"

enum {
    MAX_SIZE = 4 << 20,    /* of a function; no compiler's is larger */
    MAX_BEFORE = 64 << 10, /* to the last symbol before it; … */
    BEFORE = 4096,         /* … without one near: decoding falls into step long before so many bytes are over */
    AFTER = 160,           /* bytes behind the function: from there it is jumped into over a short distance */
    CHUNK = 1 << 20,
    LONGEST = 16, /* bytes of an instruction, and more */
};

#define PRICE "its first instruction is stepped, at ten times the price"

static const char moved[] = "the function's first instruction would be stepped, at ten times the price";
static const char lossy[] = "calls that jump away before that are not seen (slide = \"lossy\")";
static const char off[] = PRICE " (slide = false)";
static const char read[] = PRICE ": the handler reads a register that it or the next ones change";
static const char unsized[] = PRICE ": the function's length is not known, nor the jumps into it";
static const char changing[] = PRICE ": handlers or callers see its effect";
static const char reached[] = PRICE ": other code jumps to the instruction after it";
static const char unreadable[] = PRICE ": the instructions after it cannot be decoded";

/* What the code around says of the function: where something jumps to first, behind the entry. */
struct jumps {
    uint64_t first;
    bool indirect; /* it jumps by a table, maybe to itself */
};

static struct jumps find_jumps(const struct arch_code *arch, const struct slide_code *code)
{
    struct jumps jumps = {.first = code->limit};
    size_t end = code->before + code->size + code->after;
    for (size_t at = 0; at < end;) {
        struct arch_instruction instruction;
        if (!arch->decode(code->bytes + at, end - at, &instruction)) {
            at += arch->step; /* data, or the end: the next instructions fall into step again */
            continue;
        }
        uint64_t target = (uint64_t)((int64_t)(at - code->before) + instruction.target);
        if (instruction.direct && (int64_t)target > 0 && target < jumps.first)
            jumps.first = target;
        jumps.indirect |= instruction.indirect && at >= code->before && at < code->before + code->size;
        at += instruction.length;
    }
    return jumps;
}

/* A place that the probe may slide to. */
struct slide_target {
    size_t at; /* 0: none */
    bool push;
};

/* The first instruction of the function that is emulated and that harmless ones lead to; LOSSY: behind conditional
 * jumps, if there is one. */
static struct slide_target find_candidate(const struct arch_code *arch, const struct slide_code *code, bool is_lossy,
                                          const char **why)
{
    struct slide_target best = {0};
    const uint8_t *bytes = code->bytes + code->before;
    for (size_t at = 0; at < code->size;) {
        struct arch_instruction instruction;
        if (!arch->decode(bytes + at, code->size - at, &instruction)) {
            *why = unreadable;
            return best;
        }
        if (instruction.emulated && at > 0)
            best = (struct slide_target){at, instruction.push};
        if (instruction.emulated ? !is_lossy || !instruction.conditional : !instruction.harmless) {
            *why = changing;
            return best;
        }
        at += instruction.length;
    }
    *why = unreadable; /* it goes on beyond its end */
    return best;
}

/* Whether a probe at CANDIDATE sees nothing but calls. */
static bool is_entered_at_entry_only(const struct slide_target *candidate, const struct jumps *jumps)
{
    /* What pushes would push once more if it were jumped to by a table of the function's own: that is not how a loop
     * begins. */
    return candidate->at < jumps->first && (!jumps->indirect || candidate->push);
}

unsigned slide_distance(const struct arch_code *arch, const struct slide_code *code, enum slide slide, const char **why)
{
    struct arch_instruction first;
    const char *ignored;
    *why = NULL;
    if (!arch->decode(code->bytes + code->before, code->size + code->after, &first))
        return 0;
    if (first.emulated && !(slide == SLIDE_LOSSY && first.conditional))
        return 0;
    if (slide == SLIDE_OFF || !code->size) {
        *why = slide == SLIDE_OFF ? off : unsized;
        return 0;
    }
    struct slide_target exact = first.emulated ? (struct slide_target){0} : find_candidate(arch, code, false, why);
    struct slide_target far = slide == SLIDE_LOSSY ? find_candidate(arch, code, true, &ignored) : exact;
    if (!exact.at && !far.at)
        return 0;
    struct jumps jumps = find_jumps(arch, code);
    if (far.at > exact.at && is_entered_at_entry_only(&far, &jumps)) {
        *why = lossy;
        return (unsigned)far.at;
    }
    *why = first.emulated ? NULL : reached;
    if (!exact.at || !is_entered_at_entry_only(&exact, &jumps))
        return 0;
    *why = moved;
    return (unsigned)exact.at;
}

/* --- sites in files --- */

struct slide_file {
    const struct binary *binary;
    uint64_t *symbols; /* the addresses of all, sorted */
    size_t symbol_count, capacity;
};

/* A site on its way. */
struct slider {
    struct site *site;
    uint64_t limit; /* as in slide_code */
    const char *why;
    unsigned distance;
};

static int note_symbol(const struct function_symbol *function, void *context)
{
    struct slide_file *file = context;
    if (!array_room(&file->symbols, file->symbol_count, &file->capacity, sizeof *file->symbols))
        return -ENOMEM;
    file->symbols[file->symbol_count++] = function->address;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Where to begin decoding, so that what jumps over a short distance to ADDRESS is decoded: an instruction's start. */
static uint64_t begin_before(const struct slide_file *file, const struct arch_code *arch, uint64_t address,
                             uint64_t lowest)
{
    if (address - lowest <= arch->near_reach)
        return lowest;
    size_t symbols = array_up_to(file->symbols, file->symbol_count, sizeof *file->symbols, address - arch->near_reach);
    uint64_t start = symbols ? file->symbols[symbols - 1] : lowest;
    if (start < lowest)
        start = lowest;
    return address - start <= MAX_BEFORE ? start : address - BEFORE;
}

/* Decides how far SLIDER's site slides, from the code around it. */
static int decide(const struct slide_file *file, const struct arch_code *arch, enum slide slide, struct slider *slider)
{
    const struct site *site = slider->site;
    const Elf64_Phdr *segment = elf_file_segment_at(binary_elf(file->binary), site->address, PF_X);
    if (!segment || site->size > MAX_SIZE)
        return 0;
    uint64_t start = begin_before(file, arch, site->address, segment->p_vaddr);
    uint64_t most = segment->p_vaddr + segment->p_filesz - site->address; /* bytes from here on */
    struct slide_code code = {.before = site->address - start, .limit = slider->limit};
    code.size = site->size < most ? site->size : most;
    code.after = AFTER < most - code.size ? AFTER : most - code.size;
    uint8_t *bytes = malloc(code.before + code.size + code.after);
    if (!bytes)
        return -ENOMEM;
    size_t length = binary_read(file->binary, site->offset - code.before, bytes, code.before + code.size + code.after);
    code.bytes = bytes;
    if (length == code.before + code.size + code.after)
        slider->distance = slide_distance(arch, &code, slide, &slider->why);
    free(bytes);
    return 0;
}

/* Those that slide, by address. */
struct sliders {
    struct slider *items;
    size_t count;
};

/* Something leads to ADDRESS: the slider behind whose entry that is. */
static void note_target(uint64_t address, void *context)
{
    struct sliders *sliders = context;
    size_t low = 0, high = sliders->count; /* the last whose entry is below ADDRESS */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sliders->items[middle].site->address < address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return;
    struct slider *slider = &sliders->items[low - 1];
    uint64_t inside = address - slider->site->address;
    if (inside < slider->limit)
        slider->limit = inside;
}

static int by_site_address(const void *a, const void *b)
{
    const struct slider *x = a, *y = b;
    return (x->site->address > y->site->address) - (x->site->address < y->site->address);
}

/* Finds what leads from anywhere in SEGMENT into the functions of SLIDERS, by a far jump. */
static int scan_segment(const struct slide_file *file, const struct arch_code *arch, const Elf64_Phdr *segment,
                        struct sliders *sliders)
{
    uint64_t low = sliders->items[0].site->address + 1;
    const struct slider *last = &sliders->items[sliders->count - 1];
    uint64_t high = last->site->address + last->distance + 1;
    uint8_t *chunk = malloc(CHUNK);
    if (!chunk)
        return -ENOMEM;
    for (uint64_t done = 0; done < segment->p_filesz;) {
        size_t size = binary_read(file->binary, segment->p_offset + done, chunk,
                                  segment->p_filesz - done < CHUNK ? segment->p_filesz - done : CHUNK);
        arch->far_targets(chunk, size, segment->p_vaddr + done, low, high, note_target, sliders);
        if (size < CHUNK)
            break;
        done += CHUNK - arch->far_length; /* one may lie across the end */
    }
    free(chunk);
    return 0;
}

/* Asks all of the file's code whether the SLIDERS that would move may. */
static int confirm(const struct slide_file *file, const struct arch_code *arch, struct sliders *sliders,
                   enum slide slide)
{
    const struct elf_file *elf = binary_elf(file->binary);
    struct sliders moving = {.items = sliders->items};
    int result = 0;
    for (size_t i = 0; i < sliders->count; i++)
        if (sliders->items[i].distance) {
            struct slider moves = sliders->items[i];
            sliders->items[i] = sliders->items[moving.count];
            sliders->items[moving.count++] = moves;
        }
    if (!moving.count)
        return 0;
    qsort(moving.items, moving.count, sizeof *moving.items, by_site_address);
    for (size_t i = 0; i < elf->segment_count && result == 0; i++)
        if (elf->segments[i].p_type == PT_LOAD && elf->segments[i].p_flags & PF_X)
            result = scan_segment(file, arch, &elf->segments[i], &moving);
    for (size_t i = 0; i < moving.count && result == 0; i++) {
        struct slider *slider = &moving.items[i];
        if (slider->distance >= slider->limit)
            result = decide(file, arch, slide, slider);
    }
    return result;
}

/* How the kernel gets past the instruction of SITE. */
static enum entry entry_of(const struct binary *binary, const struct site *site)
{
    uint8_t code[LONGEST];
    struct arch_instruction instruction;
    if (!arch_code()->decode(code, binary_read(binary, site->offset, code, sizeof code), &instruction))
        return ENTRY_STEPPED;
    return instruction.replaced ? ENTRY_REPLACED : instruction.emulated ? ENTRY_EMULATED : ENTRY_STEPPED;
}

/* SITES are of one file, each function's entry before its exits. */
static void find_entries(const struct binary *binary, struct site *sites, size_t count)
{
    enum entry last = ENTRY_STEPPED;
    for (size_t i = 0; i < count; i++)
        sites[i].entry = last = sites[i].is_exit ? last : entry_of(binary, &sites[i]);
}

/* SITES are of one file. */
static int slide_in_file(struct slide_file *file, struct site *sites, size_t count, enum slide slide)
{
    const struct arch_code *arch = arch_code();
    struct sliders sliders = {.items = calloc(count, sizeof *sliders.items)};
    int result = sliders.items ? binary_functions(file->binary, note_symbol, file) : -ENOMEM;
    if (file->symbol_count)
        qsort(file->symbols, file->symbol_count, sizeof *file->symbols, by_number);
    for (size_t i = 0; i < count && result == 0; i++) {
        if (sites[i].inside || sites[i].of_go || sites[i].is_exit)
            /* somebody wants it to be just there; or its arguments are in other registers than are looked at */
            continue;
        struct slider *slider = &sliders.items[sliders.count++];
        /* another symbol is another entry */
        size_t next = array_up_to(file->symbols, file->symbol_count, sizeof *file->symbols, sites[i].address);
        *slider = (struct slider){.site = &sites[i], .limit = UINT64_MAX};
        if (next < file->symbol_count)
            slider->limit = file->symbols[next] - sites[i].address;
        result = decide(file, arch, slide, slider);
    }
    if (result == 0)
        result = confirm(file, arch, &sliders, slide);
    for (size_t i = 0; i < sliders.count; i++) {
        struct slider *slider = &sliders.items[i];
        slider->site->why = slider->why;
        slider->site->slid = slider->distance;
        slider->site->offset += slider->distance;
        slider->site->address += slider->distance;
    }
    free(sliders.items);
    return result;
}

int slide_sites(struct site *sites, size_t count, enum slide slide, struct error *err)
{
    int result = 0;
    for (size_t i = 0, n; i < count && result == 0; i += n) {
        for (n = 1; i + n < count && strcmp(sites[i + n].path, sites[i].path) == 0; n++)
            continue;
        struct module module = {.path = sites[i].path, .name = sites[i].module};
        struct slide_file file = {0};
        struct binary *binary;
        if (binary_open(&module, &binary, NULL) < 0)
            continue; /* gone: the attach will tell */
        file.binary = binary;
        result = slide_in_file(&file, sites + i, n, slide);
        find_entries(binary, sites + i, n);
        free(file.symbols);
        binary_close(binary);
    }
    return result < 0 ? error_set(err, result, "out of memory") : 0;
}

int slide_back(struct sites *sites, struct error *err)
{
    for (size_t i = 0; i < sites->count; i++) {
        struct site *site = &sites->items[i];
        site->offset -= site->slid;
        site->address -= site->slid;
        site->slid = 0;
    }
    int result = slide_sites(sites->items, sites->count, SLIDE_OFF, err);
    for (size_t i = 0; i < sites->count; i++)
        if (sites->items[i].why == off)
            sites->items[i].why = read;
    return result;
}
