// A listening socket that the service manager has opened for us: systemd's socket activation.
// Layer: node. One thread, before others are started.
#pragma once
#include "base/err.h"

#include <stdbool.h>

enum { ACTIVATION_NAME_MAX = 64 };

// Looks for it in LISTEN_FDS and LISTEN_PID, which are taken out of the environment. *ret_fd is 0 when none was passed; else
// ret_name is its address, "127.0.0.1:7070". False: what was passed cannot be used, and `why` says why.
err_check bool activation_take(int *ret_fd, char ret_name[ACTIVATION_NAME_MAX], char why[ERR_WHY_MAX]);
