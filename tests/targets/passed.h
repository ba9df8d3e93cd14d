/* Classes that clang's debug information of passed.cc only declares: their constructors are in passed_elsewhere.cc and passed_nowhere.cc, which has none. */
#ifndef UPLUA_TESTS_PASSED_H
#define UPLUA_TESTS_PASSED_H

namespace rare {

class Elsewhere {
public:
    explicit Elsewhere(int n);
    Elsewhere(const Elsewhere &other);
    ~Elsewhere();
    void take(int n);
    int v;
};

class Nowhere {
public:
    explicit Nowhere(int n);
    Nowhere(const Nowhere &other);
    ~Nowhere();
    int v;
};

} // namespace rare

#endif
