/* Symbol names: any bytes. */
#include "sym/demangle.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = strndup((const char *)data, size), *shown = demangle(name);
    for (const unsigned char *at = (const unsigned char *)shown; at && *at; at++)
        if (*at < 0x20 || *at == 0x7f)
            abort();
    if (shown && strlen(shown) > DEMANGLE_MAX)
        abort();
    free(shown);
    free(name);
    return 0;
}
