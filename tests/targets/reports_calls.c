/*
 * As reports.c, what programs ask the C library and the kernel for: memory, and system calls.
 *
 *   reports_calls CASE
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noinline.h"
#include "reports.h"

static void *volatile kept;
static volatile long sink;

/* Two threads hold 20,000 blocks of 4 bytes each. */
NOINLINE void *holds_small(void *nothing)
{
    for (int i = 0; i < 20000; i++)
        kept = malloc(4);
    return nothing;
}

static void case_small_blocks(void)
{
    in_threads(2, holds_small);
}

/* 23 requests that no memory is there for, and one of 101 bytes that is held. */
NOINLINE void requests(size_t size)
{
    kept = malloc(size);
}

static void case_failed_requests(void)
{
    for (int i = 0; i < SOME; i++)
        requests((size_t)1 << 62);
    requests(MANY);
}

/* A block of each kind. */
NOINLINE void by_calloc(void)
{
    kept = calloc(SOME, MANY);
}

NOINLINE void by_realloc(void)
{
    kept = realloc(kept = NULL, 123);
}

NOINLINE void by_reallocarray(void)
{
    kept = reallocarray(kept = NULL, 7, MANY);
}

NOINLINE void by_posix_memalign(void)
{
    void *block = NULL;

    sink = posix_memalign(&block, 64, 1001);
    kept = block;
}

NOINLINE void by_aligned_alloc(void)
{
    kept = aligned_alloc(64, 2048);
}

NOINLINE void by_valloc(void)
{
    kept = valloc(3001);
}

static void case_kinds(void)
{
    by_calloc();
    by_realloc();
    by_reallocarray();
    by_posix_memalign();
    by_aligned_alloc();
    by_valloc();
}

/* The line that it prints has the call that allocates 101 bytes; the instruction behind the call is of another. */
NOINLINE void on_line(size_t n)
{
    /* clang-format off */
    kept = malloc(
        n);
    /* clang-format on */
    KEEP(0);
}

static void case_line(void)
{
    on_line(MANY);
}

/* Opens what a page says that no instruction has looked at yet, and passes that address to unseen() before. */
NOINLINE void unseen(const char *text)
{
    KEEP(text);
}

static const char *unseen_page(const char *text)
{
    int file = memfd_create("page", 0);
    char *page = MAP_FAILED;

    if (file >= 0 && write(file, text, strlen(text) + 1) > 0)
        page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    if (page == MAP_FAILED)
        abort();
    return page;
}

static void case_unseen_path(void)
{
    for (int i = 0; i < SOME; i++)
        sink = open(unseen_page("/nowhere/unseen"), O_RDONLY);
}

static void case_unseen_text(void)
{
    for (int i = 0; i < SOME; i++)
        unseen(unseen_page("unseen text"));
}

/* Executes a file that is not there, then `true` with thirty arguments. */
static void case_executes(void)
{
    static char *none[] = {"nobody", NULL};
    static char words[30][8];
    char *arguments[32] = {"true"};

    execv("/nowhere/nobody", none);
    for (int i = 0; i < 30; i++) {
        snprintf(words[i], sizeof(words[i]), "w%d", i + 1);
        arguments[i + 1] = words[i];
    }
    execv("/bin/true", arguments);
}

/* popen("true; false"), which runs a shell. */
static void case_popen(void)
{
    FILE *pipe = popen("exit 23 # of popen", "r");

    if (pipe)
        sink = pclose(pipe);
}

/* 23 reads of a file that is not open, and one of 0 bytes. */
static void case_bad_reads(void)
{
    char byte;

    for (int i = 0; i < SOME; i++)
        sink = read(-1, &byte, 1);
}

/* io_setup of 128 events, with something else in the register's upper half. */
static void case_upper_half(void)
{
    sink = syscall(SYS_io_setup, 0x7777777700000080L, NULL);
}

/* Writes the first 7 bytes of a longer text to /dev/null. */
static void case_writes(void)
{
    int file = open("/dev/null", O_WRONLY);

    sink = write(file, "seven77 and what stands behind", 7);
}

/* Two threads and a child ask getpid and gettid, 101 times each. */
static void *asks(void *nothing)
{
    for (int i = 0; i < MANY; i++)
        sink += syscall(SYS_getpid) + syscall(SYS_gettid);
    return nothing;
}

static void case_asks(void)
{
    pid_t child;

    in_threads(2, asks);
    child = fork();
    if (child == 0) {
        asks(NULL);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    static const struct report_case cases[] = {
        {"small_blocks", case_small_blocks},
        {"failed_requests", case_failed_requests},
        {"kinds", case_kinds},
        {"line", case_line},
        {"unseen_path", case_unseen_path},
        {"unseen_text", case_unseen_text},
        {"executes", case_executes},
        {"popen", case_popen},
        {"bad_reads", case_bad_reads},
        {"upper_half", case_upper_half},
        {"writes", case_writes},
        {"asks", case_asks},
        {NULL, NULL},
    };

    return run_case(cases, argc > 1 ? argv[1] : "");
}
