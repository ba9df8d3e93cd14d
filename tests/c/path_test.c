/* What the runtime asks the file system: private files, folders, real paths. */
#include "sys/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

static unsigned mode_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_mode & 07777 : 0;
}

int main(void)
{
    char folder[] = "/tmp/uplua-path-XXXXXX";
    if (!mkdtemp(folder)) {
        perror("mkdtemp");
        return 1;
    }
    char path[256], other[256];
    snprintf(path, sizeof path, "%s/a/b/history", folder);
    is_int(path_create_private(path), 0, "a file in folders that do not exist is created");
    is_int(mode_of(path), 0600, "its mode");
    snprintf(other, sizeof other, "%s/a/b", folder);
    is_int(mode_of(other), 0700, "its folder's mode");
    is_int(path_create_private(path), 0, "it may exist");
    ok(path_is_file(path), "a file is one");
    ok(!path_is_file(other), "a folder is none");
    snprintf(other, sizeof other, "%s/a/b/history/file", folder);
    ok(!path_is_file(other), "what does not exist is none");
    is_int(path_create_private(other), -ENOTDIR, "a file is no folder");
    is_int(path_create_private("relative/file"), -EINVAL, "a relative path is refused");

    snprintf(other, sizeof other, "%s/link", folder);
    ok(symlink(path, other) == 0, "a link to it");
    is_int(path_create_private(other), -ELOOP, "a private file is not made through a link");
    char *real = path_real(other);
    is_str(real, path, "the link's real path");
    free(real);
    real = path_real("/nonexistent/file");
    ok(!real, "no real path of what does not exist");
    free(real);
    real = path_executable();
    ok(real && real[0] == '/' && path_is_file(real), "the executable's path");
    free(real);

    unlink(other);
    unlink(path);
    for (const char *const *part = (const char *const[]){"/a/b", "/a", "", NULL}; *part; part++) {
        snprintf(other, sizeof other, "%s%s", folder, *part);
        is_int(rmdir(other), 0, "only what was asked for was made in %s", other);
    }
    return done_testing();
}
