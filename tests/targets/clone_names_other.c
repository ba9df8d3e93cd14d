/* Another file of clone_names, with a static function of the same name as a global one there. */
#include "clone_names.h"

CLONE("shared", shared)
CLONE("shared.constprop.0", shared_clone)

void call_others(void)
{
    call(shared, 31);
    call(shared_clone, 37);
}
