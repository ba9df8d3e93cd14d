/* One ELF file that processes map: from offsets in the file to functions. */
#include "sym/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/frame_header.h"
#include "elf/mini_debug_info.h"
#include "sym/plt.h"
#include "sym/symtab.h"

enum { RANGES = 64 };

struct image {
    struct stat stat;
    int fd; /* until it is parsed: the process may exit and the file be deleted meanwhile. -1: to be opened by path */
    bool parsed;
    int number;
    struct debug_file_search search;
    size_t segment_count;
    Elf64_Phdr *segments; /* PT_LOAD only */
    struct symtab *symtab;
    struct symtab *inside; /* of the file's MiniDebugInfo: what .dynsym lacks */
    struct plt *plt;
    uint64_t bias; /* ELF address in the symbol table's file minus that in this one */
    bool debuginfo_tried, debuginfo_too_large;
    bool exhausted; /* there was no memory for symbols or debug information */
    struct debuginfo *debuginfo;
    uint64_t debuginfo_bias;
    bool frames_tried;
    struct frame_header frames; /* read when a function without a name is first asked for */
    struct range {
        uint64_t start, end;
    } ranges[RANGES]; /* of such functions, which were found before */
    unsigned next_range;
};

struct image *image_new(int fd, const struct stat *stat, const struct debug_file_search *search)
{
    struct image *image = calloc(1, sizeof *image);
    if (!image) {
        close(fd);
        return NULL;
    }
    image->fd = fd;
    image->stat = *stat;
    image->search.root = search->root;
    image->search.debug_root = strdup(search->debug_root);
    image->search.module = strdup(search->module);
    if (!image->search.debug_root || !image->search.module) {
        image_free(image);
        return NULL;
    }
    return image;
}

void image_free(struct image *image)
{
    if (!image)
        return;
    if (image->fd >= 0)
        close(image->fd);
    symtab_free(image->symtab);
    symtab_free(image->inside);
    plt_free(image->plt);
    debuginfo_free(image->debuginfo);
    frame_header_free(&image->frames);
    free(image->segments);
    free((char *)image->search.debug_root);
    free((char *)image->search.module);
    free(image);
}

bool image_is(struct image *image, const struct stat *stat)
{
    struct stat *own = &image->stat;
    bool same = own->st_ino == stat->st_ino && own->st_dev == stat->st_dev && own->st_size == stat->st_size &&
                own->st_mtim.tv_sec == stat->st_mtim.tv_sec && own->st_mtim.tv_nsec == stat->st_mtim.tv_nsec;
    if (same)
        own->st_ctim = stat->st_ctim; /* another link changes it, too */
    return same;
}

bool image_is_pinned(const struct image *image)
{
    return image->fd >= 0;
}

bool image_is_current(struct image *image)
{
    struct stat stat;
    return image->fd >= 0 && !fstat(image->fd, &stat) && image_is(image, &stat);
}

bool image_has_path(const struct image *image)
{
    return image->search.module[0] == '/';
}

void image_unpin(struct image *image)
{
    if (image->fd >= 0)
        close(image->fd);
    image->fd = -1;
}

static void reopen(struct image *image)
{
    struct stat stat;
    image->fd = elf_file_open_path(image->search.root, image->search.module);
    if (image->fd >= 0 && (fstat(image->fd, &stat) || !image_is(image, &stat)))
        image_unpin(image);
}

/* Reads the headers of the open file, unless it has been written to since IMAGE was made. */
static int open_headers(struct image *image, struct elf_file *elf)
{
    int rc = elf_file_open(elf, image->fd);
    if (!rc && !image_is(image, &elf->stat)) {
        elf_file_close(elf);
        rc = -ESTALE;
    }
    return rc;
}

int image_read(struct image *image,
               int (*fn)(void *context, const struct elf_file *elf, const struct debug_file_search *search),
               void *context)
{
    bool pinned = image_is_pinned(image);
    if (!pinned)
        reopen(image);
    if (image->fd < 0)
        return -ENOENT;
    struct elf_file elf;
    int rc = open_headers(image, &elf);
    if (!rc) {
        rc = fn(context, &elf, &image->search);
        elf_file_close(&elf);
    }
    if (!pinned)
        image_unpin(image);
    return rc;
}

static int read_build_id(void *id, const struct elf_file *elf, const struct debug_file_search *search)
{
    (void)search;
    return notes_build_id(elf, id);
}

int image_build_id(struct image *image, uint8_t id[static BUILD_ID_MAX])
{
    return image_read(image, read_build_id, id);
}

struct piece {
    uint64_t offset;
    void *buffer;
    size_t size;
};

static int read_piece(void *context, const struct elf_file *elf, const struct debug_file_search *search)
{
    (void)search;
    struct piece *piece = context;
    uint64_t end = (uint64_t)elf->stat.st_size;
    if (piece->offset >= end)
        return 0;
    if (piece->size > end - piece->offset)
        piece->size = (size_t)(end - piece->offset);
    int rc = elf_file_read(elf, piece->offset, piece->buffer, piece->size);
    return rc ? rc : (int)piece->size;
}

int image_bytes(struct image *image, uint64_t offset, void *buffer, size_t size)
{
    struct piece piece = {offset, buffer, size};
    return image_read(image, read_piece, &piece);
}

const struct stat *image_stat(const struct image *image)
{
    return &image->stat;
}

int image_number(const struct image *image)
{
    return image->number;
}

void image_set_number(struct image *image, int number)
{
    image->number = number;
}

const char *image_module(const struct image *image)
{
    return image->search.module;
}

/* The address that a file's segments start at: prelink moves the binary, but not its debug file. */
static uint64_t first_address(const struct elf_file *elf)
{
    const Elf64_Phdr *first = elf_file_segment(elf, PT_LOAD);
    return first ? first->p_vaddr - first->p_offset : 0;
}

/* Notes if CODE says that there is no memory. True if it says that nothing went wrong. */
static bool good(struct image *image, int code)
{
    image->exhausted |= code == -ENOMEM;
    return code >= 0;
}

/*
 * The symbols of the file FD, which is closed, and in *SHIFT how far its addresses are above those of ELF, which has
 * the code; SHIFT NULL: they are the same. NULL without.
 */
static struct symtab *read_symtab(struct image *image, int fd, const struct elf_file *elf, uint64_t *shift)
{
    struct symtab *symtab = NULL;
    struct elf_file file;
    if (!good(image, fd))
        return NULL;
    if (good(image, elf_file_open(&file, fd))) {
        if (shift)
            *shift = first_address(&file) - first_address(elf);
        good(image, symtab_load(&symtab, &file, SHT_SYMTAB, elf, shift ? *shift : 0));
    }
    elf_file_close(&file);
    close(fd);
    return symtab;
}

/* Whatever is missing or damaged stays unknown. */
static void parse(struct image *image)
{
    image->parsed = true;
    if (image->fd < 0)
        reopen(image);
    if (image->fd < 0)
        return;
    struct elf_file elf;
    if (good(image, open_headers(image, &elf))) {
        uint64_t shift = 0;
        if (!good(image, symtab_load(&image->symtab, &elf, SHT_SYMTAB, &elf, 0))) {
            image->symtab = read_symtab(image, debug_file_open(&elf, &image->search), &elf, &shift);
            if (image->symtab) {
                image->bias = shift;
            } else {
                good(image, symtab_load(&image->symtab, &elf, SHT_DYNSYM, &elf, 0));
                image->inside = read_symtab(image, mini_debug_info_open(&elf), &elf, NULL);
            }
        }
        image->plt = plt_load(&elf);
        for (size_t i = 0; i < elf.segment_count; i++)
            if (elf.segments[i].p_type == PT_LOAD)
                elf.segments[image->segment_count++] = elf.segments[i];
        image->segments = elf.segments;
        elf.segments = NULL;
    }
    elf_file_close(&elf);
    image_unpin(image);
}

/* How many bytes OFFSET lies before or behind what the file has of SEGMENT; UINT64_MAX: in none of its pages. */
static uint64_t distance_to(const Elf64_Phdr *segment, uint64_t offset)
{
    enum { PAGE = 65536 }; /* the largest page size there is (aarch64) */
    uint64_t start = segment->p_offset & ~(uint64_t)(PAGE - 1), end = segment->p_offset + segment->p_filesz;
    if (offset < start || offset - start >= end - start + PAGE)
        return UINT64_MAX;
    return offset < segment->p_offset ? segment->p_offset - offset : offset < end ? 0 : offset - end + 1;
}

/* ELF address of file offset OFFSET. */
static bool elf_address(const struct image *image, uint64_t offset, bool executable, uint64_t *address)
{
    /*
     * The kernel maps whole pages, so that a page between two segments is in both, and .bss begins in the last page of
     * .data: the right kind of segment counts first, then the one that is nearest.
     */
    for (int of_any_kind = 0; of_any_kind < 2; of_any_kind++) {
        uint64_t nearest = UINT64_MAX;
        for (size_t i = 0; i < image->segment_count; i++) {
            const Elf64_Phdr *segment = &image->segments[i];
            uint64_t distance = distance_to(segment, offset);
            if (distance >= nearest || (!of_any_kind && executable != ((segment->p_flags & PF_X) != 0)))
                continue;
            nearest = distance;
            *address = segment->p_vaddr + (offset - segment->p_offset);
        }
        if (nearest != UINT64_MAX)
            return true;
    }
    return false;
}

uint64_t image_address(struct image *image, uint64_t offset)
{
    uint64_t address;
    if (!image->parsed)
        parse(image);
    return elf_address(image, offset, true, &address) ? address : offset;
}

struct start_query {
    struct image *image;
    uint64_t address, start, end;
};

static int read_start(void *context, const struct elf_file *elf, const struct debug_file_search *search)
{
    (void)search;
    struct start_query *query = context;
    struct image *image = query->image;
    if (!image->frames_tried && frame_header_read(&image->frames, elf) == -ENOMEM)
        return good(image, -ENOMEM);
    image->frames_tried = true;
    image->frames.elf = elf;
    query->start = frame_header_start(&image->frames, query->address, &query->end);
    return 0;
}

/* Where the function that has the ELF address ADDRESS begins; UINT64_MAX: that is not known. */
static uint64_t function_start(struct image *image, uint64_t address)
{
    for (size_t i = 0; i < RANGES; i++)
        if (address - image->ranges[i].start < image->ranges[i].end - image->ranges[i].start)
            return image->ranges[i].start;
    struct start_query query = {image, address, UINT64_MAX, 0};
    if (image->frames_tried && !image->frames.count)
        return UINT64_MAX;
    if (!image_read(image, read_start, &query) && query.start != UINT64_MAX)
        image->ranges[image->next_range++ % RANGES] = (struct range){query.start, query.end};
    return query.start;
}

const char *image_lookup(struct image *image, uint64_t offset, bool executable, uint64_t *result, uint64_t *start)
{
    if (!image->parsed)
        parse(image);
    uint64_t address;
    *result = offset;
    if (!elf_address(image, offset, executable, &address))
        return NULL;
    *result = address;
    uint64_t distance, other;
    errno = 0;
    const char *name = image->symtab ? symtab_lookup(image->symtab, address + image->bias, &distance) : NULL;
    const char *second = image->inside ? symtab_lookup(image->inside, address, &other) : NULL;
    if (second && (!name || other < distance)) {
        name = second;
        distance = other;
    }
    if (!name && image->plt)
        name = plt_lookup(image->plt, address, &distance);
    if (name) {
        *result = distance;
        return name;
    }
    good(image, -errno);
    if (executable && start)
        *start = function_start(image, address);
    return NULL;
}

static void open_debuginfo(struct image *image, const struct elf_file *elf)
{
    struct elf_file common;
    int fd = debug_file_open_common(elf, &image->search);
    bool is_common = good(image, fd) && good(image, elf_file_open(&common, fd));
    int rc = debuginfo_open(&image->debuginfo, elf, is_common ? &common : NULL, false);
    image->debuginfo_too_large = rc == -EFBIG;
    good(image, rc);
    if (fd >= 0) {
        elf_file_close(&common);
        close(fd);
    }
}

/* Reads the debug information of ELF, whose addresses are BIAS above those of the image, or that of its debug file. */
static void read_debuginfo(struct image *image, const struct elf_file *elf, uint64_t bias)
{
    struct elf_file debug;
    image->debuginfo_bias = bias;
    if (debuginfo_is_in(elf)) {
        open_debuginfo(image, elf);
        return;
    }
    int fd = debug_file_open(elf, &image->search);
    if (!good(image, fd))
        return;
    if (good(image, elf_file_open(&debug, fd))) {
        image->debuginfo_bias = bias + first_address(&debug) - first_address(elf);
        open_debuginfo(image, &debug);
        elf_file_close(&debug);
    }
    close(fd);
}

/* Whatever is missing or damaged stays unknown. */
static void load_debuginfo(struct image *image)
{
    struct elf_file elf;
    image->debuginfo_tried = true;
    if (image->symtab) {
        if (good(image, elf_file_open(&elf, symtab_fd(image->symtab)))) {
            read_debuginfo(image, &elf, image->bias);
            elf_file_close(&elf);
        }
        return;
    }
    reopen(image);
    if (image->fd >= 0 && good(image, open_headers(image, &elf))) {
        read_debuginfo(image, &elf, 0);
        elf_file_close(&elf);
    }
    image_unpin(image);
}

size_t image_unread(const struct image *image, const char **module)
{
    *module = image->search.module;
    if (image->debuginfo_too_large)
        return IMAGE_TOO_LARGE;
    if (image->exhausted)
        return IMAGE_NO_MEMORY;
    return image->debuginfo ? debuginfo_unread(image->debuginfo) : 0;
}

size_t image_places(struct image *image, uint64_t offset, bool executable, struct source_line *places, size_t room)
{
    uint64_t address;
    if (!image->parsed)
        parse(image);
    if (!elf_address(image, offset, executable, &address))
        return 0;
    if (!image->debuginfo_tried)
        load_debuginfo(image);
    if (!image->debuginfo)
        return 0;
    return debuginfo_lookup(image->debuginfo, address + image->debuginfo_bias, places, room);
}
