// Reads what a target answers, HTTP/1.x, piece by piece as it comes.
//
// Layer: port (http), part of the client. Pure: bytes in, what they mean out; no socket. One owner at a time. Strict where two
// readers could see different ends of one answer, lenient where nobody could be misled (a line may end without CR).
#pragma once
#include "base/buf.h"
#include "http/chunks.h"

enum {
    ANSWER_HEAD_MAX = 64 * 1024, // of all heads together, with those of 1xx answers
    ANSWER_RETRY_MAX = 64,
};

enum answer_step {
    ANSWER_MORE, // there is more to come
    ANSWER_DONE, // it is complete
    ANSWER_CUT,  // take() wants no more of the body
    ANSWER_BAD,  // it is none: `why`
};

struct answer {
    int status;                         // 0: none came yet
    bool keep;                          // the connection may be used again
    bool async;                         // Rota-Async: 1
    char retry_after[ANSWER_RETRY_MAX]; // as it came
    size_t retry_after_n;
    const char *why;
    bool (*take)(void *ctx, struct str body); // false: no more of it
    void *ctx;
    // The reader's own
    enum answer_at { AT_HEAD, AT_LENGTH, AT_CHUNKS, AT_CLOSE } at;
    struct buf line; // the beginning of a line whose end has not come
    size_t head_n;   // bytes of lines up to now
    uint64_t left;   // of a body whose length is known
    struct chunks chunks;
    int64_t length;      // as the head says; -1: it does not
    bool begun;          // the status line has been read
    bool closes;         // the target will, as the head says
    bool chunked, coded; // as the head says; coded: in a way that is not understood
};

// Before the first answer of each call. What `line` has allocated is kept; answer_done() frees it.
void answer_begin(struct answer *answer, bool (*take)(void *ctx, struct str body), void *ctx);
void answer_done(struct answer *answer);

// Reads on. Of what stands behind the end nothing is read, and the connection is not to be kept then.
enum answer_step answer_read(struct answer *answer, struct str bytes);
enum answer_step answer_closed(struct answer *answer); // the connection has ended
