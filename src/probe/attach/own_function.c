/* Probes on uplua's own functions. */
#include "probe/attach/own_function.h"

#include <link.h>
#include <unistd.h>

#include "arch/arch.h"
#include "sys/bpf.h"
#include "sys/perf.h"

/* Our own file, as the kernel opens it. */
#define OWN_FILE "/proc/self/exe"

struct own_function {
    uintptr_t address;
    uint64_t offset;
};

/* dl_iterate_phdr names the program itself first. */
static int find_in_program(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct own_function *search = context;
    uintptr_t address = search->address - info->dlpi_addr;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr && address - segment->p_vaddr < segment->p_filesz)
            search->offset = address - segment->p_vaddr + segment->p_offset;
    }
    return 1;
}

uint64_t own_function_offset(unsigned number, uint64_t *exit)
{
    unsigned distance;
    struct own_function search = {.address = arch_empty(number, &distance)};
    dl_iterate_phdr(find_in_program, &search);
    *exit = search.offset + distance;
    return search.offset;
}

int own_function_attach(struct probe_link *link, int program, uint32_t attach_type, const uint64_t *offsets,
                        uint32_t count, bool at_return)
{
    if (attach_type) {
        struct uprobe_multi probe = {
            .attach_type = attach_type,
            .path = OWN_FILE,
            .offsets = offsets,
            .count = count,
            .at_return = at_return,
            .pid = uprobe_multi_filters_process() ? getpid() : 0,
        };
        return link_keep(link, uprobe_multi_link(program, &probe));
    }
    int code = 0;
    for (uint32_t i = 0; i < count && !code; i++) {
        struct perf_uprobe probe = {.path = OWN_FILE, .offset = offsets[i], .at_return = at_return, .pid = getpid()};
        code = link_keep(link, perf_uprobe_attach(program, &probe));
    }
    return code;
}
