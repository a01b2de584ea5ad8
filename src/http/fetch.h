// One HTTP request that waits for its answer: what the command line needs. libcurl is known only to fetch.c.
// Layer: port. A fetcher has one owner at a time; it keeps the connection for the next request.
//
// It takes no proxy from the environment, follows no redirect (that is an answer), and reads no password files.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct fetcher;

enum { FETCH_HEADERS_MAX = 8, FETCH_CONNECT_MS = 5000, FETCH_ANSWER_MAX = 32 << 20 };

struct fetch_answer;

struct fetch_header {
    const char *name, *value;
};

struct fetch_request {
    const char *method, *url;
    struct fetch_header headers[FETCH_HEADERS_MAX]; // ends at the first without a name
    struct str body;                                // none is sent for GET
    int64_t timeout_ms;                             // from the first name lookup to the last byte of the answer; 0: none
    int idle_s;                                     // give up when nothing has come for so long; 0: never
    // Takes the body of a success (2xx) as it comes, any length of it; NULL: it is kept in the answer. Returns false to end the
    // transfer.
    bool (*take)(void *ctx, const struct fetch_answer *answer, struct str bytes);
    void *ctx;
};

enum { FETCH_TYPE_SIZE = 64 };

struct fetch_answer {
    bool asked; // the request was begun to be sent: without an answer it is not known what became of it
    int status;
    char type[FETCH_TYPE_SIZE]; // of the body, without parameters, in lower case; "" when the answer does not say
    struct buf body;
};

struct fetcher *fetcher_new(void);
void fetcher_free(struct fetcher *fetcher); // accepts NULL

// True when a whole answer came, whatever its status: its body is the caller's to buf_done(). False when none came or it broke
// off, and `why` says why in words for people (without the URL); ret_answer then has a status only if there was one, and no body.
err_check bool fetch(struct fetcher *fetcher, const struct fetch_request *request, struct fetch_answer *ret_answer,
                     char why[ERR_WHY_MAX]);
