// Ids: 63-bit numbers that grow with time and are made without asking anybody, and their text.
// Layer: core, pure. An id_maker has one owner at a time.
#pragma once
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

// | 42 bits milliseconds since 2020 | 9 bits counter | 12 bits node |. A full counter runs into the next
// millisecond, so a maker never waits and never repeats; two live nodes never share a number.
//
// A database gives out node numbers of one range, which is its own: so ids that are made on two databases differ.
//
// Ids of before had 12 bits of counter and 9 bits of node. No new id of the same database equals one of them. All databases of
// before have range 0, where both kinds have the node's number in their lowest 9 bits: so two nodes that live at the same time
// make different ids, whichever kind each of them makes. And a node that gets the number of one that is gone begins above the
// largest id of the database (the floor of JOIN); what the one that is gone still sends is refused.
enum {
    ID_NODE_BITS = 12,
    ID_NODES = 1 << ID_NODE_BITS,
    ID_RANGE_NODES = 512, // node numbers of one range: as many processes may share a database
    ID_RANGES = ID_NODES / ID_RANGE_NODES,
    ID_TEXT_SIZE = 16
};

struct id_maker {
    int64_t last_tick;
    int node;
};

// `floor` is the largest id known to the store: a clock that was set back does not lead to ids used before.
void id_maker_init(struct id_maker *maker, int node, int64_t floor);
int64_t id_make(struct id_maker *maker, int64_t wall_ms);

// The kinds of ids, which differ in their first letter: a task's first job has the task's number.
enum id_kind { ID_TASK = 't', ID_JOB = 'j', ID_INCARNATION = 'i', ID_BULK = 'b' };

int64_t id_time(int64_t id); // when it was made, in wall-clock milliseconds

void id_format(char ret_text[ID_TEXT_SIZE], enum id_kind kind, int64_t id);
bool id_parse(struct str text, enum id_kind kind, int64_t *ret_id); // 0 is no id and is refused
