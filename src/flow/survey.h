// The tender that walks round the lanes: finds those nobody told this node of, and marks as ready what is due without being
// claimed.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/node.h"

struct survey;
struct peers;

struct survey *survey_new(struct node *node, const struct peers *peers);
void survey_free(struct survey *survey);
int64_t survey_turn(struct survey *survey, struct now now); // on the wall clock: when to turn again
