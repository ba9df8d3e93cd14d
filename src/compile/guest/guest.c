/* Opens BPF objects that are brought along. */
#include "compile/guest/guest.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compile/guest/guest_check.h"
#include "compile/object/cancel.h"
#include "compile/object/load_error.h"
#include "compile/object/object.h"
#include "sys/feature.h"

enum { SECTIONS = 2 };
static const char *const writable[SECTIONS] = {".data", ".bss"};

struct guest {
    char *path;
    struct bpf_object *object;
    struct load_log log;
    struct {
        void *bytes; /* mapped, once it is loaded */
        size_t size;
    } sections[SECTIONS];
};

/* What PATH is instead of a BPF object; NULL: it is one, as far as its first bytes say. */
static const char *other_than_object(int fd)
{
    Elf64_Ehdr header;
    ssize_t length = pread(fd, &header, sizeof header, 0);
    bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    if (length < 0)
        return error_reason(errno);
    if (length < (ssize_t)sizeof header || memcmp(header.e_ident, ELFMAG, SELFMAG))
        return "it is no ELF file";
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != (little ? ELFDATA2LSB : ELFDATA2MSB))
        return "it is for machines of another byte order or word size";
    if (header.e_machine != EM_BPF)
        return "it is for a CPU, not for BPF: compile it with clang -target bpf -g -O2 -c";
    return header.e_type == ET_REL ? guest_damage(fd) : "it is linked";
}

static int check_file(const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_set(err, -errno, "object %s: %s", path, error_reason(errno));
    const char *why = other_than_object(fd);
    close(fd);
    return why ? error_set(err, -ENOEXEC, "object %s: it cannot be loaded: %s", path, why) : 0;
}

/* Types that a map's declaration says but the kernel does not want: of a ring's records. */
static void clean_maps(struct bpf_object *object)
{
    struct bpf_map *map;
    bpf_object__for_each_map(map, object) if (bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF)
    {
        bpf_map__set_key_size(map, 0);
        bpf_map__set_value_size(map, 0);
    }
}

int guest_open(const char *path, struct guest **result, struct error *err)
{
    int code = check_file(path, err);
    if (code)
        return code;
    struct guest *guest = calloc(1, sizeof *guest);
    if (guest)
        guest->path = strdup(path);
    if (!guest || !guest->path) {
        free(guest);
        return error_set(err, -ENOMEM, "out of memory");
    }
    load_log_open(&guest->log);
    LIBBPF_OPTS(bpf_object_open_opts, options, .kernel_log_buf = guest->log.text, .kernel_log_size = guest->log.size,
                /* No kernel's types are to be found, then. */
                .btf_custom_path = feature_code(FEATURE_BTF) == -ECANCELED ? "/dev/null" : NULL);
    load_error_capture();
    guest->object = bpf_object__open_file(path, &options);
    code = guest->object ? 0 : -errno;
    if (code)
        load_error_guest(err, code, path, &guest->log);
    load_error_release();
    if (code) {
        guest_free(guest);
        return code;
    }
    clean_maps(guest->object);
    *result = guest;
    return 0;
}

void guest_free(struct guest *guest)
{
    if (!guest)
        return;
    for (int i = 0; i < SECTIONS; i++)
        if (guest->sections[i].bytes)
            munmap(guest->sections[i].bytes, guest->sections[i].size);
    bpf_object__close(guest->object);
    load_log_close(&guest->log);
    free(guest->path);
    free(guest);
}

struct bpf_object *guest_object(const struct guest *guest)
{
    return guest->object;
}

/* Maps what the programs see of SECTIONS. */
static int map_sections(struct guest *guest, struct error *err)
{
    for (int i = 0; i < SECTIONS; i++) {
        struct bpf_map *map = bpf_object__find_map_by_name(guest->object, writable[i]);
        int code = map ? loaded_map_values(map, &guest->sections[i].bytes, &guest->sections[i].size) : 0;
        if (code)
            return error_set(err, code, "object %s: cannot map its variables in %s: %s", guest->path, writable[i],
                             error_reason(code));
    }
    return 0;
}

int guest_load(struct guest *guest, struct error *err)
{
    load_error_capture();
    int handler = cancel_begin();
    int code = bpf_object__load(guest->object);
    if (code && !cancel_check(err))
        load_error_guest(err, code, guest->path, &guest->log);
    cancel_end(handler);
    load_error_release();
    return code ? code : map_sections(guest, err);
}

void *guest_data(const struct guest *guest, const char *section, size_t *size)
{
    struct bpf_map *map = bpf_object__find_map_by_name(guest->object, section);
    if (!map)
        return NULL;
    void *bytes = (void *)bpf_map__initial_value(map, size);
    for (int i = 0; i < SECTIONS; i++)
        if (!strcmp(section, writable[i]) && guest->sections[i].bytes)
            bytes = guest->sections[i].bytes;
    return bytes;
}
