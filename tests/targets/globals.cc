/*
 * Variables outside of functions, of each kind that a name may mean. step() and ns::Klass::step() are called 5 times
 * each, in turn; what each finds when it begins is what it prints itself: "step 1 5 …".
 */
#include <cstdio>
#include <thread>

#include "noinline.h"

int total = 1;
static long hidden = 5;
static const int limit = 77;
static unsigned char bytes[8];
static bool on;
struct Config {
    int a;
    struct {
        short low, high;
    } limits[3];
    const char *name;
} config = {1, {{1, 2}, {3, 4}, {5, 6}}, "abc"};
extern int other_file;     /* globals_too.cc defines it */
extern "C" int of_library; /* libglobals.so does */
thread_local int per_thread = 9;
struct alignas(64) Aligned {
    int a, b;
};
static thread_local Aligned aligned = {3, 4};
int lib_step(int i);

namespace ns
{
int counter = 100;
int total = 1000; /* not the other one */
namespace
{
int unnamed = 200;
}
extern int other_counter; /* globals_too.cc defines it; and there is one without a namespace */
struct Klass {
    static int count;
    static inline int begins_with_3 = 3;
    int step(int i);
};
int Klass::count = 300;
} // namespace ns
int other_counter = -1;

NOINLINE int ns::Klass::step(int i)
{
    std::printf("method %d %d %d %d %d %d\n", count, begins_with_3, total, counter, unnamed, other_counter);
    count++;
    begins_with_3 += 2;
    total += 10;
    return i;
}

NOINLINE int step(int i)
{
    static int calls;
    static thread_local long of_thread;
    std::printf("thread %d %d %ld\n", per_thread, aligned.b, of_thread);
    std::printf("step %d %ld %d %d %d %d %d %d %d %d %d\n", total, hidden, limit, bytes[3], on, config.limits[1].high,
                ns::counter, other_file, ns::other_counter, ns::Klass::count, calls);
    calls++;
    total += i;
    hidden += 2;
    bytes[3]++;
    on = !on;
    config.limits[1].high++;
    ns::counter++;
    ns::unnamed++;
    other_file++;
    ns::other_counter++;
    per_thread++;
    aligned.b += 2;
    of_thread += i;
    of_library += 1000;
    return total;
}

int main()
{
    ns::Klass klass;
    int sum = 0;
    for (int i = 0; i < 5; i++) {
        if (i < 4)
            std::thread([&] { sum += step(i); }).join();
        else
            sum += step(i);
        sum += klass.step(i) + lib_step(i);
    }
    return sum == 0;
}
