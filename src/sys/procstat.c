#include "sys/procstat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool procstat_field(pid_t pid, int number, int64_t *value)
{
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[size] = '\0';
    /* The second field is the program's name in brackets, which may have any text. */
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < number; field++)
        at = strchr(at + 1, ' ');
    if (at)
        *value = strtoll(at, NULL, 10);
    return at;
}
