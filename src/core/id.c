// Text is the kind's letter and 13 digits of base 32 without i, l, o and u; it sorts as the numbers do.
#include "core/id.h"

#include <assert.h>

static const int64_t EPOCH_MS = 1577836800000; // 2020-01-01
// A clock that is wrong by a century must not make negative ids: later than this (2159) only the counter goes on.
static const int64_t SPAN_MS = (1ll << 42) - (1ll << 30);
enum { COUNTER_BITS = 9, DIGITS = 13 };
static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

void id_maker_init(struct id_maker *maker, int node, int64_t floor)
{
    assert(node >= 0 && node < ID_NODES);
    *maker = (struct id_maker){.last_tick = floor >> ID_NODE_BITS, .node = node};
}

int64_t id_make(struct id_maker *maker, int64_t wall_ms)
{
    int64_t ms = wall_ms < EPOCH_MS ? 0 : wall_ms - EPOCH_MS;
    int64_t tick = (ms < SPAN_MS ? ms : SPAN_MS) << COUNTER_BITS;
    if (tick <= maker->last_tick)
        tick = maker->last_tick + 1;
    maker->last_tick = tick;
    return tick << ID_NODE_BITS | maker->node;
}

int64_t id_time(int64_t id)
{
    return EPOCH_MS + (id >> (COUNTER_BITS + ID_NODE_BITS));
}

void id_format(char ret_text[ID_TEXT_SIZE], enum id_kind kind, int64_t id)
{
    ret_text[0] = (char)kind;
    for (int i = DIGITS; i > 0; i--, id >>= 5)
        ret_text[i] = alphabet[id & 31];
    ret_text[DIGITS + 1] = 0;
}

bool id_parse(struct str text, enum id_kind kind, int64_t *ret_id)
{
    if (text.n != DIGITS + 1 || text.p[0] != (char)kind)
        return false;
    uint64_t id = 0;
    for (int i = 1; i <= DIGITS; i++) {
        const char *digit = text.p[i] ? strchr(alphabet, text.p[i]) : NULL;
        if (!digit || id >> 58)
            return false;
        id = id << 5 | (uint64_t)(digit - alphabet);
    }
    if (!id)
        return false;
    *ret_id = (int64_t)id;
    return true;
}
