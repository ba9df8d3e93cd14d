/* How the programs that translate code are recognised: by a process's own program, and by what it maps. */
#include "probe/attach/translator.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sym/maps.h"

enum { MOST_PATTERNS = 4, PATH_BYTES = 4096 };

/*
 * One of them. Names are those of files without their folders, as patterns. A process is one of its where its program
 * is called so and lies in that folder, or is called so where no folder counts; or where it maps such a file.
 */
struct translator {
    const char *name;
    const char *command[MOST_PATTERNS]; /* what users start */
    const char *program[MOST_PATTERNS]; /* what executes the translation */
    const char *folder;                 /* of that program, if it counts */
    const char *mapped[MOST_PATTERNS];
};

static const struct translator translators[] = {
    /* The tools are memcheck-amd64-linux and so on in .../libexec/valgrind or .../lib/valgrind; wherever they are,
     * they preload vgpreload_core-amd64-linux.so. */
    {"valgrind", {"valgrind", "valgrind.bin"}, {"*-linux"}, "valgrind", {"vgpreload_core-*.so"}},
    {"rr", {"rr"}, {NULL}, NULL, {"librrpreload*.so", "librrpage*.so"}},
    {"DynamoRIO", {"drrun"}, {NULL}, NULL, {"libdynamorio.so*"}},
    {"Pin", {"pin"}, {"pinbin"}, NULL, {NULL}},
};

/* What qemu emulates user processes of: qemu-aarch64, also qemu-aarch64-static. */
static const char *const qemu_cpus =
    " aarch64 aarch64_be alpha arm armeb cris hexagon hppa i386 loongarch64 m68k microblaze microblazeel mips mips64 "
    "mips64el mipsel mipsn32 mipsn32el nios2 or1k ppc ppc64 ppc64abi32 ppc64le riscv32 riscv64 s390x sh4 sh4eb sparc "
    "sparc32plus sparc64 x86_64 xtensa xtensaeb ";

/* Where rr keeps a page of its own in each process (RR_PAGE_ADDR of its sources). */
static const unsigned long rr_page = 0x70000000;

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_qemu(const char *name)
{
    char cpu[64];
    if (strncmp(name, "qemu-", 5) != 0)
        return false;
    size_t length = strlen(name += 5);
    if (length > 7 && strcmp(name + length - 7, "-static") == 0)
        length -= 7;
    if (length + 3 > sizeof cpu || memchr(name, ' ', length))
        return false;
    snprintf(cpu, sizeof cpu, " %.*s ", (int)length, name);
    return strstr(qemu_cpus, cpu) != NULL;
}

static bool is_one(const char *name, const char *const patterns[MOST_PATTERNS])
{
    for (size_t i = 0; i < MOST_PATTERNS && patterns[i]; i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return false;
}

/* True if the last folder of PATH is FOLDER, or no folder counts. */
static bool is_in(const char *path, const char *folder)
{
    const char *name = base_name(path);
    if (!folder)
        return true;
    size_t length = strlen(folder);
    return name - path > (ptrdiff_t)length + 1 && name[-(ptrdiff_t)length - 2] == '/' &&
           strncmp(name - length - 1, folder, length) == 0;
}

/* The program of process PID; "" where that is out of reach. */
static void program_of(pid_t pid, char path[PATH_BYTES])
{
    static const char deleted[] = " (deleted)";
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    ssize_t n = readlink(link, path, PATH_BYTES - 1);
    path[n > 0 ? n : 0] = '\0';
    size_t length = strlen(path), suffix = sizeof deleted - 1;
    if (length > suffix && strcmp(path + length - suffix, deleted) == 0)
        path[length - suffix] = '\0';
}

/* What executes translations as PROGRAM does; NULL: nothing that is known. */
static const char *by_program(const char *program)
{
    const char *name = base_name(program);
    if (is_qemu(name))
        return "qemu";
    for (size_t i = 0; i < sizeof translators / sizeof *translators; i++)
        if (is_one(name, translators[i].program) && is_in(program, translators[i].folder))
            return translators[i].name;
    return NULL;
}

/* What the user starts as PROGRAM. */
static const char *by_command(const char *program)
{
    const char *name = base_name(program);
    for (size_t i = 0; i < sizeof translators / sizeof *translators; i++)
        if (is_one(name, translators[i].command))
            return translators[i].name;
    return by_program(program);
}

/* What runs the process that has MAPS, by what it maps; NULL: nothing that is known. */
static const char *by_mappings(const struct maps *maps)
{
    for (size_t i = 0; i < maps->count; i++) {
        const struct mapping *mapping = &maps->items[i];
        if (mapping->start == rr_page && mapping->executable && !mapping->path)
            return "rr";
        for (size_t k = 0; k < sizeof translators / sizeof *translators && mapping->path; k++)
            if (is_one(base_name(mapping->path), translators[k].mapped))
                return translators[k].name;
    }
    return NULL;
}

const char *translator_of(pid_t pid)
{
    char program[PATH_BYTES];
    struct maps maps = {0};
    program_of(pid, program);
    const char *found = *program ? by_program(program) : NULL;
    if (!found && maps_read(&maps, pid) == 0) {
        found = by_mappings(&maps);
        maps_free(&maps);
    }
    return found;
}

/* True if process PID maps FILE. */
static bool has_file(pid_t pid, const struct stat *file)
{
    struct maps maps = {0};
    bool found = false;
    if (maps_read(&maps, pid) < 0)
        return false;
    for (size_t i = 0; i < maps.count && !found; i++)
        found = maps.items[i].inode && maps.items[i].inode == file->st_ino;
    maps_free(&maps);
    return found;
}

/*
 * The first process that is translated and maps FILE: its number, and in *NAME what by; 0: there is none. Mappings take
 * long to be read: they are, beside those of programs that translate, where one of rr's processes runs.
 */
static pid_t find(const struct stat *file, const char **name)
{
    char program[PATH_BYTES];
    pid_t found = 0;
    bool has_rr = false;
    for (int round = 0; round < 2 && !found && (round == 0 || has_rr); round++) {
        DIR *proc = opendir("/proc");
        for (struct dirent *entry; proc && !found && (entry = readdir(proc));) {
            pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
            if (pid <= 0)
                continue;
            program_of(pid, program);
            has_rr = has_rr || strcmp(base_name(program), "rr") == 0;
            *name = round ? translator_of(pid) : *program ? by_program(program) : NULL;
            if (*name && has_file(pid, file))
                found = pid;
        }
        if (proc)
            closedir(proc);
    }
    return found;
}

/* The error that WHO, which runs under NAME, would be ended. */
static int refuse(const struct site *site, const char *who, const char *name, const char *rest, struct error *err)
{
    return error_set(err, -ENOTSUP,
                     "cannot attach to %s in %s: %s runs under %s, which would take a probe for an instruction of the "
                     "program's and end it with SIGTRAP; run it without %s, or trace what needs no change of its code: "
                     "system calls, tracepoints, samples%s",
                     site->function, site->module, who, name, name, rest);
}

static int refuse_process(const struct site *site, pid_t pid, const char *name, const char *rest, struct error *err)
{
    char path[64], comm[64] = "?", who[96];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *in = fopen(path, "re");
    if (in && fgets(comm, sizeof comm, in))
        comm[strcspn(comm, "\n")] = '\0';
    if (in)
        fclose(in);
    snprintf(who, sizeof who, "process %d (%s)", (int)pid, comm);
    return refuse(site, who, name, rest, err);
}

int translator_check(const struct site *site, const struct target *target, const pid_t *pids, size_t count,
                     struct error *err)
{
    struct stat file;
    const char *name = target && target->command && target->program ? by_command(target->program) : NULL;
    if (name && (target->follow || strcmp(name, "rr") != 0)) /* what rr runs are its children */
        return refuse(site, "the command", name, "", err);
    for (size_t i = 0; i < count; i++)
        if (pids[i] && (name = translator_of(pids[i])))
            return refuse_process(site, pids[i], name, "", err);
    pid_t pid = count && !pids[0] && stat(site->path, &file) == 0 ? find(&file, &name) : 0;
    return pid ? refuse_process(site, pid, name, "; or give the PIDs of others", err) : 0;
}
