// The clients of GET /v1/events: streams of server-sent events.
//
// Layer: api. A thread of its own, `events`, wakes the streams that have something to send; the HTTP thread sends it. What is
// sent is the text of flow/news, which is rendered once for all.
#pragma once
#include "flow/node.h"

struct events;

struct events *events_new(struct node *node, int streams_max);
void events_free(struct events *events); // when the HTTP server has stopped; accepts NULL
int events_count(struct events *events); // streams that are open. Any thread
