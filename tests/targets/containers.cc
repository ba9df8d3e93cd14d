// Strings and lists of C++ for what shows them, also such that lie about their length.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "noinline.h"

static volatile long sink;

struct Point { int x, y; };
struct Order { std::string name; std::vector<int> pieces; std::string_view view; const char *text; };

NOINLINE void text(const std::string &s, std::string *pointer) { sink = sink + (long)s.size() + (pointer != nullptr); }
NOINLINE void copied(std::string s) { sink = sink + (long)s.size() + s[0]; }
NOINLINE void view(std::string_view v, int behind) { sink = sink + (long)v.size() + (long)v.data() + behind; }
NOINLINE void list(const std::vector<int> &v, std::vector<Point> *points) { sink = sink + (long)v.size() + (points != nullptr); }
NOINLINE void order(Order &o) { sink = sink + (long)o.name.size() + (long)o.pieces.size() + (long)o.view.size() + (o.text != nullptr); }
NOINLINE void liar(const std::string &s, const std::vector<int> &v, const std::string_view &w)
{
    sink = sink + (long)&s + (long)&v + (long)&w;
}

int main()
{
    std::string small = "short", large(300, 'l'), empty, binary("a\0b\n\xff", 5);
    text(small, &large);
    text(empty, nullptr);
    text(binary, &small);
    copied("by value");
    view("a view of it", 12);
    view("", 12);
    std::vector<int> some = {1, -2, 3}, none, many(1000);
    for (int i = 0; i < 1000; i++)
        many[(size_t)i] = i;
    std::vector<Point> points = {{1, 2}, {3, 4}};
    list(some, &points);
    list(none, nullptr);
    list(many, &points);
    Order o = {"a teapot", {7, 8}, "seen", "plain"};
    order(o);
    // What is where libstdc++ has them: an address, and a length or an end.
    uint64_t words[4] = {(uint64_t)small.data(), 1ull << 60, 0, 0};
    uint64_t ends[3] = {(uint64_t)many.data(), (uint64_t)many.data() + (1ull << 60), 0};
    uint64_t seen[2] = {1ull << 60, 16};
    liar(reinterpret_cast<std::string &>(words), reinterpret_cast<std::vector<int> &>(ends),
         reinterpret_cast<std::string_view &>(seen));
    ends[1] = ends[0] - 4;
    words[0] = 0;
    seen[0] = 0;
    liar(reinterpret_cast<std::string &>(words), reinterpret_cast<std::vector<int> &>(ends),
         reinterpret_cast<std::string_view &>(seen));
}
