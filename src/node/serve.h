// `rota serve`: a node, from its settings to its last breath.
// Layer: node.
#pragma once
#include "node/config.h"

// Runs until SIGTERM or SIGINT; SIGHUP reads the settings again, and changes `config` where that can be done. Returns the exit
// code: 0 after a graceful stop, 1 when it could not start, 2 when a setting is wrong.
int serve(struct config *config);
