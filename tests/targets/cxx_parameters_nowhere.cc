#include "cxx_parameters.h"

namespace rare {

Nowhere::Nowhere(int n) : v(n) {}
Nowhere::Nowhere(const Nowhere &other) : v(other.v) {}
Nowhere::~Nowhere() { v = 0; }

} // namespace rare
