/* Unwind tables on disk: read back as they were; whatever is damaged, foreign or another file's is as good as none. */
#include "unwind/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "sys/state_folder.h"
#include "tap.h"

static char folder[64], library[256];
static struct elf_file elf;

/* The only file that is finished in the folder; how many there are. */
static int find_file(char path[static PATH_MAX])
{
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.') {
            snprintf(path, PATH_MAX, "%s/%s", folder, entry->d_name);
            count++;
        }
    if (dir)
        closedir(dir);
    return count;
}

static uint8_t *read_file(const char *path, size_t *size)
{
    int fd = open(path, O_RDONLY);
    struct stat stat;
    fstat(fd, &stat);
    *size = (size_t)stat.st_size;
    uint8_t *bytes = malloc(*size);
    if (read(fd, bytes, *size) != stat.st_size)
        exit(1);
    close(fd);
    return bytes;
}

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (write(fd, bytes, size) != (ssize_t)size)
        exit(1);
    close(fd);
}

/* True if the folder has a table of the library. */
static bool loads(int cache)
{
    struct unwind_rules rules;
    struct unwind_table table;
    unwind_rules_init(&rules);
    bool found = unwind_cache_load(cache, &elf, &rules, &table);
    if (found)
        unwind_table_free(&table);
    unwind_rules_free(&rules);
    return found;
}

/* What is added to a sum of SIZE bytes: eight lanes of words, then what is left of them, then the lanes. */
static uint64_t add_up(uint64_t hash, const uint8_t *bytes, size_t size)
{
    uint64_t lanes[8] = {0};
    for (size_t i = 0; i < size / 8 + 8; i++) {
        uint64_t word, *sum = i < size / 64 * 8 ? &lanes[i % 8] : &hash;
        memcpy(&word, i < size / 8 ? bytes + i * 8 : (uint8_t *)&lanes[i - size / 8], sizeof word);
        *sum = (*sum ^ word) * UINT64_C(0xff51afd7ed558ccd);
        *sum ^= *sum >> 32;
    }
    return hash;
}

/* As the file has it: of its header behind the first 16 bytes, of the rules, of the chunks. */
static uint64_t checksum(const uint8_t *bytes, size_t size, uint32_t rule_count)
{
    size_t rules_size = rule_count * 8 < size - 112 ? rule_count * 8 : size - 112;
    uint64_t hash = add_up(add_up(0, bytes + 16, 96), bytes + 112, rules_size);
    return add_up(hash, bytes + 112 + rules_size, size - 112 - rules_size);
}

static void test_same(int cache)
{
    struct unwind_rules rules, others;
    struct unwind_table built, loaded;
    struct error err;
    char path[PATH_MAX];
    unwind_rules_init(&rules);
    unwind_rules_init(&others);
    unwind_rules_number(&others, unwind_rule(RULE_REGISTER, 23, 101, 0, -8)); /* numbers differ from run to run */
    is_int(unwind_table_build(&built, &elf, NULL, &rules, &err), 0, "a table");
    ok(!unwind_cache_load(cache, &elf, &others, &loaded), "is not in an empty folder");
    unwind_cache_store(cache, &elf, &rules, &built);
    is_int(find_file(path), 1, "is one file once it is kept");
    if (ok(unwind_cache_load(cache, &elf, &others, &loaded), "and is read")) {
        uint32_t same = 0;
        is_int(loaded.row_count, built.row_count, "with as many rows");
        for (uint32_t i = 0; i < built.row_count && i < loaded.row_count; i++) {
            uint64_t offset, other;
            uint32_t rule = unwind_table_row(&built, i, &offset), number = unwind_table_row(&loaded, i, &other);
            same += offset == other && rules.items[rule] == others.items[number] &&
                    unwind_table_find(&loaded, offset) == number;
        }
        is_int(same, built.row_count, "all the same");
        unwind_table_free(&loaded);
    }
    unwind_table_free(&built);
    unwind_rules_free(&rules);
    unwind_rules_free(&others);
}

static void test_damage(int cache)
{
    char path[PATH_MAX];
    size_t size;
    find_file(path);
    uint8_t *bytes = read_file(path, &size), *copy = malloc(size);
    int refused = 0;
    for (size_t i = 0; i < 101; i++) {
        memcpy(copy, bytes, size);
        copy[i < 23 ? i * 5 : size / 101 * i] ^= (uint8_t)(1 << i % 8);
        write_file(path, copy, size);
        refused += !loads(cache);
    }
    is_int(refused, 101, "one bit anywhere is noticed");
    refused = 0;
    for (size_t i = 0; i < 23; i++) {
        write_file(path, bytes, size / 23 * i);
        refused += !loads(cache);
    }
    is_int(refused, 23, "a file that ends too early too");
    /* With a right checksum: sizes, rules and an index that are none. The counts stand before byte 112, then come the
     * rules. */
    uint32_t block_count, rule_count;
    memcpy(&block_count, bytes + 88, 4);
    memcpy(&rule_count, bytes + 108, 4);
    size_t index = 112 + rule_count * 8, rows = index + UNWIND_INDEX_CHUNKS(block_count) * sizeof(struct unwind_chunk);
    /* Row 1, in the block of row 0, begins where that begins; the last row has a rule that is none. */
    uint32_t row_count, first, last;
    memcpy(&row_count, bytes + 92, 4);
    size_t end = rows + (row_count - 1) / 21 * 64 + (row_count - 1) % 21 * 3;
    memcpy(&first, bytes + rows + 3, 4);
    memcpy(&last, bytes + end, 4);
    const struct {
        size_t at;
        uint32_t value;
    } lies[] = {{88, 0},
                {88, UINT32_MAX},
                {92, 0},
                {92, UINT32_MAX},
                {92, 23},
                {108, 0},
                {108, RULE_NUMBERS + 1},
                {index, 1},
                {index + 4, 0},
                {index + 4, UINT32_MAX},
                {rows, RULE_NUMBERS - 1},
                {rows, 1 << 14},
                {rows + 3, first & 0xff003fff},
                {end, last | (RULE_NUMBERS - 1)}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        memcpy(copy, bytes, size);
        memcpy(copy + lies[i].at, &lies[i].value, 4);
        uint64_t sum = checksum(copy, size, lies[i].at == 108 ? lies[i].value : rule_count);
        memcpy(copy + 8, &sum, sizeof sum);
        write_file(path, copy, size);
        ok(!loads(cache), "byte %zu as %u is not believed", lies[i].at, lies[i].value);
    }
    write_file(path, bytes, size);
    ok(loads(cache), "the sound file is");
    free(copy);
    free(bytes);
}

static void test_owner(int cache)
{
    char path[PATH_MAX], other[PATH_MAX + 8];
    find_file(path);
    snprintf(other, sizeof other, "%s.other", path);
    chmod(path, 0620);
    ok(!loads(cache), "a file that others can write is not read");
    chmod(path, 0600);
    if (!geteuid()) {
        ok(!chown(path, 65534, 65534) && !loads(cache), "nor one of somebody else");
        ok(!chown(path, 0, 0) && loads(cache), "only one of our own");
    }
    ok(!rename(path, other) && !symlink(other, path) && !loads(cache), "nor one behind a symbolic link");
    rename(other, path);
    chmod(folder, 0777);
    is_int(state_folder_open(), -1, "a folder that others can write is not used");
    chmod(folder, 0700);
    setenv("UPLUA_CACHE", "", 1);
    is_int(state_folder_open(), -1, "and none where that is asked for");
    setenv("UPLUA_CACHE", folder, 1);
}

/* Makes the file NAME of SIZE bytes, last used at the second USED. */
static void make_file(const char *name, off_t size, time_t used)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    struct timespec times[2] = {{.tv_sec = used}, {.tv_sec = used}};
    ok(fd >= 0 && !ftruncate(fd, size) && !futimens(fd, times), "%s of %lld bytes", name, (long long)size);
    close(fd);
}

static bool has(const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return !access(path, F_OK);
}

static void test_room(int cache)
{
    struct unwind_rules rules;
    struct unwind_table table;
    struct error err;
    make_file("oldest-1", 30 << 20, 1000);
    make_file("newer-2", 30 << 20, 3000);
    make_file("older-3", 30 << 20, 2000);
    make_file(".1-abandoned", 4096, 1000);
    unwind_rules_init(&rules);
    if (!unwind_table_build(&table, &elf, NULL, &rules, &err)) {
        unwind_cache_store(cache, &elf, &rules, &table);
        unwind_table_free(&table);
    }
    unwind_rules_free(&rules);
    ok(loads(cache) && has("newer-2") && has("older-3"), "there is room for 64 MiB");
    ok(!has("oldest-1"), "what was not used for longest goes");
    ok(!has(".1-abandoned"), "and what was never finished");
}

/* ENTRY of the folder, before anybody has opened the library. */
static bool reads(int cache, const struct unwind_cached *entry, struct unwind_identity *identity)
{
    struct unwind_rules rules;
    struct unwind_table table;
    struct unwind_chunk *chunks = malloc((size_t)entry->size);
    unwind_rules_init(&rules);
    bool found = unwind_cache_read(cache, entry, &rules, chunks, identity, &table) && table.chunks == chunks;
    unwind_rules_free(&rules);
    free(chunks);
    return found;
}

static void test_list(int cache)
{
    struct unwind_cached *list;
    struct unwind_identity identity, wanted = unwind_identity_of(&elf.stat);
    char path[PATH_MAX];
    find_file(path);
    if (is_int((intmax_t)unwind_cache_list(cache, 64 << 20, &list), 1, "the folder's only file is listed")) {
        ok(reads(cache, list, &identity) && !memcmp(&identity, &wanted, sizeof wanted), "and says whose table it is");
        chmod(path, 0606);
        ok(!reads(cache, list, &identity), "but not if others can write it");
        chmod(path, 0600);
        list->size--;
        ok(!reads(cache, list, &identity), "nor one that has grown since: there is no room for it");
    }
    free(list);
    is_int((intmax_t)unwind_cache_list(cache, 4096, &list), 0, "a limit of bytes");
    free(list);
    make_file("small-4", 101, 3000);
    make_file("smaller-5", 23, 1000);
    size_t count = unwind_cache_list(cache, 64 << 20, &list);
    ok(count == 3 && !strcmp(list[0].name, "smaller-5") && !strcmp(list[1].name, "small-4"),
       "the small ones come first");
    ok(count && !reads(cache, &list[1], &identity), "what is no table is not read");
    int64_t both = count == 3 ? list[2].size + 101 : 0;
    free(list);
    count = unwind_cache_list(cache, both, &list);
    ok(count == 2 && !strcmp(list[0].name, "small-4"), "and what was not used for longest is left out");
    free(list);
    unlinkat(cache, "small-4", 0);
    unlinkat(cache, "smaller-5", 0);
}

/* The same bytes in another file: a table of the same build id, but perhaps not of the same code. */
static void test_identity(int cache)
{
    char path[sizeof folder + 8];
    size_t size;
    uint8_t *bytes = read_file(library, &size);
    struct elf_file own = elf;
    snprintf(path, sizeof path, "%s.copy", folder);
    write_file(path, bytes, size);
    free(bytes);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ok(!elf_file_open(&elf, fd) && !loads(cache), "a file with the same build id has no table yet");
    elf_file_close(&elf);
    close(fd);
    unlink(path);
    elf = own;
}

int main(void)
{
    snprintf(library, sizeof library, "/usr/lib/%s/libc.so.6", arch_cpu.library_folder);
    snprintf(folder, sizeof folder, "/tmp/uplua-cache-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    setenv("UPLUA_CACHE", folder, 1);
    int cache = state_folder_open(), fd = open(library, O_RDONLY | O_CLOEXEC);
    if (!ok(cache >= 0 && !elf_file_open(&elf, fd), "a folder and a library"))
        return done_testing();
    test_same(cache);
    test_damage(cache);
    test_owner(cache);
    test_identity(cache);
    test_list(cache);
    test_room(cache);
    elf_file_close(&elf);
    close(fd);
    close(cache);
    char command[sizeof folder + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) | done_testing();
}
