#include "passed.h"

namespace rare {

Elsewhere::Elsewhere(int n) : v(n) {}
Elsewhere::Elsewhere(const Elsewhere &other) : v(other.v) {}
Elsewhere::~Elsewhere() { v = 0; }
void Elsewhere::take(int n) { v += n; }

} // namespace rare
