// Two stores that are asked the same: operations at random, each made twice, and answers as text.
#pragma once
#include "store_support.h"

enum { IDS = 40, HOLDERS = 4, HORIZON = 60, BULKS = 4, LANES = 12 }; // ids and times are drawn from such ranges

struct pair {
    struct world *worlds[2]; // the reference, the other
    struct rand rand;
    int64_t next_id;
    const char *scheme; // of the other
    uint64_t seed;
    int step;
};

// Both are asked, and must say the same (same_answers.c).
void ask_both(struct pair *pair, struct store_op *ops[2]);

// One operation for each of the two, drawn from the pair's dice (same_steps.c).
void some_step(struct pair *pair, struct store_op *ret_ops[2]);
int64_t below(struct pair *pair, int64_t limit); // a throw of the dice

#define BOTH(type, verb, ...)                                                                             \
    for (int i = 0; i < 2; i++) {                                                                         \
        struct type *op = OP(pair->worlds[i], type, verb);                                                \
        struct type with = {__VA_ARGS__};                                                                 \
        memcpy((char *)op + sizeof op->op, (char *)&with + sizeof with.op, sizeof with - sizeof with.op); \
        ops[i] = &op->op;                                                                                 \
    }
