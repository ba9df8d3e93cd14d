/* Measures what a trap takes. */
#include "probe/attach/trap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "arch/arch.h"
#include "probe/attach/own_function.h"
#include "sys/bpf.h"
#include "sys/clock.h"
#include "sys/feature.h"

enum { CALLS = 101, FIRST_CALLS = 7 /* that do not count */ };

static struct {
    bool known;
    uint64_t ns;
} prices[TRAPS][ENTRIES];

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* What a call of the function NUMBER takes, the median. Before each the kernel does other work, as in traced programs,
 * so that its code is not in the CPU's caches more than it is there. */
static uint64_t call(unsigned number)
{
    char text[512];
    uint64_t took[CALLS];
    int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    for (int i = -FIRST_CALLS; i < CALLS; i++) {
        ssize_t ignored = file < 0 ? 0 : pread(file, text, sizeof text, 0);
        (void)ignored;
        uint64_t begin = clock_now();
        arch_call_empty(number);
        if (i >= 0)
            took[i] = clock_now() - begin;
    }
    if (file >= 0)
        close(file);
    qsort(took, CALLS, sizeof *took, by_number);
    return took[CALLS / 2];
}

/* Puts the probes of TRAP on the function NUMBER. */
static int attach(enum trap trap, unsigned number, struct probe_link *link)
{
    bool session = trap == TRAP_AT_RETURN && feature_available(FEATURE_SESSION);
    bool multi = feature_available(FEATURE_UPROBE_MULTI);
    uint32_t type = session ? ATTACH_TYPE_UPROBE_SESSION : multi ? ATTACH_TYPE_UPROBE_MULTI : 0;
    int program = bpf_probe_program(type);
    if (program < 0)
        return program;
    uint64_t offsets[2];
    offsets[0] = own_function_offset(number, &offsets[1]);
    int code = own_function_attach(link, program, type, offsets, trap == TRAP_AT_EXIT ? 2 : 1, false);
    if (code >= 0 && trap == TRAP_AT_RETURN && !session)
        code = own_function_attach(link, program, type, offsets, 1, true);
    close(program); /* the links keep it */
    return code < 0 ? code : 0;
}

int trap_price(enum trap trap, enum entry entry, uint64_t *ns, struct error *err)
{
    if (!prices[trap][entry].known) {
        unsigned number = ENTRIES + (unsigned)entry;
        uint64_t without = call(number);
        struct probe_link *link;
        int code = link_new(&link, err);
        if (code)
            return code;
        code = attach(trap, number, link);
        uint64_t with = code ? 0 : call(number);
        probe_detach(link);
        if (code)
            return error_set(err, code, "%s", error_reason(code));
        prices[trap][entry].ns = with > without ? with - without : 0;
        prices[trap][entry].known = true;
    }
    *ns = prices[trap][entry].ns;
    return 0;
}
