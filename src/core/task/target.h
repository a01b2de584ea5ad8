// A target: what a job is for. A task has exactly one. Its kind decides which fields the document may have, and how a job gets
// to it.
// Layer: core, pure.
#pragma once
#include "core/task/target_http.h"

enum target_kind {
    TARGET_NONE, // of a document that cannot be read
    TARGET_HTTP,
    TARGET_KIND_COUNT
};

struct target {
    enum target_kind kind;
    union { // all zero for TARGET_NONE
        struct target_http http;
    };
};

// How a job gets to its target. Stores keep these numbers, so a new one is added behind the others.
enum target_dispatch {
    TARGET_NOT_DISPATCHED,
    TARGET_CALLED,     // a puller claims it, and an executor calls the target
    TARGET_HANDED_OUT, // whoever does such work asks for it; a puller never claims it
    TARGET_DISPATCH_COUNT
};

// Whom a target calls. Hosts share the slots of a lane fairly.
struct target_host {
    struct str name;
    uint16_t port;
};

// What a kind of target says of itself.
struct target_rule {
    const struct field_form *form; // which fields of a task belong to it, and which of them it must have
    enum target_dispatch dispatch;
    int64_t timeout_ms; // of an attempt, unless the task says otherwise; -1: it has no end
    bool (*host)(const struct target *target, struct target_host *ret_host); // NULL: it calls none
};

const struct target_rule *target_rule(enum target_kind kind);

bool target_host(const struct target *target, struct target_host *ret_host); // false: it calls none
