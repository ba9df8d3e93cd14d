/* Whether a file that root is about to run is what root put there: who owns it, and who can write it or its folders. */
#include "sys/trust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/path.h"

enum { MOST_FOLDERS = 64 };

/* Who may write what root runs: root, who can replace this executable in any case, and perhaps sudo's caller. */
struct trusted {
    uid_t users[MOST_FOLDERS + 2];
    gid_t groups[MOST_FOLDERS + 1];
    size_t user_count, group_count;
    bool everybody;
};

/* The mode bits by which others than the owner of what STATUS is of can replace it, or what is in it. */
static mode_t shared_by(const struct stat *status)
{
    bool sticky = S_ISDIR(status->st_mode) && status->st_mode & S_ISVTX;
    return sticky ? 0 : status->st_mode & (S_IWOTH | S_IWGRP);
}

/* Whoever can write PATH. */
static void trust_writers(struct trusted *trusted, const char *path)
{
    struct stat status;
    if (trusted->user_count > MOST_FOLDERS || stat(path, &status))
        return;
    trusted->users[trusted->user_count++] = status.st_uid;
    if (shared_by(&status) & S_IWGRP)
        trusted->groups[trusted->group_count++] = status.st_gid;
    trusted->everybody |= (shared_by(&status) & S_IWOTH) != 0;
}

/* Calls VISIT for PATH, which is real, and for each folder above it, while it returns true. PATH is emptied. */
static void each_above(char *path, bool (*visit)(const char *path, void *context), void *context)
{
    while (*path && visit(path, context))
        *strrchr(path, '/') = '\0';
}

static bool trust_visit(const char *path, void *trusted)
{
    trust_writers(trusted, path);
    return true;
}

uid_t trust_sudo_user(void)
{
    const char *caller = secure_getenv("SUDO_UID");
    char *end = NULL;
    unsigned long number = caller ? strtoul(caller, &end, 10) : 0;
    return caller && end != caller && !*end ? (uid_t)number : 0;
}

static void find_trusted(struct trusted *trusted, bool sudo)
{
    char *executable = path_executable();
    if (executable)
        each_above(executable, trust_visit, trusted);
    free(executable);
    if (sudo)
        trusted->users[trusted->user_count++] = trust_sudo_user();
}

static bool is_trusted_user(const struct trusted *trusted, uid_t user)
{
    for (size_t i = 0; i < trusted->user_count; i++)
        if (trusted->users[i] == user)
            return true;
    return user == 0;
}

/* A group of one user has that user's number. */
static bool is_trusted_group(const struct trusted *trusted, gid_t group, uid_t owner)
{
    for (size_t i = 0; i < trusted->group_count; i++)
        if (trusted->groups[i] == group)
            return true;
    return group == 0 || group == owner;
}

struct check {
    struct trusted trusted;
    char *problem;
};

/* Whether PATH itself is as it should be; else says why not in the check. */
static bool check_visit(const char *path, void *context)
{
    struct check *check = context;
    struct stat status;
    int length = 0;
    if (stat(path, &status) || S_ISCHR(status.st_mode)) /* what a device gives is not what others have written to it */
        return true;
    if (!is_trusted_user(&check->trusted, status.st_uid))
        length = asprintf(&check->problem, "%s belongs to user %u", path, status.st_uid);
    else if (shared_by(&status) & S_IWOTH && !check->trusted.everybody)
        length = asprintf(&check->problem, "%s can be written by everybody", path);
    else if (shared_by(&status) & S_IWGRP && !is_trusted_group(&check->trusted, status.st_gid, status.st_uid))
        length = asprintf(&check->problem, "%s can be written by its group %u", path, status.st_gid);
    if (length < 0)
        check->problem = NULL;
    return length == 0;
}

char *trust_problem(const char *path, bool sudo)
{
    if (geteuid() != 0)
        return NULL;
    char *real = path_real(path);
    if (!real)
        return NULL;
    struct check check = {0};
    find_trusted(&check.trusted, sudo);
    each_above(real, check_visit, &check);
    free(real);
    return check.problem;
}
