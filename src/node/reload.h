// SIGHUP: the settings are read again.
// Layer: node. The main thread's.
#pragma once
#include "node/config.h"

// Takes over what can change while the server runs, and logs one line about that, one about what waits for a restart. What is
// wrong leaves everything as it was, and is logged. True: `config` has changed.
bool reload(struct config *config);
