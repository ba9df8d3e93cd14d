/* What /proc says of a process before it is traced. */
#include "probe/target/process.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "elf/elf_file.h"
#include "probe/module/shebang.h"
#include "sys/procstat.h"

struct status {
    char name[64];
    char state;
    pid_t tgid;
    int threads;
};

/* The fields of /proc/PID/status that say what PID is. */
static int read_status(pid_t pid, struct status *status)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *in = fopen(path, "re");
    if (!in)
        return -errno;
    memset(status, 0, sizeof *status);
    while (fgets(line, sizeof line, in)) {
        if (sscanf(line, "Name:\t%63[^\n]", status->name) == 1 || sscanf(line, "State:\t%c", &status->state) == 1 ||
            sscanf(line, "Tgid:\t%d", &status->tgid) == 1)
            continue;
        if (sscanf(line, "Threads:\t%d", &status->threads) == 1)
            break;
    }
    fclose(in);
    return status->tgid ? 0 : -ESRCH;
}

pid_t process_of_thread(pid_t tid)
{
    struct status status;
    return tid > 0 && read_status(tid, &status) == 0 ? status.tgid : 0;
}

int processes_each(int (*visit)(pid_t pid, pid_t parent, void *context), void *context)
{
    DIR *proc = opendir("/proc");
    int result = proc ? 0 : -errno;
    for (struct dirent *entry; proc && result == 0 && (entry = readdir(proc));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        int64_t parent;
        if (pid > 0 && procstat_field(pid, PROCSTAT_PARENT, &parent))
            result = visit(pid, (pid_t)parent, context);
    }
    if (proc)
        closedir(proc);
    return result;
}

/* Errors about /proc/PID/exe, whose reading is what needs a privilege. */
static int no_program(pid_t pid, const struct status *status, int code, struct error *err)
{
    if (status->state == 'Z' && status->threads > 1)
        return error_set(
            err, -ESRCH,
            "the first thread of process %d (%s) has exited: the kernel no longer shows the process's mappings",
            (int)pid, status->name);
    if (status->state == 'Z' || status->state == 'X')
        return error_set(err, -ESRCH, "process %d (%s) has already exited", (int)pid, status->name);
    if ((code == -EACCES || code == -EPERM) && geteuid() == 0)
        return error_set(
            err, code,
            "process %d (%s) is out of reach, even for this root: uplua lacks CAP_SYS_PTRACE, or a security "
            "policy forbids it",
            (int)pid, status->name);
    if (code == -EACCES || code == -EPERM)
        return error_set(err, code,
                         "process %d (%s) belongs to another user: tracing it needs CAP_SYS_PTRACE; run uplua as root",
                         (int)pid, status->name);
    if (code == -ENOENT)
        return error_set(err, code, "process %d (%s) is a kernel thread: uplua's targets are programs", (int)pid,
                         status->name);
    return error_set(err, code, "cannot read the program of process %d (%s): %s", (int)pid, status->name,
                     error_reason(code));
}

/* The program's file as its process sees it, for messages. */
static void program_name(pid_t pid, char *name, size_t size)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    ssize_t n = readlink(link, name, size - 1);
    name[n > 0 ? n : 0] = '\0';
}

/* 1 if HEADER is that of a 64-bit ELF file of this CPU, 0 if it is no ELF file, else an error about WHAT ("process 42
 * is"). */
static int check_header(const Elf64_Ehdr *header, const char *what, const char *path, struct error *err)
{
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return 0;
    if (header->e_ident[EI_CLASS] != ELFCLASS64)
        return error_set(err, -ENOEXEC, "%s a 32-bit program (%s); uplua traces 64-bit programs", what, path);
    if (header->e_machine != arch_cpu.elf_machine)
        return error_set(err, -ENOEXEC, "%s a program for another CPU (%s, ELF machine %u)", what, path,
                         header->e_machine);
    return 1;
}

/* The first bytes of FD, which it closes, as an ELF header: e_ident and e_machine lie at the same place in both
 * classes. */
static void read_header(int fd, Elf64_Ehdr *header)
{
    memset(header, 0, sizeof *header);
    if (pread(fd, header, sizeof *header, 0) < (ssize_t)sizeof *header)
        memset(header, 0, sizeof *header);
    close(fd);
}

int process_check_command(const char *path, struct error *err)
{
    char *program = shebang_program(path);
    int fd = program ? elf_file_open_path(-1, program) : -1, result = 1;
    if (fd >= 0) {
        Elf64_Ehdr header;
        read_header(fd, &header);
        result = check_header(&header, "the command is", program, err);
    }
    free(program);
    return result < 0 ? result : 0;
}

int process_check(pid_t pid, struct error *err)
{
    struct status status;
    int result = pid > 0 ? read_status(pid, &status) : -ENOENT;
    if (result == -ENOENT || result == -ESRCH)
        return error_set(err, -ESRCH, "no process %d", (int)pid);
    if (result < 0)
        return error_set(err, result, "cannot read /proc/%d/status: %s", (int)pid, error_reason(result));
    if (status.tgid != pid)
        return error_set(err, -EINVAL, "%d is a thread of process %d: give %d", (int)pid, (int)status.tgid,
                         (int)status.tgid);

    char path[512];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return no_program(pid, &status, -errno, err);
    Elf64_Ehdr header;
    read_header(fd, &header);
    program_name(pid, path, sizeof path);
    char what[48];
    snprintf(what, sizeof what, "process %d is", (int)pid);
    result = check_header(&header, what, path, err);
    if (result == 0)
        return error_set(err, -ENOEXEC, "process %d runs %s, which is not an ELF program", (int)pid, path);
    return result < 0 ? result : 0;
}
