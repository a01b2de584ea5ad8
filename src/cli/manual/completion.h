// Completion scripts for shells, made from the table of verbs.
// Layer: cli. Pure.
#pragma once
#include "base/buf.h"

#include <stdbool.h>

bool completion_put(struct buf *buf, const char *shell); // false: no script is known for it
