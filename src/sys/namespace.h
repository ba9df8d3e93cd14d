/* Where this process stands among the kernel's namespaces. */
#pragma once

/*
 * Why no handler can tell this process's PIDs, for people: it is in a PID namespace, as containers have, and handlers
 * see the numbers outside of it. NULL where it is not.
 */
const char *namespace_problem(void);

/*
 * The path of this process's root folder from the root of its mount namespace, which is where the kernel's paths begin:
 * "/srv/x" below chroot(1), else "/". malloc'd; NULL where that cannot be found out, without CAP_SYS_ADMIN or /proc.
 */
char *namespace_root_path(void);
