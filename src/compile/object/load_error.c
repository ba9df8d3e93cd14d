/* Says in words why an object could not be linked or loaded. */
#include "compile/object/load_error.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compile/object/object_parts.h"
#include "sys/capability.h"

enum {
    LOG_SIZE = 8 << 20, /* a million instructions' log is longer; kernels since 6.4 keep its end */
    QUOTE_LENGTH = 200, /* of a source line */
};

/* libbpf's last warning. Its print function is global, and so is this. */
static char warning[512];
static libbpf_print_fn_t previous_print;

static int keep_warning(enum libbpf_print_level level, const char *format, va_list args)
{
    if (level != LIBBPF_WARN)
        return 0;
    char text[sizeof warning];
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    /* The first is the cause, what follows is the way up; what libbpf ignores, or tries again, is neither. */
    if (!*warning && !strstr(text, "gnor") && !strstr(text, "Retrying"))
        memcpy(warning, text, sizeof warning);
    return 0;
}

void load_error_capture(void)
{
    *warning = '\0';
    previous_print = libbpf_set_print(keep_warning);
}

void load_error_release(void)
{
    libbpf_set_print(previous_print);
}

/* ": what libbpf said", or "". */
static const char *because(void)
{
    static char text[sizeof warning + 2];
    const char *said = strncmp(warning, "libbpf: ", 8) ? warning : warning + 8;
    snprintf(text, sizeof text, "%s%s", *said ? ": " : "", said);
    return text;
}

int load_error_link(struct error *err, int code)
{
    return error_set(err, code, "cannot link the BPF object%s (%s)%s", because(), error_reason(code),
                     code == -ENOMEM ? "" : ": this is a bug of uplua");
}

void load_log_open(struct load_log *log)
{
    log->size = LOG_SIZE;
    log->text = mmap(NULL, log->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (log->text == MAP_FAILED)
        *log = (struct load_log){NULL, 0};
}

void load_log_close(struct load_log *log)
{
    if (log->text)
        munmap(log->text, log->size);
}

/* Part of the log. */
struct span {
    const char *start;
    size_t length;
};

static bool starts_with(struct span line, const char *prefix)
{
    return line.length >= strlen(prefix) && !memcmp(line.start, prefix, strlen(prefix));
}

/* The line before END, which is the end of the log or the start of a line; an empty span at the beginning. */
static struct span line_before(const char *log, const char *end)
{
    if (end > log && end[-1] == '\n')
        end--;
    const char *start = end;
    while (start > log && start[-1] != '\n')
        start--;
    return (struct span){start, (size_t)(end - start)};
}

/* The verifier's last word: what stands before its statistics. */
static struct span find_reason(const char *log)
{
    static const char *const statistics[] = {"processed ", "verification time", "stack depth", "insns processed"};
    struct span line = {log + strlen(log), 0};
    while (line.start > log) {
        line = line_before(log, line.start);
        bool skip = !line.length;
        for (size_t i = 0; i < sizeof statistics / sizeof *statistics; i++)
            skip |= starts_with(line, statistics[i]);
        if (!skip)
            return line;
    }
    return (struct span){"no reason given", strlen("no reason given")};
}

/* A quoted source line is "; TEXT @ FILE:LINE"; before Linux 6.8 without the place. */
struct source {
    struct span text, place;
};

/* TEXT without the space before it, as far as it is quoted. */
static struct span trim(struct span text)
{
    while (text.length && (*text.start == ' ' || *text.start == '\t')) {
        text.start++;
        text.length--;
    }
    if (text.length > QUOTE_LENGTH)
        text.length = QUOTE_LENGTH;
    return text;
}

static struct source parse_source(struct span line)
{
    struct source source = {{line.start + 2, line.length - 2}, {"", 0}};
    for (size_t i = source.text.length; i-- > 2;) {
        if (memcmp(source.text.start + i - 2, " @ ", 3))
            continue;
        source.place = (struct span){source.text.start + i + 1, source.text.length - i - 1};
        source.text.length = i - 2;
        break;
    }
    source.text = trim(source.text);
    return source;
}

/* The last line of a handler that the verifier came to; lines of the library (bpf/NAME.bpf.c:LINE) are passed over. */
static bool find_source(const char *log, struct source *source)
{
    struct span line = {log + strlen(log), 0};
    while (line.start > log) {
        line = line_before(log, line.start);
        if (!starts_with(line, "; "))
            continue;
        *source = parse_source(line);
        if (!memmem(source->place.start, source->place.length, ".bpf.c:", 7))
            return true;
    }
    return false;
}

/* The first line of the program that libbpf complains of: the log of a million instructions has lost the only one of a
 * short handler. */
static bool first_source(const struct object *object, struct source *source)
{
    char name[64];
    if (sscanf(warning, "libbpf: prog '%63[^']'", name) != 1)
        return false;
    for (size_t i = 0; i < object->program_count; i++) {
        const struct object_program *program = &object->programs[i];
        if (strcmp(program->name, name) || !program->line_count || !*program->lines->text)
            continue;
        const char *text = program->lines->text;
        *source = (struct source){trim((struct span){text, strlen(text)}), {"", 0}};
        return true;
    }
    return false;
}

/* True if the kernel says that LINE is where SOURCE is: it tells the text, and the file without its folder, or since
 * Linux 6.8 only. */
static bool is_line(const struct object_line *line, const struct source *source)
{
    const char *text = line->text + strspn(line->text, " \t"), *slash = strrchr(line->file, '/');
    if (strlen(text) < source->text.length || memcmp(text, source->text.start, source->text.length))
        return false;
    char place[QUOTE_LENGTH];
    int length = snprintf(place, sizeof place, "%s:%d", slash ? slash + 1 : line->file, line->line);
    return !source->place.length ||
           (source->place.length == (size_t)length && !memcmp(source->place.start, place, (size_t)length));
}

/* Where SOURCE is in OBJECT, as "FILE:LINE"; what the kernel says of that where nothing is found. */
static void find_place(char *place, size_t size, const struct object *object, const struct source *source)
{
    snprintf(place, size, "%.*s", (int)source->place.length, source->place.start);
    for (size_t i = 0; i < object->program_count; i++) {
        const struct object_program *program = &object->programs[i];
        for (size_t k = 0; k < program->line_count; k++) {
            if (!is_line(&program->lines[k], source))
                continue;
            snprintf(place, size, "%s:%d", program->lines[k].file, program->lines[k].line);
            return;
        }
    }
}

/* Writes the object to a new file; PATH receives its name, or "" where that fails. */
static void keep_object(char *path, size_t path_size, const void *bytes, size_t size)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, path_size, "%s/uplua-XXXXXX.bpf.o", folder && *folder ? folder : "/tmp");
    int fd = mkostemps(path, (int)strlen(".bpf.o"), O_CLOEXEC);
    if (fd >= 0 && write(fd, bytes, size) == (ssize_t)size && !close(fd))
        return;
    if (fd >= 0) {
        unlink(path);
        close(fd);
    }
    *path = '\0';
}

/*
 * Which of the verifier's limits a handler has met (BPF_COMPLEXITY_LIMIT_INSNS and BPF_COMPLEXITY_LIMIT_JMP_SEQ in
 * kernel/bpf/verifier.c); NULL: none. Before Linux 6.4 a log that is full ends it, before it can say so.
 */
static const char *find_limit(int code, struct span reason)
{
    static const struct limit {
        const char *said, *meaning;
    } limits[] = {
        {"program is too large. Processed", "looks at 1,000,000 instructions over all paths through a handler: each "
                                            "branch on a value that was read before doubles the paths"},
        {"jumps is too complex", "can have 8,192 branches before it whose other edge it has still to follow"},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (memmem(reason.start, reason.length, limits[i].said, strlen(limits[i].said)))
            return limits[i].meaning;
    if (code == -E2BIG || code == -ENOSPC || memmem(reason.start, reason.length, "too complex", strlen("too complex")))
        return "cannot follow all paths through it";
    return NULL;
}

static int explain_refusal(struct error *err, int code, const struct object *object, const char *log, const void *bytes,
                           size_t size)
{
    struct span reason = find_reason(log);
    struct source source;
    char where[QUOTE_LENGTH + 300] = "a handler", place[256];
    if (find_source(log, &source) || first_source(object, &source)) {
        find_place(place, sizeof place, object, &source);
        snprintf(where, sizeof where, "%s%s`%.*s`", place, *place ? ": " : "a handler at ", (int)source.text.length,
                 source.text.start);
    }
    const char *limit = find_limit(code, reason);
    if (limit)
        return error_set(
            err, code,
            "%s: here the handler becomes too complex for the kernel's verifier, which %s; make it shorter, "
            "split it into two probes, or `ring:emit` what it reads, and compute with that and print it in the script",
            where, limit);
    char path[256];
    keep_object(path, sizeof path, bytes, size);
    return error_set(err, code,
                     "%s: the kernel's verifier refuses the compiled handler: %.*s\nThis is a bug of uplua: "
                     "please report it%s%s",
                     where, reason.length > 400 ? 400 : (int)reason.length, reason.start,
                     *path ? " with the script and " : " with the script", path);
}

static int explain_permission(struct error *err, int code)
{
    const char *missing = capability_missing();
    if (missing)
        return error_set(err, code, "cannot load BPF programs: this process lacks %s; run as root or with sudo",
                         missing);
    return error_set(err, code,
                     "cannot load BPF programs: the kernel forbids it in spite of all capabilities (lockdown, "
                     "a security module, or a container's seccomp filter)");
}

int load_error_explain(struct error *err, int code, const struct object *object, const struct load_log *log,
                       const void *bytes, size_t size)
{
    bool refused = bytes && log->text && *log->text && (code != -ENOMEM || find_limit(code, find_reason(log->text)));
    if (code == -EPERM && (!refused || capability_missing()))
        return explain_permission(err, code);
    if (refused)
        return explain_refusal(err, code, object, log->text, bytes, size);
    return error_set(err, code, "cannot load the BPF object%s (%s)", because(), error_reason(code));
}

/* The last lines of LOG before its statistics. */
static struct span log_end(const char *log)
{
    enum { LINES = 12, LENGTH = 1400 };
    struct span reason = find_reason(log), line = reason;
    const char *end = reason.start + reason.length;
    for (int i = 1; i < LINES && line.start > log; i++) {
        struct span before = line_before(log, line.start);
        if (end - before.start > LENGTH)
            break;
        line = before;
    }
    return (struct span){line.start, (size_t)(end - line.start)};
}

int load_error_guest(struct error *err, int code, const char *path, const struct load_log *log)
{
    char name[64];
    bool refused = log->text && *log->text && sscanf(warning, "libbpf: prog '%63[^']'", name) == 1;
    if (code == -EPERM && (!refused || capability_missing()))
        return explain_permission(err, code);
    if (refused) {
        struct span end = log_end(log->text);
        return error_set(err, code, "object %s: the kernel's verifier refuses the program %s:\n%.*s", path, name,
                         (int)end.length, end.start);
    }
    if (strstr(warning, "kernel BTF") || strstr(warning, "vmlinux BTF") || strstr(warning, "target BTF"))
        return error_set(err, code,
                         "object %s: it refers to types of the kernel (CO-RE), and this kernel has no BTF that they "
                         "could be found in "
                         "(CONFIG_DEBUG_INFO_BTF)%s",
                         path, because());
    return error_set(err, code, "object %s: it cannot be loaded%s (%s)", path, because(), error_reason(code));
}
