/* Shared objects by their kinds. */
#include "compile/context/shared.h"

bool object_is_aggregate(const struct shared *object)
{
    return object->kind >= OBJECT_COUNT && object->kind <= OBJECT_HDR;
}
