/* Where this process stands among the kernel's namespaces. */
#ifndef UPLUA_SYS_NAMESPACE_H
#define UPLUA_SYS_NAMESPACE_H

/*
 * Why no handler can tell this process's PIDs, for people: it is in a PID namespace, as containers have, and handlers
 * see the numbers outside of it. NULL where it is not.
 */
const char *namespace_problem(void);

#endif
