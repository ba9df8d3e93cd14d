/*
 * Stripped files as a distribution ships them are named as eu-addr2line names them: libraries of this system, 1,000
 * random addresses each, with nothing but what they carry. With UPLUA_LONG in the host twenty, else five.
 *
 * Two differences are explained, by what libdwfl says of the file's symbols. Of several names of one address each side
 * has its own favourite. And where no function contains an address, eu-addr2line takes one without a size or the
 * closest one before, which we do not.
 */
#include <elfutils/libdwfl.h>
#include <errno.h>

#include "sym/demangle.h"
#include "sym/image.h"

#include "programs.h"

enum { ADDRESSES = 1000 };

/* libdwfl's view of a file, without separate debug files. */
static int find_no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *file,
                             const char *link, GElf_Word crc, char **path)
{
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)path;
    return -1;
}

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_linux_proc_find_elf,
    .find_debuginfo = find_no_debuginfo,
    .section_address = dwfl_offline_section_address,
};

/* Executable segments, and functions with a size, of a file. */
struct view {
    Dwfl *dwfl;
    Dwfl_Module *module;
    GElf_Addr bias, low, high;
    int symbols;
};

static bool open_view(struct view *view, const char *path)
{
    *view = (struct view){.dwfl = dwfl_begin(&callbacks)};
    view->module = dwfl_report_elf(view->dwfl, "module", path, -1, 0, false);
    dwfl_report_end(view->dwfl, NULL, NULL);
    if (!view->module)
        return false;
    dwfl_module_info(view->module, NULL, &view->low, &view->high, NULL, NULL, NULL, NULL);
    view->symbols = dwfl_module_getsymtab(view->module);
    Elf *elf = dwfl_module_getelf(view->module, &view->bias);
    GElf_Phdr segment;
    size_t count = 0;
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count; i++)
        if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD && segment.p_flags & PF_X) {
            view->low = segment.p_vaddr + view->bias;
            view->high = view->low + segment.p_memsz;
            return view->symbols > 10;
        }
    return false;
}

/* The start of the innermost function of .symtab, .dynsym or MiniDebugInfo that contains ADDRESS; 0: none. */
static uint64_t start_of(const struct view *view, uint64_t address)
{
    uint64_t best = 0;
    for (int i = 1; i < view->symbols; i++) {
        GElf_Sym symbol;
        GElf_Addr start;
        if (!dwfl_module_getsym_info(view->module, i, &symbol, &start, NULL, NULL, NULL))
            continue;
        unsigned type = GELF_ST_TYPE(symbol.st_info);
        if ((type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF && start <= address &&
            address - start < symbol.st_size && start > best)
            best = start;
    }
    return best;
}

/* True if NAME is one of the names of what starts at START. */
static bool is_name(const struct view *view, uint64_t start, const char *name)
{
    for (int i = 1; i < view->symbols; i++) {
        GElf_Sym symbol;
        GElf_Addr at;
        const char *own = dwfl_module_getsym_info(view->module, i, &symbol, &at, NULL, NULL, NULL);
        if (own && at == start) {
            char *shown = demangle(own);
            bool equal = shown && !strcmp(shown, name);
            free(shown);
            if (equal)
                return true;
        }
    }
    return false;
}

/* What eu-addr2line says of an address: the name, NULL where it has none, and how far behind its start. */
struct answer {
    char *name;
    uint64_t distance;
};

/* "name+0x12", "name", or "()+0x12" where there is none. */
static struct answer parse_answer(char *line)
{
    struct answer answer = {0};
    line[strcspn(line, "\n")] = '\0';
    char *plus = strstr(line, "+0x");
    if (*line != '(') {
        answer.distance = plus ? strtoull(plus + 1, NULL, 16) : 0;
        if (plus)
            *plus = '\0';
        answer.name = demangle(line);
    }
    return answer;
}

/* Runs eu-addr2line on the file's addresses ADDRESS: how many it has answered. */
static unsigned ask(const char *path, const uint64_t address[ADDRESSES], struct answer answers[ADDRESSES])
{
    FILE *list = fopen(in_dir("addresses"), "w");
    for (int i = 0; list && i < ADDRESSES; i++)
        fprintf(list, "%#" PRIx64 "\n", address[i]);
    if (!list || fclose(list))
        exit(2);
    char command[1024];
    snprintf(command, sizeof command, "eu-addr2line -a -S --debuginfo-path=/nonexistent -e %s <%s", path,
             in_dir("addresses"));
    FILE *pipe = popen(command, "r");
    char *line = NULL;
    size_t size = 0;
    unsigned count = 0;
    while (pipe && count < ADDRESSES && getline(&line, &size, pipe) > 0) {
        if (strtoull(line, NULL, 16) != address[count] || getline(&line, &size, pipe) <= 0)
            break;
        answers[count++] = parse_answer(line);
        if (getline(&line, &size, pipe) <= 0) /* the place in the source */
            break;
    }
    if (pipe)
        pclose(pipe);
    free(line);
    return count;
}

struct tally {
    unsigned named, alias, outside, stubs, wrong;
};

static struct tally compare_file(const char *path)
{
    struct view view;
    struct tally tally = {0};
    struct stat stat;
    struct debug_file_search search = {.root = -1, .debug_root = "/nonexistent", .module = path};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &stat) || !open_view(&view, path))
        exit(2);
    struct image *image = image_new(fd, &stat, &search);
    GElf_Phdr segment = {0};
    Elf *elf = dwfl_module_getelf(view.module, &view.bias);
    for (int i = 0; gelf_getphdr(elf, i, &segment); i++)
        if (segment.p_type == PT_LOAD && segment.p_flags & PF_X)
            break;
    static uint64_t addresses[ADDRESSES];
    static struct answer answers[ADDRESSES];
    for (int i = 0; i < ADDRESSES; i++)
        addresses[i] = view.low - view.bias + (uint64_t)random() % (view.high - view.low);
    is_int(ask(path, addresses, answers), ADDRESSES, "eu-addr2line answers");
    for (int i = 0; i < ADDRESSES; i++) {
        GElf_Addr address = addresses[i] + view.bias, distance = answers[i].distance;
        uint64_t offset;
        const char *own = image_lookup(image, address - view.low + segment.p_offset, true, &offset, NULL);
        char *name = answers[i].name;
        uint64_t start = start_of(&view, address);
        if (own && !start && strstr(own, "@plt")) {
            tally.stubs++;
        } else if (!start) {
            /* A function without a size, which .symtab or assembler has, goes up to the next. */
            tally.outside++;
            if (own && !is_name(&view, address - offset, own) && tally.wrong++ < 5)
                fprintf(stderr, "#   %s %#" PRIx64 ": %s, but no function has it\n", path, address, own);
        } else if (!own || address - offset != start || !is_name(&view, start, own)) {
            if (tally.wrong++ < 5)
                fprintf(stderr, "#   %s %#" PRIx64 ": %s+%#" PRIx64 ", eu-addr2line has %s+%#" PRIx64 "\n", path,
                        address, own ? own : "(unknown)", offset, name ? name : "(unknown)", distance);
        } else {
            bool same = name && !strcmp(name, own) && distance == offset;
            /* Another name of the same place, never another place. */
            if (!same && (!name || distance != offset) && tally.wrong++ < 5)
                fprintf(stderr, "#   %s %#" PRIx64 ": %s+%#" PRIx64 ", eu-addr2line has %s+%#" PRIx64 "\n", path,
                        address, own, offset, name ? name : "(unknown)", distance);
            tally.alias += !same;
            tally.named++;
        }
        free(name);
    }
    image_free(image);
    dwfl_end(view.dwfl);
    return tally;
}

int main(void)
{
    begin_programs();
    unsigned wanted = getenv("UPLUA_LONG") ? 20 : 5, done = 0;
    FILE *pipe =
        popen("for f in $(ldconfig -p | awk '/x86-64|AArch64/ { print $NF }'); do f=$(readlink -f $f); "
              "readelf -SW $f 2>/dev/null | grep -q ' \\.symtab ' || echo $f; done | grep ^/usr/lib | sort -u | shuf",
              "r");
    char path[512];
    while (pipe && done < wanted && fscanf(pipe, "%511s", path) == 1) {
        struct view view;
        bool good = open_view(&view, path);
        dwfl_end(view.dwfl);
        if (!good)
            continue;
        struct tally tally = compare_file(path);
        printf("# %s: %u named, %u of them by another name, %u in no function, %u stubs\n", path, tally.named,
               tally.alias, tally.outside, tally.stubs);
        is_int(tally.wrong, 0, "%s: named as eu-addr2line does", path);
        done++;
    }
    if (pipe)
        pclose(pipe);
    ok(done == wanted || (done && wanted > 5), "%u stripped libraries were compared", done);
    return end_programs();
}
