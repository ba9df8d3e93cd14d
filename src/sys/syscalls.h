/* The names of system calls, as the headers know them that uplua was built with. */
#pragma once

/* The name of the call NUMBER; NULL where the headers have none. */
const char *syscall_name(long number);
/* The number of the call NAME, or -1. */
long syscall_number(const char *name);
