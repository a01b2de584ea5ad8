// Answers that clients have not taken, and how much memory these may have.
//
// Layer: port (http/server), private to this folder. The HTTP thread owns it. Beyond `bodies_max` bytes of such answers the
// connection that has moved least recently is closed. So clients that do not read neither fill the memory nor keep answers from
// those that do.
#pragma once
#include "base/data/list.h"
#include "http/server/server.h"

struct peer;

struct unsent {
    struct list peers; // the one that moved least recently first
    size_t bytes;
};

void unsent_init(struct unsent *unsent);
void unsent_put(struct peer *peer);    // its client did not take the whole answer at once; or took more of it just now
void unsent_remove(struct peer *peer); // nothing, if it is not among them
void unsent_bound(struct http_server *server);
