/* Checks that there are file descriptors enough. */
#include "sys/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

int descriptors_expect(size_t count, const char *what, struct error *err)
{
    int *taken = malloc((count + 1) * sizeof *taken);
    size_t have = 0;
    if (!taken)
        return error_set(err, -ENOMEM, "out of memory");
    for (; have < count; have++) {
        taken[have] = have ? fcntl(taken[0], F_DUPFD_CLOEXEC, 0) : open("/", O_PATH | O_CLOEXEC);
        if (taken[have] < 0)
            break;
    }
    for (size_t i = 0; i < have; i++)
        close(taken[i]);
    free(taken);
    if (have == count)
        return 0;
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    return error_set(
        err, -EMFILE,
        "too many open files: %s need %zu more, and of the %llu that are allowed %zu are left: raise `ulimit -n`", what,
        count, (unsigned long long)limit.rlim_cur, have);
}
