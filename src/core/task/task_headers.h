// What the headers of a request say of its task: `Idempotency-Key` is the field `key`, `traceparent` the field of that name. It
// becomes part of the document, and what is stored is checked as a whole before it is acknowledged.
// Layer: core, pure but for the arena.
#pragma once
#include "core/task/task.h"

struct task_headers {
    struct str key, traceparent; // .n == 0: the request has none
};

// NULL when the value of the header may be a key, else a sentence that says what is right.
const char *task_headers_key_wrong(struct str value);

// The task gets the key of the header. ERR_INVALID_FIELD: it has another one of its own.
err_check enum err task_headers_key(const struct task_headers *headers, struct task *task, struct problem *why);

// The document as it is to be stored: `doc`, of which `task` was read, and what of `headers` it does not say itself. Both are
// left as they are when that is nothing; otherwise `task` is read afresh from the new document. ERR_TOO_LARGE: it would not fit.
err_check enum err task_headers_document(const struct task_headers *headers, struct task *task, struct json doc,
                                         struct arena *arena, struct str *ret_doc, struct problem *why);
