// Answers: their heads, and the server's own refusals.
//
// Layer: port (http/server), private to this folder; what handlers answer with is in server.h. On the HTTP thread. An answer is
// written into `out` of the request's peer and sent by the peer.
#pragma once
#include "http/server/server.h"

#include <time.h>

// The header Date, made once a second.
struct reply_date {
    time_t at;
    char text[40];
};

// All of a head but what says how long the answer is, and the empty line. Returns where it was written; the request has a peer.
struct buf *reply_put_head(struct http_request *request, int status, const char *type);
void reply_close_file(struct http_file *file); // nothing, if there is none

void reply_refuse(struct http_request *request, enum err err, const char *detail);
// Refuses a request of which nothing more can be read: the connection ends behind the answer.
void reply_refuse_and_close(struct http_request *request, enum err err, const char *detail);
// The same; an answer that was written before and has not begun to be sent is taken back.
void reply_refuse_instead(struct http_request *request, enum err err, const char *detail);
