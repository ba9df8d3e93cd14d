/* Whether a file that root is about to run is what root put there. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* The user that sudo was called by ($SUDO_UID); 0 where sudo was not called, or by root. */
uid_t trust_sudo_user(void);

/*
 * Who else can replace the file or folder PATH, or a folder above it: a sentence, malloc'd, such as "/srv/lib can be
 * written by its group 100"; NULL if nobody, if PATH is not there, or if this process is not root, who has nothing to
 * lose by it. (NULL with errno ENOMEM, too.) Links are followed.
 *
 * Trusted are root, whoever can replace this executable, which root runs already, and with SUDO the user that sudo was
 * called by ($SUDO_UID). A group is trusted where it is root's, or has its trusted owner's number, as groups of one
 * user have. In a folder with the sticky bit, /tmp, others cannot replace what is not theirs (inode(7)).
 */
char *trust_problem(const char *path, bool sudo);
