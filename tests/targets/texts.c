/*
 * Gives system calls, all of which fail, texts of known lengths.
 *
 *   texts
 *
 * write(-1, "xxx…", n) for n from 62 to 68, of a buffer of 100 x; write of "abc…", which ends in U+2026, with counts 3
 * to 6; open of paths of 255, 256, 321 and 4,095 bytes that end in "needle", and execve of such a path of 321 bytes.
 * Two functions whose names begin with the same 128 bytes are called once.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "noinline.h"

/* "/nope/./././…/needle", of LENGTH bytes, into PATH. */
static const char *path_of(char *path, size_t length)
{
    static const char head[] = "/nope/", tail[] = "needle";
    size_t middle = length - strlen(head) - strlen(tail);

    for (size_t i = 0; i < middle; i++)
        path[strlen(head) + i] = i % 2 == middle % 2 ? '.' : '/';
    memcpy(path, head, strlen(head));
    memcpy(path + length - strlen(tail), tail, sizeof tail);
    return path;
}

#define WORD(last) thirty_two_bytes_of_a_name_that_##last
#define NAME(last)                                                                                                     \
    WORD(is_thirty_two_bytes_of_a_name_that_is_thirty_two_bytes_of_a_name_that_is_thirty_two_bytes_of_a_name_##last)

static NOINLINE size_t NAME(one)(size_t n)
{
    __asm__ volatile("" : "+r"(n));
    return n;
}

static NOINLINE size_t NAME(two)(size_t n)
{
    __asm__ volatile("" : "+r"(n));
    return n + 1;
}

int main(void)
{
    static const size_t lengths[] = {255, 256, 321, 4095};
    char text[100], ends[] = "abc\xe2\x80\xa6", path[4096], *const arguments[] = {"needle", NULL};
    ssize_t written = 0;

    memset(text, 'x', NAME(one)(50) + NAME(two)(49));
    for (size_t count = 62; count <= 68; count++)
        written += write(-1, text, count);
    for (size_t count = 3; count <= 6; count++)
        written += write(-1, ends, count);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        written += open(path_of(path, lengths[i]), O_RDONLY);
    execve(path_of(path, 321), arguments, arguments + 1);
    return written == -15 ? 0 : 1;
}
