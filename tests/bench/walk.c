/*
 * walk OBJECT PROGRAM PID BINARY OFFSET: attaches a program of tests/bench/walk.bpf.c to one process, by the same link
 * as uplua (uprobe_multi). Prints "ready", traces until stdin ends, prints how many frames the last stack had. OFFSET
 * is a file offset.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { UPROBE_MULTI = 48 }; /* enum bpf_attach_type of Linux 6.6 */

/* union bpf_attr for BPF_LINK_CREATE with uprobe_multi, which libbpf 1.1's header lacks. */
struct link_create {
    uint32_t program_fd, target_fd, attach_type, flags;
    uint64_t path, offsets, reference_counters, cookies;
    uint32_t count, uprobe_flags, pid, padding;
};

static int fail(const char *what, int code)
{
    fprintf(stderr, "walk: %s: %s\n", what, strerror(code < 0 ? -code : code));
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: walk OBJECT PROGRAM PID BINARY OFFSET\n");
        return 2;
    }
    struct bpf_object *object = bpf_object__open_file(argv[1], NULL);
    struct bpf_program *program = object ? bpf_object__find_program_by_name(object, argv[2]) : NULL;
    if (!program)
        return fail(argv[1], ENOENT);
    bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)UPROBE_MULTI);
    struct bpf_program *other;
    bpf_object__for_each_program(other, object) bpf_program__set_autoload(other, other == program);
    int code = bpf_object__load(object);
    if (code)
        return fail("load", code);
    uint64_t offset = strtoull(argv[5], NULL, 0);
    struct link_create attr = {
        .program_fd = (uint32_t)bpf_program__fd(program),
        .attach_type = UPROBE_MULTI,
        .path = (uintptr_t)argv[4],
        .offsets = (uintptr_t)&offset,
        .count = 1,
        .pid = (uint32_t)strtoul(argv[3], NULL, 10),
    };
    if (syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)) < 0)
        return fail("attach", errno);
    puts("ready");
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0)
        ;
    uint64_t frames = 0;
    uint32_t zero = 0;
    bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(object, ".bss"), &zero, &frames);
    printf("%llu frames\n", (unsigned long long)frames);
    return 0;
}
