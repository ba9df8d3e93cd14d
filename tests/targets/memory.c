/*
 * Hands structures of all kinds to functions, for handlers that read them through typed pointers:
 *
 *   list(item)       twice: the first of 23 items (values 0 … 22), then of 101 items (values 0 … 100); the last one's
 *                    next is NULL
 *   shapes(s)      23 times, with s->u8 counting from 0
 *   table(rows, n)   once: an array of 5 pointers to items (values 0 … 4) and a NULL behind them
 *   broken(item)     three times: next leads to an unmapped page, into the kernel, and to no canonical address
 *   split(item)      once: an item (value 7) whose name lies on the page behind it, which is unmapped
 *   untouched(item)  once: an item (value 101) in a page of a file that the process has mapped and not yet touched
 *   ring(item)       once: an item that is its own next
 *   connect          three times: to a local socket, an IPv4 and an IPv6 address (of no socket, so that nothing
 *                    happens)
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "memory.h"
#include "noinline.h"

#define CALLED(name, type)                                                                                             \
    NOINLINE void name(type argument)                                                                                  \
    {                                                                                                                  \
        __asm__ volatile("" : : "r"(argument) : "memory");                                                             \
    }
CALLED(list, struct item *)
CALLED(shapes, struct shapes *)
CALLED(broken, struct item *)
CALLED(untouched, struct item *)
CALLED(split, struct item *)
CALLED(ring, struct item *)

NOINLINE void table(struct item **rows, int n)
{
    __asm__ volatile("" : : "r"(rows), "r"(n) : "memory");
}

enum { PAGE = 4096 };

static struct item *new_list(int count)
{
    struct item *first = NULL;
    for (int i = count - 1; i >= 0; i--) {
        struct item *item = calloc(1, sizeof *item);
        if (!item)
            exit(1);
        item->next = first;
        item->value = i;
        snprintf(item->name, sizeof item->name, "item %d", i);
        first = item;
    }
    return first;
}

static void fill(struct shapes *s)
{
    *s = (struct shapes){
        .i8 = INT8_MIN,
        .i16 = INT16_MIN,
        .u16 = UINT16_MAX,
        .i32 = INT32_MIN,
        .u32 = UINT32_MAX,
        .i64 = INT64_MIN,
        .u64 = UINT64_MAX,
        .yes = true,
        .color = BLUE,
        .sign = MINUS,
        .header = {.id = 65521, .kind = 7, .inner = {.x = -23, .y = 101}},
        .x = 5,
        .word.whole = 0x01020304,
        .low = 5,
        .high = -3,
        .wide = 0xabcdef,
        .flag = true,
        .set = true,
        .list = {2, 3, 5, 7},
        .matrix = {{11, 12, 13}, {21, 22, 23}},
        .tail = {0},
        .headers = {{.id = 1}, {.id = 2, .inner = {.y = 9}}, {.id = 3}},
        .ratio = 0.5,
        .call = fill,
        .text = "a text that is longer than its first word",
        .full = "12345678",
        .nine = "123456789",
        .names = {"first", "second"},
    };
    memset(s->large, 'x', 997);
    s->self = s;
    s->twice = &s->self;
    memcpy(s->short_name, "abc\0garbage behind the end", 27);
}

static void connect_to_all(void)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX, .sun_path = "/nowhere/23"};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(65521), .sin_addr = {htonl(0x7f000117)}};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(101)};

    inet_pton(AF_INET6, "2001:db8::17:ff01", &six.sin6_addr);
    connect(-1, (struct sockaddr *)&local, sizeof local);
    connect(-1, (struct sockaddr *)&four, sizeof four);
    connect(-1, (struct sockaddr *)&six, sizeof six);
}

int main(void)
{
    list(new_list(23));
    list(new_list(101));

    struct shapes *s = malloc(sizeof *s);
    if (!s)
        return 1;
    fill(s);
    for (int i = 0; i < 23; i++) {
        s->u8 = (uint8_t)i;
        shapes(s);
    }

    struct item *rows[6] = {0};
    for (int i = 0; i < 5; i++) {
        rows[i] = new_list(1);
        rows[i]->value = i;
    }
    table(rows, 5);

    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || munmap(pages + PAGE, PAGE))
        return 1;
    struct item first = {.value = 1};
    first.next = (struct item *)(pages + PAGE);
    broken(&first);
    first.next = (struct item *)0xffff888000000000;
    broken(&first);
    first.next = (struct item *)0x0123456789abcdef;
    broken(&first);

    struct item *edge = (struct item *)(pages + PAGE - offsetof(struct item, name));
    edge->value = 7;
    split(edge);

    struct item stored = {.value = 101, .name = "untouched"};
    int file = memfd_create("items", 0);
    if (file < 0 || write(file, &stored, sizeof stored) != sizeof stored)
        return 1;
    void *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);
    if (page == MAP_FAILED)
        return 1;
    untouched(page);

    first.next = &first;
    ring(&first);
    connect_to_all();
    puts("list 2 shapes 23 table 1 broken 3 split 1 untouched 1 ring 1 connect 3");
    return 0;
}
