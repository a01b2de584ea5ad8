// One table of everything that can go wrong: its stable code, its HTTP status, whether trying again may help.
// Layer: base. Functions that can fail for more than one reason return enum err; detail goes into a `why` text.
#pragma once
#include <stdbool.h>

// name, code seen by users, HTTP status, may the same call succeed later, title
#define ERR_LIST(X)                                                                                \
    X(OK, "ok", 200, false, "Done")                                                                \
    X(BAD_REQUEST, "bad_request", 400, false, "The request is not understood")                     \
    X(INVALID_JSON, "invalid_json", 400, false, "The body is not valid JSON")                      \
    X(UNAUTHORIZED, "unauthorized", 401, false, "The API key is missing or wrong")                 \
    X(FORBIDDEN, "forbidden", 403, false, "Not allowed")                                           \
    X(NOT_FOUND, "not_found", 404, false, "There is nothing here")                                 \
    X(METHOD_NOT_ALLOWED, "method_not_allowed", 405, false, "This path does not take that method") \
    X(REQUEST_TIMEOUT, "request_timeout", 408, true, "The request did not arrive in time")         \
    X(KEY_REUSED, "key_reused", 409, false, "The idempotency key belongs to another task")         \
    X(KEY_SPENT, "key_spent", 409, false, "The task of this idempotency key was deleted")          \
    X(LEASE_LOST, "lease_lost", 409, false, "The token is no longer valid")                        \
    X(MOVED_ON, "moved_on", 409, false, "Somebody else has changed it meanwhile")                  \
    X(ILLEGAL_TRANSITION, "illegal_transition", 409, false, "The job's state does not allow this") \
    X(QUEUE_NOT_EMPTY, "queue_not_empty", 409, false, "The queue has jobs that have not ended")    \
    X(QUEUE_PAUSED, "queue_paused", 409, false, "The queue is paused")                             \
    X(UNSUPPORTED, "unsupported", 409, false, "This store does not do that")                       \
    X(VERSION_MISMATCH, "version_mismatch", 412, false, "The task has changed since")              \
    X(TOO_LARGE, "too_large", 413, false, "Too large")                                             \
    X(UNSUPPORTED_TYPE, "unsupported_type", 415, false, "The content type is not supported")       \
    X(NOT_HERE, "not_here", 421, false, "Another node takes such requests")                        \
    X(INVALID_FIELD, "invalid_field", 422, false, "A field has a value that is not allowed")       \
    X(UNKNOWN_FIELD, "unknown_field", 422, false, "A field is not known")                          \
    X(MISSING_FIELD, "missing_field", 422, false, "A field is missing")                            \
    X(CRON_NEVER, "cron_never", 422, false, "The schedule would never run")                        \
    X(HEADERS_TOO_LARGE, "headers_too_large", 431, false, "The request's headers are too large")   \
    X(INTERNAL, "internal", 500, false, "rota made a mistake")                                     \
    X(STORE_UNAVAILABLE, "store_unavailable", 503, true, "The store cannot be reached")            \
    X(STORAGE_FULL, "storage_full", 503, true, "The disk is full")                                 \
    X(STORE_LOST, "store_lost", 503, true, "The store's files are not where they were")            \
    X(STOPPING, "stopping", 503, true, "This server is stopping")                                  \
    X(BUSY, "busy", 503, true, "Too much at once")                                                 \
    X(FENCED, "fenced", 503, true, "This process was declared dead by the others")

enum err {
#define X(name, code, status, retry, title) ERR_##name,
    ERR_LIST(X)
#undef X
        ERR_COUNT
};

struct err_info {
    const char *code;
    int status;
    bool may_retry;
    const char *title;
};

// What the table says of `err`. Never NULL.
const struct err_info *err_info(enum err err);

#define err_check __attribute__((warn_unused_result))

// Room for the message of a foreign library or of a refusal.
#define ERR_WHY_MAX 256
