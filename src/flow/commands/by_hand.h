// The job that somebody asks for by hand.
// Layer: flow. No I/O, clock or thread.
#pragma once
#include "store/jobs.h"

// It is due now. It repeats `old`, or, if that is NULL, is one more of the recurring task that was read.
struct job by_hand_job(struct store_get *get, const struct job *old, int64_t id, int64_t now_ms);
