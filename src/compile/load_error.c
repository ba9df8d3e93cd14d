#include "compile/load_error.h"

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

#include "compile/object_parts.h"
#include "sys/capability.h"

enum {
    LOG_SIZE = 8 << 20,  /* a million instructions' log is longer; kernels since 6.4 keep its end */
    QUOTE_LENGTH = 200,  /* of a source line */
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
    /* The first is the cause, what follows is the way up; what libbpf ignores is neither. */
    if (!*warning && !strstr(text, "gnor"))
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
    return error_set(err, code, "cannot link the BPF object%s (%s): this is a bug of uplua", because(), strerror(-code));
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
    while (source.text.length && (*source.text.start == ' ' || *source.text.start == '\t')) {
        source.text.start++;
        source.text.length--;
    }
    if (source.text.length > QUOTE_LENGTH)
        source.text.length = QUOTE_LENGTH;
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

/* The line of OBJECT with that text, as "FILE:LINE"; "" if there is none. For kernels that quote the text alone. */
static void find_place(char *place, size_t size, const struct object *object, struct span text)
{
    *place = '\0';
    for (size_t i = 0; i < object->program_count; i++) {
        const struct object_program *program = &object->programs[i];
        for (size_t k = 0; k < program->line_count; k++) {
            const struct object_line *line = &program->lines[k];
            const char *start = line->text + strspn(line->text, " \t");
            if (strlen(start) >= text.length && !memcmp(start, text.start, text.length)) {
                snprintf(place, size, "%s:%d", line->file, line->line);
                return;
            }
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

/* The verifier has limits on what it looks at: a million instructions, 8,192 branches whose other way is still to be looked at. */
static bool is_too_complex(int code, struct span reason)
{
    return code == -E2BIG || memmem(reason.start, reason.length, "too complex", strlen("too complex"));
}

static int explain_refusal(struct error *err, int code, const struct object *object, const char *log, const void *bytes,
                           size_t size)
{
    struct span reason = find_reason(log);
    struct source source;
    char where[QUOTE_LENGTH + 300] = "a handler", place[256];
    if (find_source(log, &source)) {
        if (source.place.length)
            snprintf(place, sizeof place, "%.*s", (int)source.place.length, source.place.start);
        else
            find_place(place, sizeof place, object, source.text);
        snprintf(where, sizeof where, "%s%s`%.*s`", place, *place ? ": " : "a handler at ", (int)source.text.length,
                 source.text.start);
    }
    if (is_too_complex(code, reason))
        return error_set(err, code, "%s: the handler is too complex for the kernel's verifier (%.*s); make it shorter, "
                         "or split it into two probes", where, (int)reason.length, reason.start);
    char path[256];
    keep_object(path, sizeof path, bytes, size);
    return error_set(err, code, "%s: the kernel's verifier refuses the compiled handler: %.*s\nThis is a bug of uplua: "
                     "please report it%s%s", where, reason.length > 400 ? 400 : (int)reason.length, reason.start,
                     *path ? " with the script and " : " with the script", path);
}

static int explain_permission(struct error *err, int code)
{
    const char *missing = capability_missing();
    if (missing)
        return error_set(err, code, "cannot load BPF programs: this process lacks %s; run as root or with sudo", missing);
    return error_set(err, code, "cannot load BPF programs: the kernel forbids it in spite of all capabilities (lockdown, "
                     "a security module, or a container's seccomp filter)");
}

int load_error_explain(struct error *err, int code, const struct object *object, const struct load_log *log,
                       const void *bytes, size_t size)
{
    bool refused = bytes && log->text && *log->text && (code != -ENOMEM || is_too_complex(code, find_reason(log->text)));
    if (code == -EPERM && (!refused || capability_missing()))
        return explain_permission(err, code);
    if (refused)
        return explain_refusal(err, code, object, log->text, bytes, size);
    return error_set(err, code, "cannot load the BPF object%s (%s)", because(), strerror(-code));
}
