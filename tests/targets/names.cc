// One name, total, that means another variable in each function, which prints it.
#include <cstdio>

#include "noinline.h"

#define SAY(where) std::printf(where " %d\n", static_cast<int>(total))

volatile int total = 1;
volatile int unused = 2; // which nothing uses: the linker drops it

namespace outer
{
volatile int total = 10;
NOINLINE void in_outer(int)
{
    SAY("outer::in_outer");
}
namespace inner
{
volatile int other = 11;
NOINLINE void in_inner(int)
{
    SAY("outer::inner::in_inner");
}
} // namespace inner
inline namespace version
{
volatile int versioned = 12;
}
} // namespace outer

struct Base {
    static volatile int total;
    int own;
    NOINLINE void in_base(int)
    {
        SAY("Base::in_base");
    }
};
volatile int Base::total = 20;

struct Derived : Base {
    NOINLINE void in_derived(int)
    {
        SAY("Derived::in_derived");
    }
    struct Nested {
        int own;
        NOINLINE void in_nested(int)
        {
            SAY("Derived::Nested::in_nested");
        }
    };
};

struct Member {
    volatile int total = 30;
    NOINLINE void in_member(int)
    {
        SAY("Member::in_member");
    }
};

struct DerivedMember : Member {
    NOINLINE void in_derived_member(int)
    {
        SAY("DerivedMember::in_derived_member");
    }
};

namespace declares
{
using outer::total;
NOINLINE void in_declares(int)
{
    SAY("declares::in_declares");
}
} // namespace declares

namespace directs
{
namespace target
{
volatile int total = 40;
}
using namespace target;
NOINLINE void in_directs(int)
{
    SAY("directs::in_directs");
}
} // namespace directs

namespace inlines
{
inline namespace first
{
volatile int total = 50;
}
NOINLINE void in_inlines(int)
{
    SAY("inlines::in_inlines");
}
} // namespace inlines

namespace unnamed
{
namespace
{
volatile int total = 60;
}
NOINLINE void in_unnamed(int)
{
    SAY("unnamed::in_unnamed");
}
} // namespace unnamed

template <class T> struct Template {
    static volatile int total;
    T own;
    NOINLINE void in_template(int)
    {
        SAY("Template::in_template");
    }
};
template <class T> volatile int Template<T>::total = 70;

namespace constants
{
enum { total = 80 };
NOINLINE void in_constants(int)
{
    SAY("constants::in_constants");
}
} // namespace constants

namespace functions
{
NOINLINE int total(int i)
{
    std::printf("functions::total %d\n", i);
    return i;
}
NOINLINE void in_functions(int i)
{
    total(i);
}
} // namespace functions

NOINLINE void in_using(int)
{
    using outer::total;
    SAY("in_using");
}

struct Friendly {
    static volatile int total;
    friend NOINLINE void befriended(Friendly &, int)
    {
        SAY("befriended");
    }
};
volatile int Friendly::total = 90;

namespace spaced
{
// Behind a class that has such a name, too, but not inside of it.
NOINLINE void in_spaced(int)
{
    SAY("spaced::in_spaced");
}
} // namespace spaced

struct Around {
    static volatile int total;
    NOINLINE void run(int i)
    {
        auto lambda = [](int) NOINLINE { SAY("Around::run::lambda"); };
        lambda(i);
    }
};
volatile int Around::total = 100;

NOINLINE void captures(int i)
{
    int total = i;
    auto lambda = [total](int) NOINLINE { SAY("captures::lambda"); };
    lambda(i);
}

// At the entry the first instructions are those of what is inlined, whose total is another one.
namespace callee
{
volatile int total = 110;
inline __attribute__((always_inline)) void inlined()
{
    total = total + 1;
}
} // namespace callee

NOINLINE void in_caller(int)
{
    callee::inlined();
    SAY("in_caller");
}

NOINLINE void grow()
{
    total = total + 1;
    outer::total = outer::total + 1;
    Base::total = Base::total + 1;
    directs::target::total = directs::target::total + 1;
    inlines::total = inlines::total + 1;
    unnamed::total = unnamed::total + 1;
    Template<int>::total = Template<int>::total + 1;
    Friendly::total = Friendly::total + 1;
    Around::total = Around::total + 1;
}

// A function of the class that code is inlined from has the name of the caller's variable.
struct Named {
    int kept;
    static int total(int i)
    {
        return i;
    }
    __attribute__((always_inline)) void put(int i)
    {
        kept = kept + i; /* LINE put */
    }
};
NOINLINE void in_caller_of_member(int i)
{
    volatile int total = 3 * i + 1;
    Named named = {total};
    named.put(i);
    outer::inner::other = named.kept;
    SAY("in_caller_of_member");
}

int main()
{
    Derived derived;
    Derived::Nested nested;
    Member member;
    DerivedMember derived_member;
    Template<int> of_int;
    Friendly friendly;
    Around around;
    for (int i = 0; i < 5; i++) {
        outer::in_outer(i);
        outer::inner::in_inner(i);
        derived.in_base(i);
        derived.in_derived(i);
        nested.in_nested(i);
        member.in_member(i);
        derived_member.in_derived_member(i);
        declares::in_declares(i);
        directs::in_directs(i);
        inlines::in_inlines(i);
        unnamed::in_unnamed(i);
        of_int.in_template(i);
        constants::in_constants(i);
        functions::in_functions(i);
        in_using(i);
        befriended(friendly, i);
        spaced::in_spaced(i);
        around.run(i);
        captures(i);
        in_caller(i);
        in_caller_of_member(i);
        grow();
    }
    return 0;
}
