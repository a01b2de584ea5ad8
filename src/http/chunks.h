// A body in chunks, as it comes: where its data is, and where it ends.
//
// Layer: port (http), for the client and the server. Pure; one owner at a time. Every line must end with CRLF: a reader that
// takes less sees another end than a proxy that does not.
#pragma once
#include "base/str.h"

#include <stdint.h>

enum { CHUNKS_TALK_MAX = 64 * 1024 }; // bytes behind sizes and behind the last chunk

enum chunks_step {
    CHUNKS_MORE, // all was read, and there is more to come
    CHUNKS_DATA, // here is some data; go on
    CHUNKS_END,  // that was the last of it
    CHUNKS_BAD,  // `why`
};

struct chunks {
    enum chunks_at { CHUNKS_SIZE, CHUNKS_REST, CHUNKS_LF, CHUNKS_IN, CHUNKS_CR, CHUNKS_TRAILER, CHUNKS_TRAILER_REST } at;
    enum chunks_at then; // behind the LF
    bool lenient;        // blanks behind a size are passed over: some targets fill it up with them
    uint64_t left;       // of the chunk
    int digits;
    size_t talk_n;
    const char *why;
};

// Begins with a struct that is zeroed but for `lenient`. Reads from the front of *bytes and leaves there what stands behind.
enum chunks_step chunks_read(struct chunks *chunks, struct str *bytes, struct str *ret_data);
