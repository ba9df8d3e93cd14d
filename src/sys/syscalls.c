/* The names of system calls, by number. */
#include "sys/syscalls.h"

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

static const struct {
    long number;
    const char *name;
} calls[] = {
#define CALL(name) {__NR_##name, #name},
#include "syscall_names.h" /* generated: CALL(read) … */
};

const char *syscall_name(long number)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].number == number)
            return calls[i].name;
    return NULL;
}

long syscall_number(const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!strcmp(calls[i].name, name))
            return calls[i].number;
    return -1;
}
