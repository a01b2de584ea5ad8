// Entity tags: the versions of a task that an If-Match names.
// Layer: core, pure.
#pragma once
#include "base/str.h"

#include <stdint.h>

// How many versions a list of so many bytes can name.
static inline size_t etag_most(struct str list)
{
    return list.n / 2 + 1;
}

// Reads a list of tags ("3", W/"x"), and writes a version for each into ret_versions, which has room for etag_most() of them. A
// tag that is no version, or weak and so no proof that nothing has changed, is 0, which no task has. Returns how many; 0: that is
// no such list.
size_t etag_versions(struct str list, int64_t *ret_versions);
