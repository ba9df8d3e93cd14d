#define TWIN short v, w;
#include "cxx_parameters.h"

namespace rare {

Elsewhere::Elsewhere(int n) : v(n) {}
Elsewhere::Elsewhere(const Elsewhere &other) : v(other.v) {}
Elsewhere::~Elsewhere() { v = 0; }
void Elsewhere::take(int n) { v += n; }

static volatile int sink;
__attribute__((noinline)) static Twin give_other_twin(int a) { sink = a; return {1, (short)a}; }
void call_elsewhere(int n, int) { sink = give_other_twin(n).w; }

} // namespace rare
