/*
 * From an object in the making to programs and maps in the kernel. The linker of libbpf takes file names: the files
 * are memory (memfd), named through /proc/self/fd.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compile/object/cancel.h"
#include "compile/object/library_maps.h"
#include "compile/object/load_error.h"
#include "compile/object/object_parts.h"
#include "sys/descriptors.h"
#include "sys/namespace.h"

struct loaded {
    struct bpf_object *object;
    void *counters; /* .bss, mapped */
    size_t counters_size;
};

/* /proc/self/fd/2147483647 */
enum { FD_PATH_SIZE = 32 };

static const char *fd_path(int fd, char path[FD_PATH_SIZE])
{
    snprintf(path, FD_PATH_SIZE, "/proc/self/fd/%d", fd);
    return path;
}

static int memory_file(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int write_all(int fd, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t written = write(fd, (const char *)bytes + done, size - done);
        if (written < 0 && errno != EINTR)
            return -errno;
        if (written > 0)
            done += (size_t)written;
    }
    return 0;
}

/* The contents of the memory file FD. */
static int read_file(int fd, void **bytes, size_t *size)
{
    struct stat status;
    if (fstat(fd, &status))
        return -errno;
    *size = (size_t)status.st_size;
    *bytes = malloc(*size ? *size : 1);
    if (!*bytes)
        return -ENOMEM;
    for (size_t done = 0; done < *size;) {
        ssize_t got = pread(fd, (char *)*bytes + done, *size - done, (off_t)done);
        if (got <= 0 && errno != EINTR) {
            free(*bytes);
            return got ? -errno : -EIO;
        }
        if (got > 0)
            done += (size_t)got;
    }
    return 0;
}

/* Links the files FIRST and SECOND into the empty file OUTPUT. */
static int link_files(int output, int first, int second)
{
    char path[FD_PATH_SIZE];
    struct bpf_linker *linker = bpf_linker__new(fd_path(output, path), NULL);
    if (!linker)
        return -errno;
    int code = bpf_linker__add_file(linker, fd_path(first, path), NULL);
    if (!code)
        code = bpf_linker__add_file(linker, fd_path(second, path), NULL);
    if (!code)
        code = bpf_linker__finalize(linker);
    bpf_linker__free(linker);
    return code;
}

/* The whole object as a memory file: its descriptor, or -errno. */
static int build(const struct object *object, const void *library, size_t library_size, struct error *err)
{
    int own = -1, second = -1, output = -1;
    struct btf *types = NULL;
    int code = own = memory_file("uplua-handlers");
    bool linked = object_needs_library(object);
    if (code >= 0 && linked) {
        char path[FD_PATH_SIZE];
        code = second = memory_file("uplua-library");
        if (code >= 0)
            code = write_all(second, library, library_size);
        if (code >= 0 && !(types = btf__parse_elf(fd_path(second, path), NULL)))
            code = -errno;
    }
    if (code < 0) {
        error_set(err, code, "cannot build the BPF object: %s", error_reason(code));
        goto out;
    }
    code = object_write(object, types, own, err);
    if (code || !linked)
        goto out;
    code = output = memory_file("uplua-object");
    if (code >= 0)
        code = link_files(output, own, second);
    if (code < 0)
        load_error_link(err, code);
out:
    btf__free(types);
    if (second >= 0)
        close(second);
    int result = linked ? output : own, spare = linked ? own : output;
    if (spare >= 0)
        close(spare);
    if (code >= 0)
        return result;
    if (result >= 0)
        close(result);
    return code;
}

int object_link(const struct object *object, const void *library, size_t library_size, void **bytes, size_t *size,
                struct error *err)
{
    load_error_capture();
    int fd = build(object, library, library_size, err);
    load_error_release();
    if (fd < 0)
        return fd;
    int code = read_file(fd, bytes, size);
    close(fd);
    return code ? error_set(err, code, "cannot read the BPF object: %s", error_reason(code)) : 0;
}

static int reuse_map(struct bpf_object *object, const char *name, int fd, struct error *err)
{
    struct bpf_map *map = bpf_object__find_map_by_name(object, name);
    int code = map ? bpf_map__reuse_fd(map, fd) : 0;
    return code ? error_set(err, code, "cannot use the map %s again: %s", name, error_reason(code)) : 0;
}

static void leave_out_map(void *context, const char *name)
{
    struct bpf_map *map = bpf_object__find_map_by_name(context, name);
    if (map)
        bpf_map__set_autocreate(map, false);
}

/* Sets what the ELF file does not say: types of programs, and maps that exist already. */
static int prepare(const struct object *object, struct bpf_object *opened, struct error *err)
{
    for (size_t i = 0; i < object->program_count; i++) {
        const struct object_program *program = &object->programs[i];
        if (!program->section)
            continue;
        struct bpf_program *found = bpf_object__find_program_by_name(opened, program->name);
        if (!found || bpf_program__set_type(found, program->type) ||
            bpf_program__set_expected_attach_type(found, program->attach_type) ||
            (program->target && bpf_program__set_attach_target(found, 0, program->target)) ||
            (program->flags && bpf_program__set_flags(found, bpf_program__flags(found) | program->flags)))
            return error_set(err, -EINVAL,
                             "cannot load the BPF object: program %s got lost in linking: this is a bug "
                             "of uplua",
                             program->name);
    }
    int code = 0;
    for (size_t i = 0; i < object->map_count && !code; i++)
        if (object->maps[i].reuse_fd >= 0)
            code = reuse_map(opened, object->maps[i].name, object->maps[i].reuse_fd, err);
    for (size_t i = 0; i < object->variable_count && !code; i++)
        if (object->variables[i].reuse_fd >= 0)
            code = reuse_map(opened, object->variables[i].section, object->variables[i].reuse_fd, err);
    for (size_t i = 0; i < object->reused_count && !code; i++)
        code = reuse_map(opened, object->reused[i].name, object->reused[i].fd, err);
    return code;
}

int loaded_map_values(const struct bpf_map *map, void **values, size_t *size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *size = (bpf_map__value_size(map) + page - 1) / page * page;
    void *mapped = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
    if (mapped == MAP_FAILED)
        return -errno;
    *values = mapped;
    return 0;
}

/* So many files have to be open at a time for what OPENED makes, and as few as libbpf asks the kernel with. */
static int expect_descriptors(const struct bpf_object *opened, struct error *err)
{
    enum { QUESTIONS = 4 };
    size_t count = QUESTIONS;
    struct bpf_map *map;
    struct bpf_program *program;
    bpf_object__for_each_map(map, opened) count += bpf_map__autocreate(map);
    bpf_object__for_each_program(program, opened) count += bpf_program__autoload(program);
    return descriptors_expect(count, "the handlers", err);
}

static int load(const struct object *object, const void *library, size_t library_size, const void *bytes, size_t size,
                struct loaded *loaded, struct error *err)
{
    struct load_log log;
    load_log_open(&log);
    int handler = cancel_begin();
    LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "uplua", .kernel_log_buf = log.text,
                .kernel_log_size = log.size); /* the log is asked for only when a load has failed */
    loaded->object = bpf_object__open_mem(bytes, size, &options);
    int code = loaded->object ? 0 : -errno;
    if (code)
        load_error_explain(err, code, object, &log, NULL, 0);
    if (!code && object_needs_library(object))
        library_maps_leave_out(object, library, library_size, leave_out_map, loaded->object);
    if (!code)
        code = prepare(object, loaded->object, err);
    if (!code)
        code = expect_descriptors(loaded->object, err);
    if (!code && (code = bpf_object__load(loaded->object)) &&
        !cancel_check(err)) /* the kernel, too, gives up where a signal comes */
        load_error_explain(err, code, object, &log, bytes, size);
    cancel_end(handler);
    load_log_close(&log);
    /* reading and setting a counter needs no system call then */
    struct bpf_map *counters = code ? NULL : bpf_object__find_map_by_name(loaded->object, ".bss");
    if (counters && (code = loaded_map_values(counters, &loaded->counters, &loaded->counters_size)))
        error_set(err, code, "cannot map the counters of the handlers: %s", error_reason(code));
    return code;
}

int object_load(const struct object *object, const void *library, size_t library_size, struct loaded **result,
                struct error *err)
{
    *result = NULL;
    const char *problem = namespace_problem();
    if (problem)
        return error_set(err, -EXDEV, "cannot trace: %s", problem);
    struct loaded *loaded = calloc(1, sizeof *loaded);
    if (!loaded)
        return error_set(err, -ENOMEM, "cannot load the BPF object: out of memory");
    void *bytes;
    size_t size;
    enum { LINKED = 5 }; /* files, and libbpf's own */
    int code = descriptors_expect(LINKED, "the handlers", err);
    if (!code)
        code = object_link(object, library, library_size, &bytes, &size, err);
    if (!code) {
        load_error_capture();
        code = load(object, library, library_size, bytes, size, loaded, err);
        load_error_release();
        free(bytes);
    }
    if (code)
        loaded_free(loaded);
    else
        *result = loaded;
    return code;
}

void loaded_free(struct loaded *loaded)
{
    if (!loaded)
        return;
    if (loaded->counters)
        munmap(loaded->counters, loaded->counters_size);
    bpf_object__close(loaded->object);
    free(loaded);
}

int loaded_program_fd(const struct loaded *loaded, const char *name)
{
    struct bpf_program *program = bpf_object__find_program_by_name(loaded->object, name);
    return program ? bpf_program__fd(program) : -ENOENT;
}

int loaded_map_fd(const struct loaded *loaded, const char *name)
{
    char section[sizeof VARIABLE_SECTION + BPF_OBJ_NAME_LEN];
    struct bpf_map *map = bpf_object__find_map_by_name(loaded->object, name);
    if (!map) {
        snprintf(section, sizeof section, VARIABLE_SECTION "%s", name);
        map = bpf_object__find_map_by_name(loaded->object, section);
    }
    int fd = map ? bpf_map__fd(map) : -1; /* negative too where the map was not needed */
    return fd < 0 ? -ENOENT : fd;
}

volatile uint64_t *loaded_counters(const struct loaded *loaded, const char *name, size_t *count)
{
    const struct btf *types = bpf_object__btf(loaded->object);
    int id = types && loaded->counters ? btf__find_by_name_kind(types, ".bss", BTF_KIND_DATASEC) : -ENOENT;
    if (id < 0)
        return NULL;
    const struct btf_type *section = btf__type_by_id(types, (uint32_t)id);
    const struct btf_var_secinfo *variables = btf_var_secinfos(section);
    for (unsigned i = 0; i < btf_vlen(section); i++) {
        const struct btf_type *variable = btf__type_by_id(types, variables[i].type);
        if (strcmp(btf__name_by_offset(types, variable->name_off), name))
            continue;
        *count = variables[i].size / sizeof(uint64_t);
        return (volatile uint64_t *)((char *)loaded->counters + variables[i].offset);
    }
    return NULL;
}
