/*
 * The same question of C++: what is held was allocated by the standard library's functions, some of which the compiler
 * has put into the program. At the end 141 blocks are held, 23 rounds of fill() with two callers and one of collect():
 *
 *   store::fill<int>   a node of 48 bytes, a vector with room for 101 numbers of 4, a text of 503 characters and a NUL
 *   store::collect     3 nodes of a list of numbers, of 24 bytes
 *
 * Prints "ready PID" before that and waits for a byte on stdin, then prints "done" and waits for another byte.
 */
#include <cstdio>
#include <list>
#include <string>
#include <unistd.h>
#include <vector>

#include "noinline.h"

static char output[4096];

namespace store
{

struct node {
    char bytes[48];
};

struct shelf {
    node *first;
    std::vector<int> numbers;
    std::string text;
};

static shelf shelves[46];
static std::list<long> collected;

template <typename T> NOINLINE void fill(shelf &to, T number)
{
    to.first = new node;
    __asm__ volatile("" : "+r"(to.first));
    to.numbers.reserve(101);
    to.numbers.push_back(number);
    to.text.assign(503, 'x');
}

NOINLINE void collect(long number)
{
    collected.push_back(number);
    __asm__ volatile("");
}

} // namespace store

NOINLINE void front(unsigned i)
{
    store::fill(store::shelves[i], 1);
    __asm__ volatile("");
}

NOINLINE void back(unsigned i)
{
    store::fill(store::shelves[23 + i], 2);
    __asm__ volatile("");
}

static void wait_byte()
{
    char byte;
    ssize_t n = read(0, &byte, 1);

    if (n < 0)
        _exit(1);
}

int main()
{
    setvbuf(stdout, output, _IOLBF, sizeof(output));
    printf("ready %d\n", (int)getpid());
    wait_byte();
    for (unsigned i = 0; i < 23; i++) {
        front(i);
        back(i);
    }
    for (long i = 0; i < 3; i++) {
        __asm__ volatile("" : "+r"(i)); /* one call in the code */
        store::collect(i);
    }
    printf("done\n");
    wait_byte();
    _exit(0);
}
