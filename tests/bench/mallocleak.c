/*
 * Attaches tests/bench/mallocleak.bpf.c to one process, by the same links as uplua (uprobe_multi and session):
 *
 *   mallocleak OBJECT leak|kernel|empty PID LIBC MALLOC_OFFSET FREE_OFFSET
 *
 * prints "ready", traces until stdin ends, prints the number of live blocks. The offsets are file offsets.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { UPROBE_MULTI = 48, UPROBE_SESSION = 57 }; /* enum bpf_attach_type of Linux 6.6 and 6.13 */

/* union bpf_attr for BPF_LINK_CREATE with uprobe_multi, which libbpf 1.1's header lacks. */
struct link_create {
    uint32_t program_fd, target_fd, attach_type, flags;
    uint64_t path, offsets, reference_counters, cookies;
    uint32_t count, uprobe_flags, pid, padding;
};

static int attach(int program, uint32_t type, const char *path, uint64_t offset, uint32_t pid)
{
    struct link_create attr = {
        .program_fd = (uint32_t)program,
        .attach_type = type,
        .path = (uintptr_t)path,
        .offsets = (uintptr_t)&offset,
        .count = 1,
        .pid = pid,
    };

    return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}

static int fail(const char *what, int code)
{
    fprintf(stderr, "mallocleak: %s: %s\n", what, strerror(code < 0 ? -code : code));
    return 1;
}

static unsigned long count_entries(int map)
{
    uint64_t key, next;
    unsigned long count = 0;

    for (void *last = NULL; bpf_map_get_next_key(map, last, &next) == 0; count++) {
        key = next;
        last = &key;
    }
    return count;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: mallocleak OBJECT leak|kernel|empty PID LIBC MALLOC_OFFSET FREE_OFFSET\n");
        return 2;
    }
    char malloc_name[32], free_name[32];
    snprintf(malloc_name, sizeof(malloc_name), "%s_malloc", argv[2]);
    snprintf(free_name, sizeof(free_name), "%s_free", argv[2]);
    uint32_t pid = (uint32_t)strtoul(argv[3], NULL, 10);
    struct bpf_object *object = bpf_object__open_file(argv[1], NULL);
    struct bpf_program *program;

    if (!object)
        return fail(argv[1], errno);
    bpf_object__for_each_program(program, object)
    {
        const char *name = bpf_program__name(program);
        int type = strstr(name, "malloc") ? UPROBE_SESSION : UPROBE_MULTI;
        bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)type);
        bpf_program__set_autoload(program, !strcmp(name, malloc_name) || !strcmp(name, free_name));
    }
    int code = bpf_object__load(object);
    if (code)
        return fail("load", code);
    int on_malloc = bpf_program__fd(bpf_object__find_program_by_name(object, malloc_name));
    int on_free = bpf_program__fd(bpf_object__find_program_by_name(object, free_name));
    if (attach(on_free, UPROBE_MULTI, argv[4], strtoull(argv[6], NULL, 0), pid) < 0)
        return fail("attach to free", errno);
    if (attach(on_malloc, UPROBE_SESSION, argv[4], strtoull(argv[5], NULL, 0), pid) < 0)
        return fail("attach to malloc", errno);
    puts("ready");
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0)
        ;
    printf("%lu live\n", count_entries(bpf_object__find_map_fd_by_name(object, "live")));
    return 0;
}
