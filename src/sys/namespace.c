/* Where this process stands among the kernel's namespaces. */
#include "sys/namespace.h"

#include <stddef.h>
#include <sys/stat.h>

/* PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h: the inode of the first PID namespace, since Linux 3.8. */
static const ino_t first_namespace = 0xEFFFFFFC;

const char *namespace_problem(void)
{
    struct stat own;
    if (stat("/proc/self/ns/pid", &own) || own.st_ino == first_namespace)
        return NULL;
    return "uplua runs in a PID namespace, as containers have, where processes have other numbers than in the kernel's "
           "handlers; "
           "run it outside, or in a container that shares the host's PIDs (docker run --pid=host)";
}
