/*
 * Types at a prompt as a person does, and measures how long it takes to answer.
 *
 *     typist KEYS COMMAND...
 *
 * Runs COMMAND on a terminal of its own. Standard input has what is entered, a line each; "tab TEXT|REST" types TEXT
 * and Tab, and waits until REST has been completed. Then it types KEYS keys, one after the other with random pauses.
 * Prints "ready MS" from the start to the first "> ", "tab MS" and "key MS" from the key to its echo.
 */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000, PAUSE_US = 20000, OUTPUT_MAX = 1 << 16 };

static char output[OUTPUT_MAX + 1]; /* since the last thing that was typed */
static size_t length;
static int terminal;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Reads what comes within MS; false where nothing did. */
static bool listen_for(int ms)
{
    struct pollfd fd = {.fd = terminal, .events = POLLIN};
    if (poll(&fd, 1, ms) <= 0)
        return false;
    if (length > OUTPUT_MAX / 2) { /* the end is enough */
        memmove(output, output + length - 1024, 1024);
        length = 1024;
    }
    ssize_t count = read(terminal, output + length, OUTPUT_MAX / 2);
    if (count <= 0) {
        fprintf(stderr, "typist: the program has ended\n%s\n", output);
        exit(1);
    }
    length += (size_t)count;
    output[length] = '\0';
    return true;
}

static void type(const char *text)
{
    length = 0;
    output[0] = '\0';
    if (write(terminal, text, strlen(text)) < 0) {
        perror("typist: write");
        exit(1);
    }
}

/* Waits for TEXT; returns the ms since START. */
static double await(const char *text, double start)
{
    while (!strstr(output, text)) {
        double left = start + PATIENCE_MS - now_ms();
        if (left <= 0) {
            fprintf(stderr, "typist: never came: %s\n%s\n", text, output);
            exit(1);
        }
        listen_for((int)left + 1);
    }
    return now_ms() - start;
}

/* What is printed in the meantime is read, so that the terminal is never full. */
static void pause_for(double ms)
{
    double until = now_ms() + ms;
    for (double left = ms; left > 0; left = until - now_ms())
        listen_for((int)left + 1);
}

static void enter(char *line)
{
    char *rest = strchr(line, '|');
    if (strncmp(line, "tab ", 4) || !rest) {
        type(line);
        type("\r");
        await("\033[?2004h> ", now_ms()); /* bracketed paste is on again: the next entry is awaited */
        return;
    }
    *rest++ = '\0';
    type(line + 4);
    pause_for(200);
    double start = now_ms();
    type("\t");
    printf("tab %.3f\n", await(rest, start));
    type("\025"); /* Control-U: an empty line again */
    pause_for(50);
}

/* Nothing that is printed has capital letters, so that each is its own echo. */
static void press(int keys)
{
    for (int i = 0; i < keys; i++) {
        char key[] = {(char)('A' + i % 26), '\0'};
        pause_for((double)(rand() % PAUSE_US) / 1000 + 1);
        double start = now_ms();
        type(key);
        printf("key %.3f\n", await(key, start));
        if (i % 26 == 25) {
            type("\025");
            pause_for(50);
        }
    }
}

int main(int argc, char *argv[])
{
    if (argc < 3)
        return 2;
    struct winsize size = {.ws_row = 40, .ws_col = 100};
    double start = now_ms();
    pid_t child = forkpty(&terminal, NULL, NULL, &size);
    if (child < 0) {
        perror("typist: forkpty");
        return 1;
    }
    if (child == 0) {
        setenv("TERM", "xterm", 1);
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    printf("ready %.3f\n", await("> ", start));
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        enter(line);
    }
    press(atoi(argv[1]));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
