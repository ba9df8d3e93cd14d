/*
 * Files, lines and inlined functions are those of addr2line, for programs of several compilers, DWARF versions,
 * compressions and places of the debug information. With UPLUA_LONG in the host more programs, and the C library
 * in full.
 *
 * Two differences are explained. binutils 2.40 names the unit's own file instead of one that it includes, as long as
 * the unit's line program has not named another: then llvm-symbolizer's must be ours. And between two functions, where
 * there is only padding, it names the one before. Of clang's DWARF 5 it finds no inlined functions: there
 * llvm-symbolizer is asked.
 */
#include "sym/demangle.h"
#include "sym/image.h"

#include "programs.h"

enum { MAX_LEVELS = 64 };

struct level {
    char function[DEMANGLE_MAX + 1], file[512];
    unsigned line;
};

struct answer {
    uint64_t address;
    struct level levels[MAX_LEVELS];
    size_t count;
};

struct reader {
    FILE *pipe;
    char line[1 << 16]; /* the first of the next answer, once it has been read */
};

/* The next answer of READER, which `addr2line -a` and `llvm-symbolizer --output-style=GNU -a` print alike; false at the
 * end. */
static bool read_answer(struct reader *reader, struct answer *answer)
{
    char *line = reader->line;
    answer->count = 0;
    if (!line[0] && !fgets(line, sizeof reader->line, reader->pipe))
        return false;
    answer->address = strtoull(line, NULL, 16);
    line[0] = '\0';
    while (fgets(line, sizeof reader->line, reader->pipe) && strncmp(line, "0x", 2)) {
        char place[4096];
        if (line[0] == '\n' || !fgets(place, sizeof place, reader->pipe))
            continue;
        if (answer->count == MAX_LEVELS)
            exit(2);
        struct level *level = &answer->levels[answer->count++];
        snprintf(level->function, sizeof level->function, "%.*s", (int)strcspn(line, "\n"), line);
        char *colon = strrchr(place, ':');
        level->line = colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
        snprintf(level->file, sizeof level->file, "%.*s", (int)(colon ? colon - place : 0), place);
        line[0] = '\0';
    }
    if (strncmp(line, "0x", 2))
        line[0] = '\0';
    return true;
}

static bool texts_equal(const char *ours, const char *theirs)
{
    bool unknown = !theirs[0] || !strcmp(theirs, "??");
    return ours ? !strcmp(ours, theirs) : unknown;
}

/* Whether NAME stands for the function that symbol tables call SYMBOL. */
static bool is_alias(const char *name, const char *symbol)
{
    size_t length = strcspn(name, "@");
    if (!strncmp(name, symbol, length) && !symbol[length])
        return true;
    uint64_t starts[16];
    size_t count = 0;
    for (size_t i = 0; i < known_count && count < 16; i++)
        if (!strcmp(known[i].name, symbol))
            starts[count++] = known[i].address;
    for (size_t i = 0; i < known_count; i++)
        for (size_t k = 0; k < count; k++)
            if (known[i].address == starts[k] && !strncmp(known[i].name, name, length) && !known[i].name[length])
                return true;
    return false;
}

/* What was asked for, and what there was. */
struct tally {
    unsigned addresses, with_lines, inlined, other_file, between, judged, wrong;
};

static uint64_t section_address, section_offset, section_size;

static void find_text(const char *file)
{
    char command[600];
    snprintf(command, sizeof command, "readelf -SW %s | sed -n 's/^.*\\] \\.text *PROGBITS *//p'", file);
    FILE *pipe = popen(command, "r");
    if (!pipe ||
        fscanf(pipe, "%" SCNx64 " %" SCNx64 " %" SCNx64, &section_address, &section_offset, &section_size) != 3)
        exit(2);
    pclose(pipe);
}

static FILE *ask(const char *what, const char *file)
{
    char command[1024];
    snprintf(command, sizeof command, "%s %s < %s", what, file, in_dir("addresses"));
    FILE *pipe = popen(command, "r");
    if (!pipe)
        exit(2);
    return pipe;
}

/* True if theirs is ours; *FILES becomes false where only the name of a file differs. */
static bool compare_levels(const struct answer *theirs, const struct source_line *places, size_t count,
                           const char *symbol, bool *files)
{
    static const struct source_line nothing;
    *files = true;
    bool known_place = count > 0;
    if (!known_place) { /* addr2line has one line all the same, and in it the file that the symbol table names */
        places = &nothing;
        count = 1;
    }
    if (theirs->count != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct level *level = &theirs->levels[i];
        const char *own = places[i].function;
        if (i + 1 < count && !texts_equal(own, level->function))
            return false;
        if (i + 1 == count && !texts_equal(symbol, level->function) && !texts_equal(own, level->function) &&
            !(symbol && is_alias(level->function, symbol)))
            return false;
        if (places[i].line != level->line)
            return false;
        *files &= !known_place || texts_equal(places[i].file, level->file);
    }
    return true;
}

/* True if the files are those of JUDGE. */
static bool compare_files(const struct answer *judge, const struct source_line *places, size_t count)
{
    bool equal = judge->count == count;
    for (size_t i = 0; equal && i < count; i++)
        equal = texts_equal(places[i].file, judge->levels[i].file) && places[i].line == judge->levels[i].line;
    return equal;
}

/* True if the places are those of THEIRS: no function, and its line, or none where it has none. */
static bool compare_places(const struct answer *theirs, const struct source_line *places, size_t count)
{
    if (!count)
        return theirs->count == 1 && !theirs->levels[0].line;
    return compare_files(theirs, places, count) && !places[0].function;
}

/* True if no function of the symbol table has ADDRESS: it is padding. */
static bool is_between_functions(uint64_t address)
{
    for (size_t i = 0; i < known_count; i++)
        if (known[i].address <= address && address - known[i].address < known[i].size)
            return false;
    return true;
}

static void show(const char *who, const struct answer *answer)
{
    for (size_t i = 0; i < answer->count; i++)
        fprintf(stderr, "#     %s %s %s:%u\n", who, answer->levels[i].function, answer->levels[i].file,
                answer->levels[i].line);
}

/*
 * Compares COUNT random addresses of FILE, whose debug information is in DEBUG, with addr2line; SEARCH says how it is
 * found by us.
 */
static struct tally compare_lines(const char *file, const char *debug, const struct debug_file_search *search,
                                  unsigned count, bool judged)
{
    struct stat stat;
    struct tally tally = {0};
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &stat))
        exit(2);
    struct image *image = image_new(fd, &stat, search);
    FILE *list = fopen(in_dir("addresses"), "w");
    find_text(file);
    read_nm(debug, "-C");
    for (unsigned i = 0; list && i < count; i++)
        fprintf(list, "%#" PRIx64 "\n", section_address + (uint64_t)random() % section_size);
    if (!list || fclose(list))
        exit(2);
    static struct answer theirs, judge;
    struct reader reader = {.pipe = ask("addr2line -a -f -i -C -e", debug)};
    struct reader other = {.pipe = ask("llvm-symbolizer --output-style=GNU -a -f -i -C -e", debug)};
    while (read_answer(&reader, &theirs) && read_answer(&other, &judge)) {
        struct source_line places[MAX_LEVELS];
        uint64_t offset, at = theirs.address - section_address + section_offset;
        const char *symbol = image_lookup(image, at, true, &offset, NULL);
        size_t found = image_places(image, at, true, places, MAX_LEVELS);
        bool files, equal = compare_levels(&theirs, places, found, symbol, &files);
        tally.addresses++;
        tally.with_lines += found && places[0].line;
        tally.inlined += found > 1;
        if (equal && !files) {
            equal = compare_files(&judge, places, found);
            tally.other_file += equal;
        }
        if (!equal && !symbol && is_between_functions(theirs.address) &&
            (compare_places(&theirs, places, found) || compare_places(&judge, places, found))) {
            equal = true;
            tally.between++;
        }
        if (!equal && judged && compare_levels(&judge, places, found, symbol, &files) && files) {
            equal = true;
            tally.judged++;
        }
        if (equal)
            continue;
        if (tally.wrong++ > 5)
            continue;
        fprintf(stderr, "#   %s %#" PRIx64 ": %s\n", file, theirs.address, symbol ? symbol : "(unknown)");
        for (size_t i = 0; i < found; i++)
            fprintf(stderr, "#     ours %s %s:%u\n", places[i].function, places[i].file, places[i].line);
        show("addr2line", &theirs);
        show("llvm-symbolizer", &judge);
    }
    pclose(reader.pipe);
    pclose(other.pipe);
    image_free(image);
    return tally;
}

/* True if the debug information of FILE is found. */
static bool has_lines(const char *file, const struct debug_file_search *search)
{
    struct stat stat;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &stat))
        exit(2);
    struct image *image = image_new(fd, &stat, search);
    struct source_line places[MAX_LEVELS];
    bool found = false;
    for (uint64_t at = 0; at < section_size && !found; at += 64)
        found = image_places(image, section_offset + at, true, places, MAX_LEVELS) > 0;
    image_free(image);
    return found;
}

static void report(const char *name, const struct tally *tally, unsigned count)
{
    printf("# %s: %u addresses, %u with lines, %u inlined, %u files as llvm-symbolizer has them, %u between functions, "
           "%u as llvm-symbolizer\n",
           name, tally->addresses, tally->with_lines, tally->inlined, tally->other_file, tally->between, tally->judged);
    is_int(tally->addresses, count, "%s: addr2line answers", name);
    ok(tally->with_lines * 10 >= tally->addresses * 6, "%s: most addresses have a line", name);
    is_int(tally->wrong, 0, "%s: function, file and line are those of addr2line", name);
}

static void test_libc(void)
{
    char file[256] = "", debug[512] = "";
    FILE *pipe = popen("f=$(sed -n 's:.* \\(/.*/libc\\.so\\.6\\)$:\\1:p' /proc/self/maps | head -1); echo $f; "
                       "readelf -n $f | sed -n 's,.*Build ID: \\(..\\),/usr/lib/debug/.build-id/\\1/,p'",
                       "r");
    if (!pipe || fscanf(pipe, "%255s %500s", file, debug) != 2 || pclose(pipe))
        exit(2);
    strcat(debug, ".debug");
    if (!ok(!access(debug, R_OK), "libc's debug file is there (libc6-dbg)"))
        return;
    struct debug_file_search search = {.root = -1, .debug_root = DEBUG_FILE_ROOT, .module = file};
    unsigned count = getenv("UPLUA_LONG") ? 10000 : 1000;
    struct tally tally = compare_lines(file, debug, &search, count, false);
    report("libc", &tally, count);
}

/* A program that inlines much, by templates and lambdas. */
static const char plus_plus[] =
    "#include <algorithm>\n#include <map>\n#include <numeric>\n#include <regex>\n#include <string>\n#include <vector>\n"
    "namespace shop { template <class T> struct Shelf { std::map<std::string, std::vector<T>> goods;\n"
    "  T sum(const std::string &name) { auto &v = goods[name]; std::sort(v.begin(), v.end(), [](T a, T b) { return b < "
    "a; });\n"
    "    return std::accumulate(v.begin(), v.end(), T{}); } }; }\n"
    "int main(int argc, char **argv) { shop::Shelf<int> a; shop::Shelf<double> b;\n"
    "  for (int i = 0; i < argc; i++) { a.goods[argv[i]].push_back(i); b.goods[argv[i]].push_back(i / 2.0); }\n"
    "  return a.sum(argv[0]) + b.sum(\"x\") > 1 ? std::regex_match(argv[0], std::regex(\"(a|b)*\")) : 0; }\n";

#define C_FILES                                                                                                        \
    "-w -std=gnu11 -D_GNU_SOURCE -DUPLUA_VERSION='\"0\"' -Isrc -Ibuild $(pkg-config --cflags luajit libdw) -shared "   \
    "-fPIC -Wl,--build-id "

/* How a program is built (in the source tree; its file is $O, the test's folder $D), and how its debug information is
 * kept. */
static const struct variant {
    const char *name, *build;
    enum { WHOLE, BY_BUILD_ID, BY_LINK } kept;
    const char *compress; /* objcopy's option, or "" */
    bool in_short;
    bool judged; /* addr2line reads none of its inlined functions: llvm-symbolizer has to agree */
} variants[] = {
    {"gcc", "gcc -O2 -g " C_FILES "src/sym/*.c -o $O", BY_BUILD_ID, "--compress-debug-sections=zlib", true, false},
    {"clang", "clang -O2 -gdwarf-4 " C_FILES "src/unwind/*.c -o $O", BY_LINK, "", true, false},
    {"c++", "g++ -O2 -gdwarf-4 -Wl,--build-id $D/plus.cc -o $O", WHOLE, "--compress-debug-sections=zlib-gnu", true,
     false},
    {"dwarf3", "gcc -O1 -gdwarf-3 -gstrict-dwarf " C_FILES "src/probe/*/*.c -o $O", BY_LINK, "", false, false},
    {"clang5", "clang -O3 -gdwarf-5 " C_FILES "src/map/*.c src/sys/*.c -o $O", BY_BUILD_ID, "", false, true},
    {"lto", "gcc -O2 -g -flto " C_FILES "src/compile/[a-k]*/*.c -o $O", BY_BUILD_ID, "", false, false},
    {"sections", "gcc -O2 -g -ffunction-sections -Wl,--gc-sections " C_FILES "src/compile/[l-z]*/*.c -o $O", BY_LINK,
     "--compress-debug-sections=zlib", false, false},
    {"small", "gcc -Os -g " C_FILES "src/lua/*.c -o $O", BY_LINK, "--compress-debug-sections=zlib", false, false},
    {"prefix", "gcc -O2 -g -ffile-prefix-map=$PWD=. " C_FILES "src/unwind/*.c src/map/*.c -o $O", BY_BUILD_ID, "",
     false, false},
    {"clang++", "clang++ -O2 -gdwarf-4 -Wl,--build-id $D/plus.cc -o $O", BY_BUILD_ID, "", false, false},
};

/* Builds VARIANT and puts its debug information where it is to be found. */
static bool build(const struct variant *variant)
{
    char command[4096];
    snprintf(command, sizeof command, "D=%s O=%s/%s; %s", dir, dir, variant->name, variant->build);
    if (system(command))
        return false;
    const char *name = variant->name;
    if (variant->compress[0] && !shell("objcopy %s %s", variant->compress, name))
        return false;
    switch (variant->kept) {
    case BY_BUILD_ID:
        return shell("id=$(readelf -n %s | sed -n 's/.*Build ID: //p') && d=debug/.build-id/$(echo $id | cut -c1-2) && "
                     "mkdir -p $d && objcopy --only-keep-debug %s $d/$(echo $id | cut -c3-).debug && "
                     "ln -s $d/$(echo $id | cut -c3-).debug %s.link && strip %s",
                     name, name, name, name);
    case BY_LINK:
        return shell("mkdir -p .debug && objcopy --remove-section=.note.gnu.build-id %s && "
                     "objcopy --only-keep-debug %s .debug/%s.dbg && ln -s .debug/%s.dbg %s.link && strip %s && "
                     "objcopy --add-gnu-debuglink=.debug/%s.dbg %s",
                     name, name, name, name, name, name, name, name);
    default:
        return shell("ln -s %s %s.link", name, name);
    }
}

static void test_variants(void)
{
    write_file("plus.cc", plus_plus);
    char root[256];
    snprintf(root, sizeof root, "%s/debug", dir);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        const struct variant *variant = &variants[i];
        if (!variant->in_short && !getenv("UPLUA_LONG"))
            continue;
        if (!ok(build(variant), "%s is built", variant->name))
            continue;
        char file[512], debug[512];
        snprintf(file, sizeof file, "%s/%s", dir, variant->name);
        snprintf(debug, sizeof debug, "%s/%s.link", dir, variant->name);
        struct debug_file_search search = {.root = -1, .debug_root = root, .module = file};
        struct tally tally = compare_lines(file, debug, &search, 1000, variant->judged);
        report(variant->name, &tally, 1000);
        if (variant->kept == WHOLE)
            continue;
        /* Another file in its place: with a byte more, hence another CRC; with the build id of another program. */
        if (variant->kept == BY_LINK)
            shell("printf x >> %s.link", variant->name);
        else
            shell("objcopy --remove-section=.note.gnu.build-id $(readlink -f %s.link)", variant->name);
        is_int(has_lines(file, &search), false, "%s: a debug file that is not its own is not taken", variant->name);
    }
}

/* Two programs of which dwz has moved what they have in common, the inlined functions' names among it, into a third
 * file. */
static void test_common(void)
{
    static const char source[] =
        "struct shared { int a, b, c; char text[100]; struct shared *next; }; int volatile sink;\n"
        "static inline __attribute__((always_inline)) int twice(struct shared *s) { sink = s->a; return s->a * 2 + "
        "s->b; }\n"
        "static inline __attribute__((always_inline)) int thrice(struct shared *s) { return twice(s) * 3 + s->c; }\n"
        "__attribute__((noinline)) int outer(struct shared *s) { return thrice(s) + twice(s->next); }\n"
        "int main(int argc, char **argv) { struct shared s = {argc, 2, 3, \"\", &s}; (void)argv; return outer(&s); }\n";
    write_file("one.c", source);
    write_file("two.c", source);
    if (!ok(shell("for n in one two; do cc -O2 -g -gdwarf-4 -Wl,--build-id $n.c -o $n || exit 1; done; "
                  "dwz -m common.debug -M $PWD/common.debug one two && readelf -SW one | grep -q gnu_debugaltlink"),
            "debug information is shared by two programs"))
        return;
    char file[256];
    snprintf(file, sizeof file, "%s/one", dir);
    for (int round = 0; round < 2; round++) {
        struct debug_file_search search = {.root = -1, .debug_root = "/nonexistent", .module = file};
        struct stat stat;
        int fd = open(file, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &stat))
            exit(2);
        struct image *image = image_new(fd, &stat, &search);
        bool found = false;
        find_text(file);
        for (uint64_t at = 0; at < section_size && !found; at++) {
            struct source_line places[8];
            size_t count = image_places(image, section_offset + at, true, places, 8);
            found = count == 3 && places[0].function && !strcmp(places[0].function, "twice") && places[0].line == 2 &&
                    places[1].function && !strcmp(places[1].function, "thrice") && places[1].line == 3 &&
                    places[2].function && !strcmp(places[2].function, "outer") && places[2].line == 4;
        }
        image_free(image);
        is_int(found, !round,
               round ? "without the third file they have no names"
                     : "inlined functions have the names that stand there");
        shell("cp two common.debug"); /* another file, with another build id */
    }
}

int main(void)
{
    begin_programs();
    test_libc();
    test_variants();
    test_common();
    return end_programs();
}
