// The clients of GET /v1/events: streams of server-sent events.
//
// Layer: api. A thread of its own, `events`, wakes the streams that have something to send; the HTTP thread sends it. What is
// sent is the text of flow/events, which is rendered once for all.
#pragma once
#include "flow/node.h"

struct event_streams;

struct event_streams *event_streams_new(struct node *node, int streams_max);
void event_streams_free(struct event_streams *events); // when the HTTP server has stopped; accepts NULL
int event_streams_count(struct event_streams *events); // streams that are open. Any thread
