/* Moves the sites in files to where probes cost less. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/array.h"
#include "elf/section.h"
#include "probe/module/binary.h"
#include "probe/spec/code_addresses.h"
#include "probe/spec/reentry.h"
#include "probe/spec/slide.h"

enum {
    MAX_SIZE = 4 << 20,    /* of a function; no compiler's is larger */
    MAX_BEFORE = 64 << 10, /* to the last symbol before it; … */
    BEFORE = 4096,         /* … without one near: decoding falls into step long before so many bytes are over */
    AFTER = 160,           /* bytes behind the function: from there it is jumped into over a short distance */
    CHUNK = 1 << 20,
    WINDOW = 64 << 10, /* bytes of the file that are read at once: functions lie one behind the other */
    PAGE = 4096,
    PAGES = 256, /* of data that are kept */
};

/* A word that the loader fills with a variable's distance from the thread pointer, or with an address of the file. */
struct filled_word {
    uint64_t address;
    int64_t value; /* INSIDE as thread_offset of struct way_file has it; or the address where the file lies at 0 */
};

struct filled_words {
    struct filled_word *items; /* sorted, … */
    size_t count, capacity;
    bool searched; /* … once they have been looked for */
};

/* A page of the file's data. */
struct page {
    uint64_t number; /* of the first one 1; 0: none yet */
    size_t size;
    uint8_t bytes[PAGE];
};

struct slide_file {
    struct way_file way;
    const struct binary *binary;
    uint8_t *window; /* bytes of the file from window_offset on */
    uint64_t window_offset;
    size_t window_size, window_capacity;
    struct filled_words thread_offsets, addresses;
    struct page *pages; /* PAGES of them; NULL: none so far */
    uint64_t *symbols;  /* the addresses of all, sorted */
    size_t symbol_count, capacity;
};

/* A site on its way. */
struct slider {
    struct site *site;
    uint64_t limit;  /* as in slide_code, and … */
    uint64_t marked; /* … MARKED */
    struct slide_place place;
};

static int note_symbol(const struct function_symbol *function, void *context)
{
    struct slide_file *file = context;
    if (!array_room(&file->symbols, file->symbol_count, &file->capacity, sizeof *file->symbols))
        return -ENOMEM;
    file->symbols[file->symbol_count++] = function->address;
    return 0;
}

/* By what they begin with. */
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

/* mapped of struct way_file. */
static bool is_mapped(void *context, uint64_t address, uint64_t size, bool writes)
{
    const struct elf_file *elf = binary_elf(((const struct slide_file *)context)->binary);
    const Elf64_Phdr *fixed = writes ? elf_file_segment(elf, PT_GNU_RELRO) : NULL;
    if (fixed && address < fixed->p_vaddr + fixed->p_memsz && address + size > fixed->p_vaddr)
        return false; /* read-only once it is relocated */
    for (size_t i = 0; i < elf->segment_count; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & (writes ? PF_W : PF_R) && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_memsz && size <= segment->p_memsz - (address - segment->p_vaddr))
            return true;
    }
    return false;
}

/* read of struct way_file. */
static size_t read_bytes(void *context, uint64_t address, void *buffer, size_t size)
{
    const struct slide_file *file = context;
    const Elf64_Phdr *segment = elf_file_segment_at(binary_elf(file->binary), address, PF_R);
    if (!segment)
        return 0;
    uint64_t inside = address - segment->p_vaddr, most = segment->p_filesz - inside;
    return binary_read(file->binary, segment->p_offset + inside, buffer, size < most ? size : most);
}

/* executable of struct way_file. */
static bool is_executable(void *context, uint64_t address)
{
    return elf_file_segment_at(binary_elf(((const struct slide_file *)context)->binary), address, PF_X) != NULL;
}

/* Finds FILE's words that the loader fills by relocations of TYPE; none without memory. What has a symbol has the value
 * -1. */
static void find_filled(const struct slide_file *file, uint32_t type, struct filled_words *words)
{
    const struct elf_file *elf = binary_elf(file->binary);
    for (size_t s = 0; s < elf->section_count; s++) {
        size_t size = 0;
        if (elf->sections[s].sh_type != SHT_RELA)
            continue;
        Elf64_Rela *relocations = section_read(elf, &elf->sections[s], SECTION_MAX, &size);
        for (size_t i = 0; relocations && i < size / sizeof *relocations; i++)
            if (ELF64_R_TYPE(relocations[i].r_info) == type &&
                array_room(&words->items, words->count, &words->capacity, sizeof *words->items))
                words->items[words->count++] = (struct filled_word){
                    relocations[i].r_offset, ELF64_R_SYM(relocations[i].r_info) ? -1 : relocations[i].r_addend};
        free(relocations);
    }
    if (words->count)
        qsort(words->items, words->count, sizeof *words->items, by_number);
}

/* The word at ADDRESS that the loader fills by a relocation of TYPE, of which WORDS are all; NULL: it does not. */
static const struct filled_word *filled_at(const struct slide_file *file, uint32_t type, struct filled_words *words,
                                           uint64_t address)
{
    if (!words->searched)
        find_filled(file, type, words);
    words->searched = true;
    return words->count ? bsearch(&address, words->items, words->count, sizeof *words->items, by_number) : NULL;
}

/* thread_offset of struct way_file. */
static bool is_thread_offset(void *context, uint64_t address, int64_t *inside)
{
    struct slide_file *file = context;
    const struct filled_word *found =
        filled_at(file, arch_cpu.relocation_thread_offset, &file->thread_offsets, address);
    if (found)
        *inside = found->value;
    return found != NULL;
}

/* The word at OFFSET of FILE, which begins at a multiple of 8; 0 beyond its end. */
static uint64_t word_at(struct slide_file *file, uint64_t offset)
{
    uint64_t number = offset / PAGE + 1, word;
    if (!file->pages)
        file->pages = calloc(PAGES, sizeof *file->pages);
    struct page *page = file->pages ? &file->pages[number % PAGES] : NULL;
    if (page && page->number != number) {
        page->number = number;
        page->size = binary_read(file->binary, offset - offset % PAGE, page->bytes, PAGE);
    }
    if (!page || offset % PAGE + sizeof word > page->size)
        return 0;
    memcpy(&word, page->bytes + offset % PAGE, sizeof word);
    return word;
}

/* word of struct way_file. */
static uint64_t read_word(void *context, uint64_t address)
{
    struct slide_file *file = context;
    const Elf64_Phdr *segment = elf_file_segment_at(binary_elf(file->binary), address, PF_R);
    if (!segment || address % 8)
        return 0;
    const struct filled_word *found = filled_at(file, arch_cpu.relocation_relative, &file->addresses, address);
    /* or it is one of DT_RELR, or of a file that is not moved */
    return found ? (uint64_t)found->value : word_at(file, segment->p_offset + (address - segment->p_vaddr));
}

/* *BYTES are the SIZE bytes of FILE at OFFSET, until the next call; NULL where the file does not have them. -ENOMEM
 * without memory. */
static int look_at(struct slide_file *file, uint64_t offset, size_t size, const uint8_t **bytes)
{
    uint64_t inside = offset - file->window_offset;
    *bytes = NULL;
    if (offset < file->window_offset || inside > file->window_size || size > file->window_size - inside) {
        size_t wanted = size > WINDOW ? size : WINDOW;
        uint8_t *room = wanted > file->window_capacity ? realloc(file->window, wanted) : file->window;
        if (!room)
            return -ENOMEM;
        file->window = room;
        file->window_capacity = wanted > file->window_capacity ? wanted : file->window_capacity;
        file->window_offset = offset;
        file->window_size = binary_read(file->binary, offset, room, wanted);
        inside = 0;
    }
    if (size <= file->window_size - inside)
        *bytes = file->window + inside;
    return 0;
}

/* Decides how far SLIDER's site slides, from the code around it. */
static int decide(struct slide_file *file, const struct arch_code *arch, enum slide slide, struct slider *slider)
{
    const struct site *site = slider->site;
    const Elf64_Phdr *segment = elf_file_segment_at(binary_elf(file->binary), site->address, PF_X);
    slider->place = (struct slide_place){0};
    if (!segment || site->size > MAX_SIZE)
        return 0;
    uint64_t start = begin_before(file, arch, site->address, segment->p_vaddr);
    uint64_t most = segment->p_vaddr + segment->p_filesz - site->address; /* bytes from here on */
    struct slide_code code = {.before = site->address - start,
                              .limit = slider->limit,
                              .marked = slider->marked,
                              .address = site->address,
                              .file = &file->way};
    code.size = site->size < most ? site->size : most;
    code.after = AFTER < most - code.size ? AFTER : most - code.size;
    int result = look_at(file, site->offset - code.before, code.before + code.size + code.after, &code.bytes);
    if (code.bytes)
        slide_find(arch, &code, slide, &slider->place);
    return result;
}

enum { SEEN_BITS = 10 };

/* Those that slide, by address. */
struct sliders {
    struct slider *items;
    size_t count;
    uint64_t seen[1 << SEEN_BITS]; /* what something was found to lead to last */
};

/* Something leads to ADDRESS: the slider behind whose entry that is. */
static void note_target(uint64_t address, void *context)
{
    struct sliders *sliders = context;
    uint64_t *seen = &sliders->seen[address * 0x9e3779b97f4a7c15 >> (64 - SEEN_BITS)]; /* a hash */
    if (*seen == address) /* functions are called many times */
        return;
    *seen = address;
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
    uint64_t high = last->site->address + last->place.distance + 1;
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

/* Finds what the data of FILE leads to in the functions of SLIDERS. */
static int scan_data(const struct slide_file *file, const struct arch_code *arch, struct sliders *sliders)
{
    int result = code_addresses_visit(file->binary, arch, note_target, sliders);
    for (size_t i = 0; i < sliders->count && result == -E2BIG; i++)
        sliders->items[i].limit = 1;
    return result == -E2BIG ? 0 : result;
}

/* Asks all of the file's code and data whether the SLIDERS that would move may. */
static int confirm(struct slide_file *file, const struct arch_code *arch, struct sliders *sliders, enum slide slide)
{
    const struct elf_file *elf = binary_elf(file->binary);
    struct sliders moving = {.items = sliders->items};
    int result = 0;
    for (size_t i = 0; i < sliders->count; i++)
        if (sliders->items[i].place.distance) {
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
    if (result == 0)
        result = scan_data(file, arch, &moving);
    for (size_t i = 0; i < moving.count && result == 0; i++) {
        struct slider *slider = &moving.items[i];
        if (slider->place.distance >= slider->limit)
            result = decide(file, arch, slide, slider);
    }
    return result;
}

/* How the kernel gets past the instruction of SITE. */
static enum entry entry_of(struct slide_file *file, const struct site *site)
{
    uint8_t own[ARCH_LONGEST];
    const uint8_t *code;
    struct arch_instruction instruction;
    size_t size = sizeof own;
    if (look_at(file, site->offset, size, &code) < 0 || !code) { /* at the file's end */
        size = binary_read(file->binary, site->offset, own, sizeof own);
        code = own;
    }
    if (!arch_code()->decode(code, size, &instruction))
        return ENTRY_STEPPED;
    return instruction.replaced ? ENTRY_REPLACED : instruction.emulated ? ENTRY_EMULATED : ENTRY_STEPPED;
}

/* SITES are of one file, each function's entry before its exits. */
static void find_entries(struct slide_file *file, struct site *sites, size_t count)
{
    enum entry last = ENTRY_STEPPED;
    for (size_t i = 0; i < count; i++)
        sites[i].first = sites[i].entry = last = sites[i].is_exit ? last : entry_of(file, &sites[i]);
}

/* Finds out which of the COUNT SITES of one file are hit in each round of a loop. To what is no function, such as the
 * head of a PLT, a jump is not a round. */
static int find_reentries(struct slide_file *file, struct site *sites, size_t count)
{
    const struct arch_code *arch = arch_code();
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        struct site *site = &sites[i];
        struct slide_code code = {.size = site->size, .address = site->address, .file = &file->way};
        if (site->inside || site->jumped_to || site->is_exit || site->of_go || !site->size || site->size > MAX_SIZE)
            continue;
        result = look_at(file, site->offset, site->size, &code.bytes);
        if (code.bytes)
            result = reentry_find(arch, &code, &site->reentries);
    }
    return result;
}

/* Bytes from the entry of SITE, which is at it, to the first place where it is told that no call comes next. */
static uint64_t first_mark(const struct site *site)
{
    const struct reentries *reentries = site->reentries;
    uint64_t first = UINT64_MAX;
    if (reentries && reentries->unknown)
        return site->refused ? 0 : first; /* behind the entry it would see each round as well */
    for (size_t i = 0; reentries && i < reentries->count; i++)
        if (reentries->marks[i].inside < first)
            first = reentries->marks[i].inside;
    return first;
}

/* Moves SLIDER's site, which is in FILE, to its place. */
static int move(struct slide_file *file, const struct slider *slider)
{
    const struct slide_place *place = &slider->place;
    struct site *site = slider->site;
    site->why = place->why;
    if (!place->distance)
        return 0;
    if (place->count || place->wrote) {
        site->way = malloc(sizeof *site->way + place->count * sizeof *site->way->values);
        if (!site->way)
            return -ENOMEM;
        site->way->wrote = place->wrote;
        site->way->count = place->count;
        memcpy(site->way->values, place->values, place->count * sizeof *site->way->values);
    }
    site->slid = place->distance;
    site->offset += place->distance;
    site->address += place->distance;
    site->entry = entry_of(file, site);
    return 0;
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
        if (sites[i].entry == ENTRY_EMULATED && slide != SLIDE_LOSSY)
            continue; /* it cannot be better */
        struct slider *slider = &sliders.items[sliders.count++];
        /* another symbol is another entry */
        size_t next = array_up_to(file->symbols, file->symbol_count, sizeof *file->symbols, sites[i].address);
        *slider = (struct slider){.site = &sites[i], .limit = UINT64_MAX, .marked = first_mark(&sites[i])};
        if (next < file->symbol_count)
            slider->limit = file->symbols[next] - sites[i].address;
        result = decide(file, arch, slide, slider);
    }
    if (result == 0)
        result = confirm(file, arch, &sliders, slide);
    for (size_t i = 0; i < sliders.count && result == 0; i++)
        result = move(file, &sliders.items[i]);
    free(sliders.items);
    return result;
}

int slide_sites(struct site *sites, size_t count, enum slide slide, const struct entry_reads *reads, struct error *err)
{
    int result = 0;
    for (size_t i = 0, n; i < count && result == 0; i += n) {
        for (n = 1; i + n < count && strcmp(sites[i + n].path, sites[i].path) == 0; n++)
            continue;
        struct module module = {.path = sites[i].path, .name = sites[i].module};
        struct slide_file file = {.way = {&file, is_mapped, read_bytes, read_word, is_executable, is_thread_offset, 0}};
        struct binary *binary;
        if (binary_open(&module, &binary, NULL) < 0)
            continue; /* gone: the attach will tell */
        file.binary = binary;
        const Elf64_Phdr *threads = elf_file_segment(binary_elf(binary), PT_TLS);
        file.way.thread_size = threads ? threads->p_memsz : 0;
        find_entries(&file, sites + i, n);
        result = find_reentries(&file, sites + i, n);
        if (result == 0)
            result = slide_in_file(&file, sites + i, n, slide);
        free(file.symbols);
        free(file.thread_offsets.items);
        free(file.addresses.items);
        free(file.pages);
        free(file.window);
        binary_close(binary);
    }
    for (size_t i = 0; i < count && result == 0; i++)
        site_expect(&sites[i], i ? &sites[i - 1] : NULL, reads);
    return result < 0 ? error_set(err, result, "out of memory") : 0;
}
