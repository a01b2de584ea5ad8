// What `rota submit` sends.
// Layer: cli. Here so that the unit tests see it.
#pragma once
#include "base/buf.h"
#include "cli/verb.h"

// The task's JSON object. False: `why` says which option cannot be used, and how it can. Reads the file of --body @FILE.
err_check bool submit_build(struct buf *buf, const struct options *options, char why[ERR_WHY_MAX]);
