// Arguments of many types, which compilers may describe in units of their own (-fdebug-types-section) or in other files
// (-gsplit-dwarf). take is called twice.
#include <map>
#include <string>
#include <vector>

enum class Color : signed char { red = -1, blue = 7 };

struct In {
    int k;
    double d;
    char name[8];
};

struct Big {
    In in[3];
    In *ptr;
    char **list;
    int (*fp)(int);
    const char *const s;
    unsigned f1 : 3, f2 : 5;
    long double ld;
};

volatile long sink;

static int cb(int a)
{
    return a + 1;
}

__attribute__((noinline)) void take(const std::string &s, const std::vector<int> &v, Color c, const Big *b, char **argv,
                                    int (&arr)[4], const In &in, bool *flag)
{
    sink = (long)s.size() + (long)v.size() + (int)c + b->in[1].k + (argv != nullptr) + arr[2] + in.k + *flag;
}

int main(int, char **argv)
{
    Big b{{{1, 1.5, "one"}, {2, 2.5, "two"}, {3, 3.5, "three"}}, nullptr, argv, cb, "hello", 5, 17, 1.0L};
    b.ptr = &b.in[2];
    int arr[4] = {10, 20, 30, 40};
    bool f = true;
    std::string s(40, 'z');
    for (int i = 0; i < 2; i++)
        take(s, std::vector<int>{7, 8, 9}, Color::red, &b, argv, arr, b.in[0], &f);
    return sink != 40 + 3 - 1 + 2 + 1 + 30 + 1 + 1;
}
