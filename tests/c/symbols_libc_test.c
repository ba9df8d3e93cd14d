/* The C library, as large as libraries get that everybody has: right names, damaged copies, speed. */
#include "sym/image.h"

#include "programs.h"

/* Of this process's own work: others may have the CPUs meanwhile. */
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* libc is stripped; where its debug file is installed, its names must agree with addr2line's. */
static void test_libc(void)
{
    char file[256] = "", debug[512] = "";
    FILE *pipe = popen("sed -n 's:.* \\(/.*/libc\\.so\\.6\\)$:\\1:p' /proc/self/maps | head -1; "
                       "f=$(sed -n 's:.* \\(/.*/libc\\.so\\.6\\)$:\\1:p' /proc/self/maps | head -1); "
                       "readelf -n $f | sed -n 's,.*Build ID: \\(..\\),/usr/lib/debug/.build-id/\\1/,p'",
                       "r");
    if (!pipe || fscanf(pipe, "%255s %500s", file, debug) != 2 || pclose(pipe))
        exit(2);
    strcat(debug, ".debug");
    struct symbols *symbols = symbols_new();
    uint64_t base = base_of(getpid(), "/libc.so.6");
    if (access(debug, R_OK)) {
        symbols_set_debug_root(symbols, "/nonexistent");
        read_nm(file, "-D");
        compare(symbols, getpid(), base, 1000, "libc by its dynamic symbols");
        symbols_free(symbols);
        return;
    }
    read_nm(debug, "");
    compare(symbols, getpid(), base, 2000, "libc with its debug file");

    enum { COUNT = 400 };
    static char want[COUNT][200];
    static uint64_t addresses[COUNT];
    FILE *list = fopen(in_dir("addresses"), "w");
    for (int i = 0; list && i < COUNT; i++) {
        const struct known *k = &known[(size_t)random() % known_count];
        addresses[i] = k->address + (uint64_t)random() % k->size;
        fprintf(list, "%#" PRIx64 "\n", addresses[i]);
    }
    if (list)
        fclose(list);
    char command[1024];
    snprintf(command, sizeof command,
             "addr2line -f -i -a -e %s < %s | awk '/^0x/ { if (n) print f; n = 1; k = 0; next } "
             "{ if (k++ %% 2 == 0) f = $0 } END { print f }'",
             debug, in_dir("addresses"));
    pipe = popen(command, "r");
    unsigned compared = 0, equal = 0;
    for (int i = 0; pipe && i < COUNT && fscanf(pipe, "%199s", want[i]) == 1; i++) {
        struct symbol symbol;
        symbols_lookup(symbols, getpid(), 0, base + addresses[i], &symbol);
        bool alias = false, there = false; /* DWARF may have another of the names that share the address */
        char whole[256];
        snprintf(whole, sizeof whole, "%.*s", symbol.function ? (int)strcspn(symbol.function, ".") : 0,
                 symbol.function);
        for (size_t k = 0; k < known_count; k++)
            if (!strcmp(known[k].name, want[i])) {
                there = true;
                alias |= known[k].address == addresses[i] - symbol.offset;
            }
        /* DWARF counts "read.cold" and "read.part.0" as read */
        for (size_t k = 0; k < known_count && !alias; k++)
            alias = !strcmp(known[k].name, whole) && !strcmp(want[i], whole);
        compared += there;
        equal += there && alias;
        if (there && !alias)
            fprintf(stderr, "#   %#" PRIx64 ": %s+%#" PRIx64 ", addr2line has %s\n", addresses[i], symbol.function,
                    symbol.offset, want[i]);
    }
    if (pipe)
        pclose(pipe);
    ok(compared >= 300, "addr2line knows %u of %d addresses in libc by a name of its symbol table", compared, COUNT);
    is_int(equal, compared, "each of them is named as addr2line does");
    symbols_free(symbols);
}

/* Reads NAME of the test's folder as an image and asks for names all over. */
static void read_damaged(const char *name, uint64_t size)
{
    struct debug_file_search search = {.root = -1, .debug_root = "/nonexistent", .module = in_dir(name)};
    struct stat stat;
    int fd = open(in_dir(name), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &stat))
        exit(2);
    struct image *image = image_new(fd, &stat, &search);
    uint64_t offset;
    for (int i = 0; image && i < 200; i++) {
        const char *function = image_lookup(image, (uint64_t)random() % size, i % 8 != 0, &offset, NULL);
        if (function && strlen(function) > 4096)
            exit(3);
    }
    image_free(image);
}

/* Damages are made where they hurt: headers, tables of sections and symbols, the string table, the notes. */
static void test_damaged(void)
{
    enum { ROUNDS = 400 };
    static unsigned char whole[1 << 20], bytes[1 << 20];
    shell("cp static whole && objcopy --only-keep-debug whole whole.debug && "
          "objcopy --add-gnu-debuglink=whole.debug whole");
    FILE *file = fopen(in_dir("whole"), "r");
    size_t size = file ? fread(whole, 1, sizeof whole, file) : 0;
    if (file)
        fclose(file);
    Elf64_Ehdr header;
    memcpy(&header, whole, sizeof header);
    Elf64_Shdr sections[64];
    size_t count = header.e_shnum < 64 ? header.e_shnum : 64;
    memcpy(sections, whole + header.e_shoff, count * sizeof *sections);
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(bytes, whole, size);
        size_t length = size;
        if (round % 5 == 0)
            length = (size_t)random() % size;
        for (int i = 0; i < 1 + round % 30; i++) {
            const Elf64_Shdr *section = &sections[(size_t)random() % count];
            size_t start = 0, range = sizeof header;
            switch (random() % 4) {
            case 0:
                range += header.e_phnum * sizeof(Elf64_Phdr);
                break;
            case 1:
                start = header.e_shoff;
                range = count * sizeof *sections;
                break;
            case 2:
                if (section->sh_type != SHT_NOBITS && section->sh_size) {
                    start = section->sh_offset;
                    range = section->sh_size;
                }
                break;
            default:
                range = size;
            }
            size_t at = start + (size_t)random() % range;
            static const unsigned char worst[] = {0, 1, 0x7f, 0x80, 0xff};
            size_t run = random() % 8 ? 1 : 8;
            for (size_t k = at; k < at + run && k < size; k++)
                bytes[k] = random() % 2 ? worst[random() % 5] : (unsigned char)random();
        }
        if (round % 3) /* most readers stop early if these are wrong */
            memcpy(bytes, whole, EI_NIDENT);
        file = fopen(in_dir("damaged"), "w");
        if (!file || fwrite(bytes, 1, length, file) != length || fclose(file))
            exit(2);
        read_damaged("damaged", size);
    }
    ok(size > 100000, "%d damaged copies of a program are read without harm", ROUNDS);
    /* Counts that would need gigabytes, in a file that has them: as a hole. */
    memcpy(bytes, whole, size);
    for (size_t i = 0; i < count; i++)
        if (sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_STRTAB)
            sections[i].sh_size = UINT64_C(1) << 38;
    memcpy(bytes + header.e_shoff, sections, count * sizeof *sections);
    file = fopen(in_dir("sparse"), "w");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) || truncate(in_dir("sparse"), INT64_C(1) << 40))
        exit(2);
    double begin = seconds();
    read_damaged("sparse", size);
    ok(seconds() - begin < 10, "a table of a terabyte of zeros is given up");
}

static void test_speed(void)
{
    enum { WARM = 3000000, GARBAGE = 200000, READINGS = 1000 };
    struct symbols *symbols = symbols_new();
    read_nm(in_dir("static"), "");
    struct program program = start(in_dir("static"), NULL, NULL);
    static uint64_t addresses[1024];
    for (size_t i = 0; i < 1024; i++)
        addresses[i] = known[(size_t)random() % known_count].address;
    struct symbol symbol;
    for (size_t i = 0; i < 1024; i++)
        symbols_lookup(symbols, program.pid, 0, addresses[i], &symbol);
    double begin = seconds();
    for (int i = 0; i < WARM; i++)
        symbols_lookup(symbols, program.pid, 0, addresses[i & 1023], &symbol);
    double warm = seconds() - begin;
    begin = seconds();
    for (int i = 0; i < GARBAGE; i++)
        symbols_lookup(symbols, program.pid, 0, UINT64_C(0x100000000000) + (uint64_t)i * 4096, &symbol);
    double garbage = seconds() - begin;
    begin = seconds();
    for (int i = 0; i < READINGS; i++)
        base_of(program.pid, "no such mapping");
    double reading = seconds() - begin;
    printf("# %.1f million warm lookups a second; %.2f us per unknown address, %.2f us to read the mappings\n",
           WARM / warm / 1e6, garbage / GARBAGE * 1e6, reading / READINGS * 1e6);
    ok(garbage / GARBAGE < reading / READINGS / 10, "many unknown addresses do not read the mappings many times");
    stop(&program);
    symbols_free(symbols);
}

int main(void)
{
    begin_programs();
    build_programs();
    test_libc();
    test_damaged();
    test_speed();
    return end_programs();
}
