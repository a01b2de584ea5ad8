// The names the resolver knows or looks for, and what was answered for them.
//
// Layer: port (http/client), part of the resolver. One thread. The names that have an answer are kept in the order of their last
// use: 2,048 that have addresses, and as many that have none, so that these do not push out the others.
#pragma once
#include "http/client/lookups.h"
#include "http/client/resolve.h"

enum { NAMES_HOST_MAX = 255 };

// Names in the order of their last use, oldest first.
struct names_kept {
    struct list used;
    int count;
};

struct resolve_name {
    struct list bucket, used;
    struct names_kept *kept; // among which it is; NULL: there is no answer yet, or a new one is looked for
    struct list waiters;
    struct resolver *resolver;
    struct lookup lookup;            // LOOKUP_NONE: none is under way
    struct resolve_channel *channel; // that was asked last
    struct list fresh;               // answered, waiters not told yet
    int64_t until_ns;                // so long the answer is good
    struct resolve_answer answer;
    size_t n;
    char host[NAMES_HOST_MAX + 1]; // lower case
};

enum { NAMES_BUCKETS = 4096 }; // a fixed number, because the number of names is bounded

struct names {
    struct list buckets[NAMES_BUCKETS];
    struct names_kept good, failed;
    struct lookups lookups;
};

void names_init(struct names *names);
void names_done(struct names *names); // frees all of them

struct resolve_name *names_find(struct names *names, struct str host); // NULL: there is none
struct resolve_name *names_add(struct names *names, struct str host);
void names_drop(struct names *names, struct resolve_name *name);

// It has an answer from now on. The one of its kind that was not used for the longest has to go for it.
void names_keep(struct names *names, struct resolve_name *name);
void names_unkeep(struct resolve_name *name); // a new answer is looked for
void names_use(struct resolve_name *name);    // a kept one was used
