/* Runs the user's editor on a file that only the user can read. */
#include "sys/editor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, const char *text)
{
    for (size_t left = strlen(text); left;) {
        ssize_t count = write(fd, text, left);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -errno;
        text += count;
        left -= (size_t)count;
    }
    return 0;
}

/* By its name: editors save by rename. */
static int read_all(const char *path, char **text)
{
    FILE *file = fopen(path, "re");
    size_t size = 0;
    if (!file)
        return -errno;
    ssize_t length = getdelim(text, &size, '\0', file);
    int code = length < 0 && ferror(file) ? -errno : 0;
    fclose(file);
    if (!code && length < 0) { /* it is empty */
        free(*text);
        *text = strdup("");
    }
    return !code && !*text ? -ENOMEM : code;
}

/* The path reaches the shell in the environment, whatever is in it. */
static int run(const char *path)
{
    if (setenv("UPLUA_ENTRY", path, 1) < 0)
        return -errno;
    int status = system("${VISUAL:-${EDITOR:-vi}} \"$UPLUA_ENTRY\"");
    unsetenv("UPLUA_ENTRY");
    return status < 0 ? -errno : status ? -ECANCELED : 0;
}

int editor_edit(const char *text, const char *suffix, char **edited, struct error *err)
{
    *edited = NULL;
    const char *folder = secure_getenv("TMPDIR");
    char *path = NULL;
    if (asprintf(&path, "%s/uplua-XXXXXX%s", folder && *folder == '/' ? folder : "/tmp", suffix) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    int fd = mkstemps(path, (int)strlen(suffix));
    int code = fd < 0 ? -errno : write_all(fd, text);
    if (fd >= 0)
        close(fd);
    if (!code)
        code = run(path);
    if (!code)
        code = read_all(path, edited);
    if (code == -ECANCELED)
        error_set(err, code, "the editor failed: the entry stays as it was; $EDITOR says which one");
    else if (code)
        error_set(err, code, "the entry cannot be edited: %s: %s", path, error_reason(code));
    if (fd >= 0)
        unlink(path);
    free(path);
    return code;
}
