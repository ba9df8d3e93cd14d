/* Classes that clang's debug information of cxx_parameters.cc only declares: their constructors are in
 * cxx_parameters_elsewhere.cc and cxx_parameters_nowhere.cc, which has none. */
#pragma once

namespace rare
{

class Elsewhere
{
  public:
    explicit Elsewhere(int n);
    Elsewhere(const Elsewhere &other);
    ~Elsewhere();
    void take(int n);
    int v;
};

class Nowhere
{
  public:
    explicit Nowhere(int n);
    Nowhere(const Nowhere &other);
    ~Nowhere();
    int v;
};

/* Two files have one of their own, of one name, size and line. */
#ifdef TWIN
namespace
{
struct Twin {
    TWIN
};
} // namespace
#endif

void call_elsewhere(int n, int unused);

} // namespace rare
