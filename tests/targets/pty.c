/*
 * Types at a program as a person does: runs COMMAND on a terminal of its own and plays the steps read from standard
 * input.
 *
 *     pty COMMAND...
 *     > text     types the text and Enter        - text    types the text without Enter
 *     ^C         types Control-C (any letter)    ~ 0.5     waits half a second
 *     < text     waits until the text has been printed since the last such step, at most a minute
 *     ? text     the same, and notes how long that took since something was typed; at the end standard error is told
 *                the median and the longest time of all of them: "answers: 100, 52 ms, at most 61 ms"
 *     @          closes the terminal, as when its window is closed
 *
 * Then it waits for the program to end. What was printed goes to standard output, without carriage returns; the exit
 * status is the program's, 128 + N if signal N ended it, 98 if a text never came, 97 if the program does not end.
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

enum { OUTPUT_MAX = 1 << 20, PATIENCE_MS = 60000, ANSWERS_MAX = 10000 };

static char output[OUTPUT_MAX + 1];
static size_t length, seen; /* bytes printed, and those before SEEN that "<" has passed */
static int terminal;
static bool open_end = true;
static long typed_at, answers[ANSWERS_MAX]; /* ms */
static size_t answer_count;

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Takes what the program prints within MILLISECONDS; returns early once something came. */
static void listen_for(int milliseconds)
{
    struct pollfd fd = {.fd = terminal, .events = POLLIN};
    if (!open_end) {
        poll(NULL, 0, milliseconds);
        return;
    }
    if (poll(&fd, 1, milliseconds) <= 0)
        return;
    char chunk[4096];
    ssize_t count = read(terminal, chunk, sizeof chunk);
    if (count <= 0) {
        open_end = count < 0 && errno == EINTR;
        return;
    }
    for (ssize_t i = 0; i < count && length < OUTPUT_MAX; i++)
        if (chunk[i] != '\r')
            output[length++] = chunk[i];
}

static bool expect(const char *text)
{
    long deadline = now_ms() + PATIENCE_MS;
    for (;;) {
        output[length] = '\0';
        char *found = strstr(output + seen, text);
        if (found) {
            seen = (size_t)(found - output) + strlen(text);
            return true;
        }
        long left = deadline - now_ms();
        if (left <= 0 || !open_end)
            return false;
        listen_for((int)left);
    }
}

static void type(const char *text)
{
    typed_at = now_ms();
    if (write(terminal, text, strlen(text)) < 0 && errno != EIO)
        perror("pty: write");
}

static bool play(const char *step)
{
    switch (step[0]) {
    case '>':
        type(step[1] ? step + 2 : "");
        type("\r");
        return true;
    case '-':
        type(step + 2);
        return true;
    case '^':
        type((char[]){(char)(step[1] & 0x1f), '\0'});
        return true;
    case '~': {
        long until = now_ms() + (long)(atof(step + 1) * 1000);
        for (long left = until - now_ms(); left > 0; left = until - now_ms())
            listen_for((int)left);
        return true;
    }
    case '<':
        return expect(step + 2);
    case '?':
        if (!expect(step + 2))
            return false;
        if (answer_count < ANSWERS_MAX)
            answers[answer_count++] = now_ms() - typed_at;
        return true;
    case '@':
        close(terminal);
        open_end = false;
        return true;
    }
    return true;
}

static int by_length(const void *a, const void *b)
{
    return (*(const long *)a > *(const long *)b) - (*(const long *)a < *(const long *)b);
}

static void tell_answers(void)
{
    if (!answer_count)
        return;
    qsort(answers, answer_count, sizeof *answers, by_length);
    fprintf(stderr, "answers: %zu, %ld ms, at most %ld ms\n", answer_count, answers[answer_count / 2],
            answers[answer_count - 1]);
}

static int wait_for_end(pid_t child)
{
    int status;
    for (long deadline = now_ms() + PATIENCE_MS; now_ms() < deadline;) {
        listen_for(20);
        if (waitpid(child, &status, WNOHANG) == child) {
            while (open_end && length < OUTPUT_MAX) {
                size_t before = length;
                listen_for(50);
                if (length == before)
                    break;
            }
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return 97;
}

int main(int argc, char *argv[])
{
    if (argc < 2)
        return 2;
    struct winsize size = {.ws_row = 40, .ws_col = 100};
    pid_t child = forkpty(&terminal, NULL, NULL, &size);
    if (child < 0) {
        perror("pty: forkpty");
        return 99;
    }
    if (child == 0) {
        setenv("TERM", "dumb", 1);
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    char step[4096];
    int result = 0;
    while (result == 0 && fgets(step, sizeof step, stdin)) {
        step[strcspn(step, "\n")] = '\0';
        if (!play(step)) {
            fprintf(stderr, "pty: never came: %s\n", step + 2);
            result = 98;
            kill(child, SIGKILL);
        }
    }
    int status = wait_for_end(child);
    fwrite(output, 1, length, stdout);
    tell_answers();
    return result ? result : status;
}
