/*
 * Loads a library and calls plugged(i) in it, i = 0 … 100, once for each word of standard input.
 *
 *   plugin LIBRARY     prints "ready"; at the first byte it loads the library, and prints "loaded"; at the second it
 *                      calls, and prints "called"; then it waits for the end of its input
 *   plugin LIBRARY again     at each byte it makes another process that executes `plugin LIBRARY now`, and prints
 *                            "called"
 *   plugin LIBRARY now       loads it, calls, and ends
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 101 };

static void say(const char *word)
{
    puts(word);
    fflush(stdout);
}

static void *load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    return library ? dlsym(library, "plugged") : NULL;
}

static void call(void *plugged)
{
    for (long i = 0; i < CALLS; i++)
        ((long (*)(long))plugged)(i);
}

static void again(const char *program, const char *path)
{
    char byte;
    say("ready");
    while (read(0, &byte, 1) == 1) {
        if (fork() == 0) {
            execl(program, program, path, "now", (char *)NULL);
            _exit(1);
        }
        wait(NULL);
        say("called");
    }
}

int main(int argc, char **argv)
{
    char byte;
    void *plugged = NULL;
    if (argc > 2 && !strcmp(argv[2], "now")) {
        plugged = load(argv[1]);
        if (plugged)
            call(plugged);
        return !plugged;
    }
    if (argc > 2) {
        again(argv[0], argv[1]);
        return 0;
    }
    say("ready");
    if (read(0, &byte, 1) == 1)
        plugged = load(argv[1]);
    say("loaded");
    if (read(0, &byte, 1) == 1 && plugged)
        call(plugged);
    say("called");
    while (read(0, &byte, 1) > 0)
        continue;
    return 0;
}
