/*
 * A compiler with a bug, for LD_PRELOAD: the handlers that the kernel gets call a helper that does not exist where they
 * put something into a map. What the verifier says of that, uplua must tell as its own fault.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

enum { NO_HELPER = 32767 };

static void spoil(const union bpf_attr *attr)
{
    struct bpf_insn *instructions = (struct bpf_insn *)(uintptr_t)attr->insns;

    if (strncmp(attr->prog_name, "uplua_handler", 13) != 0)
        return;
    for (unsigned i = 0; i < attr->insn_cnt; i++)
        if (instructions[i].code == (BPF_JMP | BPF_CALL) && !instructions[i].src_reg &&
            instructions[i].imm == BPF_FUNC_map_update_elem)
            instructions[i].imm = NO_HELPER;
}

/* libbpf makes its calls by this function. */
long syscall(long number, ...)
{
    static long (*next)(long, ...);
    long arguments[6];
    va_list list;

    if (!next)
        next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_bpf && arguments[0] == BPF_PROG_LOAD)
        spoil((const union bpf_attr *)arguments[1]);
    return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
