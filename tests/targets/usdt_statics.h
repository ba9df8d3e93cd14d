/* What the files of usdt_statics have in common. */
#include "../../examples/usdt.h"
#include "noinline.h"

static volatile int in_file;

void other(void);
