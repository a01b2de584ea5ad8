// A file that is read whole.
// Layer: cli.
#pragma once
#include "base/buf.h"
#include "base/err.h"

// "-" is stdin. False: errno says why; EFBIG when there are more than `max` bytes, of which no more than a few are read.
err_check bool whole_file_read(const char *path, size_t max, struct buf *ret_text);
