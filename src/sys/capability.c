/* What the process may do. */
#include "sys/capability.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CAP_BPF
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

/* The process's capabilities, or false. */
static bool read_all(struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3])
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    return syscall(SYS_capget, &header, data) == 0;
}

static bool has(const struct __user_cap_data_struct *data, unsigned capability)
{
    return data[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability);
}

const char *capability_missing(void)
{
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (!read_all(data))
        return NULL;
    if (has(data, CAP_SYS_ADMIN)) /* includes the two newer ones */
        return NULL;
    if (prctl(PR_CAPBSET_READ, CAP_BPF) < 0) /* unknown to this kernel */
        return "CAP_SYS_ADMIN";
    bool bpf = has(data, CAP_BPF), perfmon = has(data, CAP_PERFMON);
    if (bpf && perfmon)
        return NULL;
    return bpf ? "CAP_PERFMON" : perfmon ? "CAP_BPF" : "CAP_BPF and CAP_PERFMON";
}

bool capability_ptrace(void)
{
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return read_all(data) && has(data, CAP_SYS_PTRACE);
}
