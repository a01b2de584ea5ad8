// A broker that loses deliveries and brings them again, doubles and delays them, and is full now and then: what the port allows.
// The shipped broker behind a front; when and how often is up to whoever plays time.
#pragma once
#include "broker/broker.h"

// The time and the dice of a test.
struct fault_world {
    bool (*chance)(void *ctx, int in_thousand); // is it one of those times
    int64_t (*between)(void *ctx, int64_t least, int64_t most);
    void (*later)(void *ctx, int64_t delay_ms, void (*then)(void *arg), void *arg); // calls it once, always
    void *ctx;
};

// `inner` is closed with it. What is on its way then is freed when it would have come.
struct broker *faulty_broker_new(struct broker *inner, const struct fault_world *world);
