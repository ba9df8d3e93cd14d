/* Standard output, whose first error is remembered: the C library keeps that there was one, and not which. */
#include "sys/output.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int output_flush(void)
{
    static int reason;
    if (fflush(stdout) != 0 && !reason)
        reason = errno;
    if (!ferror(stdout))
        return 0;
    /* It was a write larger than the buffer, which leaves nothing to be flushed: an empty line tells what it was. */
    if (!reason && write(STDOUT_FILENO, "\n", 1) < 0)
        reason = errno;
    return reason ? reason : EIO;
}
