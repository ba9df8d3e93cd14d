/* The table by which Lua finds the functions of C that it calls by FFI: no symbols, which a static file has none of. */
#include "lua/natives.h"

#include <arpa/inet.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "map/map.h"
#include "map/merge.h"
#include "map/recorder.h"
#include "map/ring.h"
#include "map/var.h"
#include "scan/scan.h"
#include "sym/fold.h"
#include "sym/symbols.h"
#include "sys/exit_hold.h"
#include "sys/realtime.h"
#include "sys/timeline.h"

#include "natives_table.h" /* which `make` writes */

#define POINTER(name) .name = name,

const void *natives_table(void)
{
    static const struct natives natives = {NATIVES(POINTER)};
    return &natives;
}
