// As tests/targets/reach.c, in C++: what containers and smart pointers keep, and what has been lost with one of them.
//
//   reach_cxx SHAPE [exit]   prints "ready", waits for a byte, makes blocks of this shape, prints how much of them is
//                            lost; waits for another byte, then uses each object that it has kept. exit: all at once
//   reach_cxx                prints the names of the shapes
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#ifdef MEMCHECK
#include <valgrind/memcheck.h>
#endif
extern "C" void __lsan_do_recoverable_leak_check(void) __attribute__((weak));

enum { MARK = 0x5eed, LOST = 23, KEPT = 101 };

static bool losing;
static unsigned long lost_bytes, lost_blocks, kept, used;

__attribute__((noinline)) void *operator new(size_t size)
{
    void *block = std::malloc(size);
    if (!block)
        _exit(3);
    if (losing) {
        lost_bytes += size;
        lost_blocks++;
    }
    return block;
}

__attribute__((noinline)) void operator delete(void *block) noexcept
{
    std::free(block);
}

// Containers give back what they have grown out of.
__attribute__((noinline)) void operator delete(void *block, size_t size) noexcept
{
    if (losing && block) {
        lost_bytes -= size;
        lost_blocks--;
    }
    std::free(block);
}

struct Object {
    unsigned long mark = MARK;
    std::shared_ptr<Object> next;
    std::string name = "a name that is too long to be kept in the object itself";
};

static void use(const Object &object)
{
    if (object.mark != MARK || object.name.size() != std::strlen(object.name.c_str()))
        _exit(4);
    used++;
}

template <typename Fill> static void fill(Fill one)
{
    for (int i = 0; i < KEPT; i++) {
        one(i);
        kept++;
    }
}

struct Containers {
    std::vector<std::unique_ptr<Object>> vector;
    std::list<Object> list;
    std::deque<Object *> deque;
    std::map<std::string, Object> map;
    std::unordered_map<int, std::unique_ptr<Object>> hash;
};

static Containers *containers;

// The same in each, in turn.
__attribute__((noinline)) static void add(Containers &to, int i)
{
    switch (i % 5) {
    case 0:
        to.vector.emplace_back(new Object);
        break;
    case 1:
        to.list.emplace_back();
        break;
    case 2:
        to.deque.push_back(new Object);
        break;
    case 3:
        to.map.emplace("key " + std::to_string(i), Object());
        break;
    default:
        to.hash.emplace(i, std::unique_ptr<Object>(new Object));
        break;
    }
}

__attribute__((noinline)) static void make_containers()
{
    containers = new Containers;
    fill([](int i) { add(*containers, i); });
}

static void use_containers()
{
    for (auto &one : containers->vector)
        use(*one);
    for (auto &one : containers->list)
        use(one);
    for (auto *one : containers->deque)
        use(*one);
    for (auto &one : containers->map)
        use(one.second);
    for (auto &one : containers->hash)
        use(*one.second);
}

static std::vector<std::shared_ptr<Object>> objects;

// Pairs that keep each other are lost; chains are kept.
__attribute__((noinline)) static void make_shared_pointers()
{
    losing = true;
    for (int i = 0; i < LOST; i++) {
        auto a = std::make_shared<Object>();
        std::shared_ptr<Object> b(new Object);
        a->next = b;
        b->next = a;
    }
    losing = false;
    std::shared_ptr<Object> last;
    fill([&](int) {
        auto one = std::make_shared<Object>();
        one->next = last;
        last = one;
    });
    objects.push_back(last);
}

static void use_shared_pointers()
{
    for (auto one = objects[0]; one; one = one->next)
        use(*one);
}

static const struct {
    const char *name;
    void (*make)(), (*use)();
} shapes[] = {{"containers", make_containers, use_containers},
              {"shared_pointers", make_shared_pointers, use_shared_pointers}};

__attribute__((noinline)) static void scrub()
{
    volatile char clean[32 << 10];
    for (size_t i = 0; i < sizeof clean; i++)
        clean[i] = 0;
}

// Containers that nobody has any more, with all that is in them.
__attribute__((noinline)) static void lose_containers()
{
    Containers *volatile gone;
    losing = true;
    gone = new Containers;
    for (int i = 0; i < LOST; i++)
        add(*gone, i);
    losing = false;
    gone = nullptr;
}

static void wait_for_byte(bool waits)
{
    char byte;
    std::fflush(stdout);
    if (waits && read(0, &byte, 1) != 1)
        _exit(7);
}

int main(int argc, char **argv)
{
    static char output[4096];
    std::setvbuf(stdout, output, _IOFBF, sizeof output);
    bool waits = argc < 3 || std::strcmp(argv[2], "exit");
    for (auto &shape : shapes) {
        if (argc < 2)
            std::puts(shape.name);
        if (argc < 2 || std::strcmp(shape.name, argv[1]))
            continue;
        std::puts("ready");
        wait_for_byte(waits);
        if (shape.make == make_containers)
            lose_containers();
        shape.make();
        void *volatile last = std::malloc(24);
        scrub();
#ifdef MEMCHECK
        VALGRIND_DO_LEAK_CHECK;
#endif
        if (__lsan_do_recoverable_leak_check)
            __lsan_do_recoverable_leak_check();
        std::printf("lost %lu in %lu kept 0 in %lu\n", lost_bytes, lost_blocks, kept);
        wait_for_byte(waits);
        shape.use();
        std::free(last);
        std::printf("used %lu\n", used);
        return used != kept;
    }
    return argc > 1;
}
