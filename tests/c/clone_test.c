/* What compilers call the functions that they make of others. */
#include "sym/clone.h"

#include <string.h>

#include "tap.h"

static void tells(const char *name, enum clone kind, const char *of)
{
    size_t base;
    enum clone found = clone_of(name, strlen(name), &base);
    is_int(found, kind, "%s", name);
    ok(base == strlen(of) && memcmp(name, of, base) == 0, "  of %s", of);
}

int main(void)
{
    tells("calc", CLONE_NONE, "calc");
    tells("", CLONE_NONE, "");
    tells("calc.constprop.0", CLONE_WHOLE, "calc");
    tells("calc.isra.23", CLONE_WHOLE, "calc");
    tells("calc.isra.0.constprop.101", CLONE_WHOLE, "calc");
    tells("calc.constprop.0.isra.0.lto_priv.1", CLONE_PRIVATE, "calc");
    tells("calc.lto_priv.0", CLONE_PRIVATE, "calc");
    tells("calc.llvm.1234567890", CLONE_PRIVATE, "calc");
    tells("calc.__uniq.12345.llvm.6", CLONE_PRIVATE, "calc");
    tells("calc.specialized.1", CLONE_WHOLE, "calc");
    tells("calc.localalias", CLONE_WHOLE, "calc");
    tells("calc.part.0", CLONE_PART, "calc");
    tells("calc.part.0.constprop.0", CLONE_PART, "calc");
    tells("calc.constprop.0.cold", CLONE_PART, "calc");
    tells("calc.cold", CLONE_PART, "calc");
    tells("calc.cold.7", CLONE_PART, "calc");
    tells("_ZN2ns1fEi.isra.0", CLONE_WHOLE, "_ZN2ns1fEi");

    tells("calc.0", CLONE_NONE, "calc.0");
    tells("calc.isra", CLONE_NONE, "calc.isra");
    tells("calc.isra.", CLONE_NONE, "calc.isra.");
    tells("calc.isra.x", CLONE_NONE, "calc.isra.x");
    tells("calc.isra0", CLONE_NONE, "calc.isra0");
    tells("calc.colder", CLONE_NONE, "calc.colder");
    tells("calc.constprop.0x", CLONE_NONE, "calc.constprop.0x");
    tells("main.go.part", CLONE_NONE, "main.go.part");
    tells("a.b.constprop.0", CLONE_WHOLE, "a.b");
    tells(".constprop.0", CLONE_NONE, ".constprop.0");
    return done_testing();
}
