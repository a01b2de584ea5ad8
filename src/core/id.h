// Ids: 63-bit numbers that grow with time and are made without asking anybody, and their text.
// Layer: core, pure. An id_maker has one owner at a time.
#pragma once
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

// | 42 bits milliseconds since 2020 | 12 bits counter | 9 bits node |. A full counter runs into the next
// millisecond, so a maker never waits and never repeats; two live nodes never share a number.
enum { ID_NODE_BITS = 9, ID_NODES = 1 << ID_NODE_BITS, ID_TEXT_SIZE = 16 };

struct id_maker {
    int64_t last_tick;
    int node;
};

// `floor` is the largest id known to the store: a clock that was set back does not lead to ids used before.
void id_maker_init(struct id_maker *maker, int node, int64_t floor);
int64_t id_make(struct id_maker *maker, int64_t wall_ms);

// The kinds of ids, told apart by their first letter: a task's first job has the task's number.
enum id_kind { ID_TASK = 't', ID_JOB = 'j', ID_INCARNATION = 'i', ID_BULK = 'b' };

int64_t id_time(int64_t id); // when it was made, in wall-clock milliseconds

void id_format(char ret_text[ID_TEXT_SIZE], enum id_kind kind, int64_t id);
bool id_parse(struct str text, enum id_kind kind, int64_t *ret_id); // 0 is no id and is refused
