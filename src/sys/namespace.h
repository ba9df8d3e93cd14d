/* Where this process stands among the kernel's namespaces. */
#pragma once

/*
 * Why no handler can tell this process's PIDs, for people: it is in a PID namespace, as containers have, and handlers
 * see the numbers outside of it. NULL where it is not.
 */
const char *namespace_problem(void);
