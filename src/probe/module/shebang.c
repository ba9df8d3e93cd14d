/* Which program will run a script. */
#include "probe/module/shebang.h"

#include <elf.h>
#include <paths.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "probe/module/module.h"
#include "probe/module/path_search.h"

enum {
    LINE_SIZE = 256, /* BINPRM_BUF_SIZE of the kernel */
    MAX_DEPTH = 5,   /* scripts that interpret scripts; the kernel's limit in exec_binprm */
};

/* The program that "env ARGUMENTS" runs, by $PATH; NULL where that is not to be seen. */
static char *program_of_env(char *arguments)
{
    char *word, *program;
    while ((word = strsep(&arguments, " \t"))) {
        if (strncmp(word, "-S", 2) == 0)
            word += 2;
        if (*word && *word != '-' && !strchr(word, '='))
            return program_find(word, &program, NULL) == 0 ? program : NULL;
    }
    return NULL;
}

/* What interprets the script that starts with LINE. */
static char *interpreter(char *line)
{
    line[strcspn(line, "\n")] = '\0';
    size_t end = strlen(line);
    while (end && strchr(" \t\r", line[end - 1]))
        line[--end] = '\0';
    char *path = line + 2 + strspn(line + 2, " \t");
    char *rest = path;
    strsep(&rest, " \t");
    char *program = rest && strcmp(path_basename(path), "env") == 0 ? program_of_env(rest) : NULL;
    return program ? program : strdup(path);
}

char *shebang_program(const char *path)
{
    char *program = strdup(path);
    for (int depth = 0; program && depth < MAX_DEPTH; depth++) {
        char line[LINE_SIZE + 1];
        int fd = elf_file_open_path(-1, program);
        ssize_t n = fd < 0 ? 0 : pread(fd, line, LINE_SIZE, 0);
        if (fd >= 0)
            close(fd);
        line[n > 0 ? n : 0] = '\0';
        if (n <= 0 || memcmp(line, ELFMAG, SELFMAG) == 0)
            break;
        /* Without #! the shell runs it, as with execvp. */
        char *next = strncmp(line, "#!", 2) == 0 ? interpreter(line) : strdup(_PATH_BSHELL);
        free(program);
        program = next;
    }
    return program;
}
