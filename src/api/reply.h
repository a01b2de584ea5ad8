// Answers: JSON documents, and refusals as RFC 9457 problem documents.
// Layer: api. HTTP thread; problem_put is pure.
#pragma once
#include "core/problem.h"
#include "http/server/server.h"

// The members type, title, status, detail, code and (when there is one) field, without the braces.
void problem_put(struct buf *buf, const struct problem *problem);

// Answers with the problem: request_id in the document and as header, Retry-After where trying again may help.
void problem_reply(struct http_request *request, const struct problem *problem);

// The same from its parts. `field` may be NULL.
void problem_say(struct http_request *request, enum err err, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// Sets the ETag of a task.
void reply_version(struct http_request *request, int64_t version);

// Answers with a JSON document, and a line feed for those who read it in a terminal.
void reply_json(struct http_request *request, int status, struct buf *body);

// Answers for an operation of store, admit or commands that failed as a whole. `why` goes to the log when it is rota's own
// mistake.
void problem_store(struct http_request *request, enum err err, const char *why);
