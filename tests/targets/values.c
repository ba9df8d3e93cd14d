/*
 * Values of all types for what shows them: what they hold is written down in tests/lua/trace_values_test.lua. Some lead
 * to each other in circles, to nothing, and to memory that is not there.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "noinline.h"

static volatile long sink;

enum mode { READ = 1, WRITE = 2, EXECUTE = 4 };
enum state { IDLE = -1, BUSY, WIDE = 200 };

struct point {
    float x;
    double y;
    long double z;
};

struct node {
    int id;
    const char *name;
    struct node *next;
};

struct all {
    bool yes, no;
    char letter, control;
    signed char small;
    enum mode mode;
    enum state state;
    unsigned narrow : 3;
    signed below : 5;
    uint64_t wide : 40;
    uint64_t most;
    int64_t least;
    struct point point;
    int numbers[20];
    int grid[2][3];
    char text[8], full[4];
    union {
        uint32_t word;
        uint8_t bytes[4];
    } either;
    void *nothing;
    int (*function)(const char *);
};

struct page {
    char bytes[4096];
};

NOINLINE void scalars(enum mode mode, enum state state, bool flag, char letter, unsigned long large)
{
    sink += mode + state + flag + letter + (long)large;
}

NOINLINE void show(struct all *all, int line)
{
    sink += all->least + line;
}

NOINLINE void list(struct node *node)
{
    sink += node->id;
}

NOINLINE void bad(struct node *node, const char *text, int *number)
{
    sink += (node != NULL) + (text != NULL) + (number != NULL);
}

NOINLINE int fill(char *text, size_t size, int *count, struct node *node)
{
    *count = snprintf(text, size, "filled with %d", 42);
    node->id = -7;
    return 0;
}

NOINLINE struct node *give(struct node *node)
{
    sink++;
    return node;
}

NOINLINE const char *give_text(void)
{
    sink++;
    return "given";
}

NOINLINE void bytes(const char *text)
{
    sink += *text;
}

NOINLINE void times(const struct timespec *wait, const struct timeval *date)
{
    sink += wait->tv_nsec + date->tv_usec;
}

NOINLINE void addresses(const struct sockaddr *four, const struct sockaddr *six, const struct sockaddr *path,
                        const struct sockaddr_in *typed)
{
    sink += four->sa_family + six->sa_family + path->sa_family + typed->sin_port;
}

NOINLINE void edge(struct page *page)
{
    sink += page->bytes[0];
}

static void call_addresses(void)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(80), .sin_addr = {htonl(0x7f000001)}};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(443), .sin6_addr = in6addr_loopback};
    struct sockaddr_un path = {.sun_family = AF_UNIX, .sun_path = "/run/a socket"};
    addresses((const void *)&four, (const void *)&six, (const void *)&path, &four);
}

static void call_all(void)
{
    static struct all all = {.yes = true,
                             .letter = 'x',
                             .control = 7,
                             .small = -8,
                             .mode = READ | EXECUTE,
                             .state = WIDE,
                             .narrow = 5,
                             .below = -6,
                             .wide = 0xfedcba9876,
                             .most = UINT64_MAX,
                             .least = INT64_MIN,
                             .point = {0.1f, -2.5e300, 1.25L},
                             .numbers = {1, -2, 3},
                             .grid = {{1, 2, 3}, {4, 5, 6}},
                             .text = "a\"\\\x01",
                             .full = {'f', 'u', 'l', 'l'},
                             .either = {.word = 0x01020304},
                             .function = puts};
    show(&all, 12);
}

int main(void)
{
    char text[256], every[256];
    int count = 0;
    char *gone = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct node third = {3, NULL, NULL}, second = {2, "second", &third}, first = {1, "first", &second};
    struct node ring[2] = {{10, "ring", &ring[1]}, {11, "ring", &ring[0]}}, lying = {-1, (char *)8, (struct node *)16};
    scalars(WRITE, IDLE, true, 'q', 0x7f0000001000);
    scalars((enum mode)9, (enum state)77, false, '\n', 5);
    call_all();
    list(&first);
    list(ring);
    list(&lying);
    munmap(gone + 4096, 4096);
    bad((struct node *)(gone + 4096), gone + 4096, (int *)(gone + 4096));
    bad(NULL, NULL, NULL);
    fill(text, sizeof text, &count, &third);
    sink += give(&first)->id + (give(NULL) != NULL) + *give_text();
    for (int i = 0; i < 255; i++)
        every[i] = (char)(i + 1);
    every[255] = '\0';
    for (int i = 0; i < 255; i += 51) {
        char part[52] = "";
        memcpy(part, every + i, 51);
        bytes(part);
    }
    times(&(struct timespec){1, 5}, &(struct timeval){1700000000, 250000});
    call_addresses();
    memset(gone, 'p', 4096);
    edge((struct page *)gone);
    return sink == 1;
}
