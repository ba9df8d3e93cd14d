/* What a service tells the one that has started it, systemd or another that speaks its protocol: sd_notify(3). */
#pragma once

#include <stdint.h>

#include "base/error.h"

/*
 * Sends TEXT, lines such as "READY=1", to $NOTIFY_SOCKET. 0, also where that is not set, or a negative errno with ERR.
 */
int notify_send(const char *text, struct error *err);
