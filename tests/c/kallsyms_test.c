/* The kernel's list of symbols: what gives the name of an address, and where none does. The list is one of our own. */
#include "sym/kernel.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

static char path[] = "/tmp/uplua-kallsyms-XXXXXX";

static void write_list(const char *text)
{
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file))
        exit(2);
}

static void name_is(struct kernel *kernel, uint64_t address, const char *name, uint64_t offset, const char *module,
                    const char *what)
{
    uint64_t got;
    const char *in, *own = kernel_lookup(kernel, address, &got, &in);
    is_str(own, name, "%s", what);
    is_int((int64_t)got, (int64_t)offset, "%s: the offset", what);
    is_str(in, module, "%s: the module", what);
}

/* Whether ADDRESS has the NAME, once an address that is not known has been asked for. */
static bool knows(struct kernel *kernel, uint64_t address, const char *name)
{
    uint64_t offset;
    const char *module;
    kernel_lookup(kernel, 0xffffffffc0fff000, &offset, &module);
    const char *got = kernel_lookup(kernel, address, &offset, &module);
    return got && !strcmp(got, name);
}

int main(void)
{
    int fd = mkstemp(path);
    if (fd < 0)
        return 2;
    close(fd);
    write_list("ffffffff81000000 T _stext\n"
               "ffffffff81000100 t first\n"
               "ffffffff81000200 t __x64_sys_read\nffffffff81000200 T sys_read\nffffffff81000200 W weak_read\n"
               "ffffffff81000400 T _RNvCs1234_6kernel4init\n"
               "ffffffff82000000 T _etext\n"
               "ffffffff82400000 D table\n"
               "ffffffffc0100000 t ext4_sync\t[ext4]\n"
               "ffffffffc0000000 t bpf_prog_0123_handler\t[bpf]\n"
               "0000000000012340 A per_cpu_thing\n"
               "no line of this form\n");
    struct kernel *kernel = kernel_new(path);
    name_is(kernel, 0xffffffff81000123, "first", 0x23, "[kernel]", "inside a function");
    name_is(kernel, 0xffffffff810001ff, "first", 0xff, "[kernel]", "its last byte");
    name_is(kernel, 0xffffffff81000210, "sys_read", 0x10, "[kernel]", "of several names the exported one");
    name_is(kernel, 0xffffffff81000404, "kernel::init", 4, "[kernel]", "Rust is demangled");
    name_is(kernel, 0xffffffff82400008, "table", 8, "[kernel]", "a variable");
    name_is(kernel, 0xffffffffc0100010, "ext4_sync", 0x10, "[ext4]", "a module's function");
    name_is(kernel, 0xffffffffc0000001, "bpf_prog_0123_handler", 1, "[bpf]", "a BPF program");
    name_is(kernel, 0xffffffffc0fff000, NULL, 0xffffffffc0fff000, "[kernel]", "far behind the last function");
    name_is(kernel, 0xffffffff80ffffff, NULL, 0xffffffff80ffffff, "[kernel]", "before the first");
    ok(kernel_has(0xffffffff81000000) && !kernel_has(0x7fffffffffff), "the kernel's half of the addresses");

    write_list("ffffffff81000000 T _stext\nffffffff82000000 T _etext\nffffffffc0200000 t late\t[new]\n");
    /* It is read again for a twentieth of the time at most: on a busy machine that may take a while. */
    for (int i = 0; i < 300 && !knows(kernel, 0xffffffffc0200003, "late"); i++)
        usleep(100000);
    name_is(kernel, 0xffffffffc0fff000, NULL, 0xffffffffc0fff000, "[kernel]", "an unknown address asks again");
    name_is(kernel, 0xffffffffc0200003, "late", 3, "[new]", "a module that was loaded since");
    kernel_free(kernel);

    write_list("0000000000000000 T _stext\n0000000000000000 t first\n");
    kernel = kernel_new(path);
    name_is(kernel, 0xffffffff81000123, NULL, 0xffffffff81000123, "[kernel]", "a kernel that hides its addresses");
    kernel_free(kernel);
    unlink(path);
    kernel = kernel_new(path);
    name_is(kernel, 0xffffffff81000123, NULL, 0xffffffff81000123, "[kernel]", "no list at all");
    kernel_free(kernel);
    return done_testing();
}
