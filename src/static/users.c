/*
 * In place of the C library's functions for users, in the file without any library (`make static`): by /etc/passwd
 * alone. glibc's own would load what /etc/nsswitch.conf names. Readline asks for the home of `~name`, and uplua for
 * sudo's caller's.
 */
#include <pwd.h>
#include <stdio.h>
#include <string.h>

static FILE *users; /* where getpwent reads on; NULL: from the start */

void setpwent(void)
{
    if (users)
        fclose(users);
    users = fopen("/etc/passwd", "re");
}

void endpwent(void)
{
    if (users)
        fclose(users);
    users = NULL;
}

struct passwd *getpwent(void)
{
    if (!users)
        setpwent();
    return users ? fgetpwent(users) : NULL;
}

struct passwd *getpwuid(uid_t uid)
{
    struct passwd *user;
    setpwent();
    while ((user = getpwent()) && user->pw_uid != uid)
        ;
    endpwent();
    return user; /* fgetpwent keeps it */
}

struct passwd *getpwnam(const char *name)
{
    struct passwd *user;
    setpwent();
    while ((user = getpwent()) && strcmp(user->pw_name, name))
        ;
    endpwent();
    return user;
}
