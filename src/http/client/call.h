// One call: its request, the addresses and the connection it goes to, its answer, its end.
//
// Layer: port (http/client), private to this folder; beginning and cancelling one is in client.h. Everything on the thread that
// polls the client. A call that has ended is told by the end of the poll, so nothing here but http_call_tell() calls done().
#pragma once
#include "base/data/list.h"
#include "http/client/client.h"

void http_call_go_on(struct http_call *call, bool readable); // its connection has something to say, or room
void http_call_end_late(struct http_client *client);         // ends calls whose time is over, or tries their next address
void http_call_tell(struct list *node);                      // one of `ended`: calls done(), and keeps the record
void http_call_free_kept(struct http_client *client);        // the records
