// One level of millisecond slots is enough: the puller claims only what is due within its horizon of 5 s.
// A node that is further away than the wheel is long waits in the furthest slot and is added again from there.
#include "base/data/wheel.h"

#include "base/clock.h"

#include <string.h>

enum { WORDS = WHEEL_SLOTS / 64 };
_Static_assert(WORDS % 64 == 0, "the bits of words fill words");

static void mark_used(struct wheel *wheel, size_t slot)
{
    wheel->used[slot / 64] |= 1ull << slot % 64;
    wheel->used_words[slot / 64 / 64] |= 1ull << slot / 64 % 64;
}

static void mark_empty(struct wheel *wheel, size_t slot)
{
    wheel->used[slot / 64] &= ~(1ull << slot % 64);
    if (!wheel->used[slot / 64])
        wheel->used_words[slot / 64 / 64] &= ~(1ull << slot / 64 % 64);
}

void wheel_init(struct wheel *wheel, int64_t now_ms)
{
    *wheel = (struct wheel){.now_ms = now_ms};
    for (int i = 0; i < WHEEL_SLOTS; i++)
        list_init(&wheel->slots[i]);
}

static size_t slot_of(const struct wheel *wheel, int64_t at_ms)
{
    int64_t at = time_max(at_ms, wheel->now_ms);
    at = time_min(at, wheel->now_ms + WHEEL_SLOTS - 1);
    return (size_t)(at & (WHEEL_SLOTS - 1));
}

void wheel_add(struct wheel *wheel, struct wheel_node *node, int64_t at_ms)
{
    size_t slot = slot_of(wheel, at_ms);
    node->at_ms = at_ms;
    list_append(&wheel->slots[slot], &node->link);
    mark_used(wheel, slot);
    wheel->count++;
}

void wheel_remove(struct wheel *wheel, struct wheel_node *node)
{
    if (!node->link.next)
        return;
    list_remove(&node->link); // the slot's bit may stay: wheel_next then wakes once for nothing
    wheel->count--;
}

// The first word with a used slot, beginning with this one and going round; WORDS when there is none.
static size_t next_word(const struct wheel *wheel, size_t from)
{
    for (size_t i = 0; i <= WORDS / 64; i++) {
        size_t at = (from / 64 + i) % (WORDS / 64);
        uint64_t bits = wheel->used_words[at];
        if (i == 0)
            bits &= ~0ull << from % 64;
        if (bits)
            return at * 64 + (size_t)__builtin_ctzll(bits);
    }
    return WORDS;
}

// Distance from now to the first slot marked as used; WHEEL_SLOTS when there is none.
static int64_t distance(const struct wheel *wheel)
{
    size_t from = (size_t)(wheel->now_ms & (WHEEL_SLOTS - 1)), word = from / 64;
    uint64_t bits = wheel->used[word] & ~0ull << from % 64;
    if (!bits) {
        word = next_word(wheel, (word + 1) % WORDS);
        if (word == WORDS)
            return WHEEL_SLOTS;
        bits = wheel->used[word];
    }
    return (int64_t)((word * 64 + (size_t)__builtin_ctzll(bits) - from) & (WHEEL_SLOTS - 1));
}

int64_t wheel_next(const struct wheel *wheel)
{
    return wheel->count ? wheel->now_ms + distance(wheel) : TIME_NEVER;
}

static int64_t first_at(const struct list *nodes)
{
    return list_entry(nodes->next, struct wheel_node, link)->at_ms;
}

// Merges `more` into `nodes`; both are in order. Of equal times those of `nodes` come first, so sorting keeps their order.
static void merge(struct list *nodes, struct list *more)
{
    struct list merged;
    list_init(&merged);
    while (!list_empty(nodes) && !list_empty(more))
        list_append(&merged, list_take(first_at(more) < first_at(nodes) ? more : nodes));
    list_splice(&merged, nodes);
    list_splice(&merged, more);
    list_splice(nodes, &merged);
}

// A merge sort from the bottom up: runs[i] is empty or holds 2^i nodes that came before those of the smaller runs.
static void sort(struct list *nodes)
{
    struct list runs[48], one;
    for (size_t i = 0; i < array_count(runs); i++)
        list_init(&runs[i]);
    while (!list_empty(nodes)) {
        list_init(&one);
        list_append(&one, list_take(nodes));
        size_t i = 0;
        for (; !list_empty(&runs[i]); i++) {
            merge(&runs[i], &one);
            list_splice(&one, &runs[i]);
        }
        list_splice(&runs[i], &one);
    }
    for (size_t i = 0; i < array_count(runs); i++) {
        merge(&runs[i], nodes);
        list_splice(nodes, &runs[i]);
    }
}

// After a jump. Stepping there slot by slot would add a node that is years away again every 8 s of the way.
static void sort_anew(struct wheel *wheel, int64_t now_ms)
{
    struct list all;
    list_init(&all);
    for (int i = 0; i < WHEEL_SLOTS; i++)
        list_splice(&all, &wheel->slots[i]);
    sort(&all);
    memset(wheel->used, 0, sizeof wheel->used);
    memset(wheel->used_words, 0, sizeof wheel->used_words);
    wheel->count = 0;
    wheel->now_ms = now_ms;
    list_each (&all, link) {
        struct wheel_node *node = list_entry(link, struct wheel_node, link);
        wheel_add(wheel, node, node->at_ms);
    }
}

static void release_slot(struct wheel *wheel, struct list *ret_due)
{
    size_t slot = (size_t)(wheel->now_ms & (WHEEL_SLOTS - 1));
    struct list here;
    list_init(&here);
    list_splice(&here, &wheel->slots[slot]);
    mark_empty(wheel, slot);
    list_each (&here, link) {
        struct wheel_node *node = list_entry(link, struct wheel_node, link);
        wheel->count--;
        if (node->at_ms <= wheel->now_ms)
            list_append(ret_due, link);
        else
            wheel_add(wheel, node, node->at_ms);
    }
}

void wheel_turn(struct wheel *wheel, int64_t now_ms, struct list *ret_due)
{
    // A single millisecond back is waited out: clocks read on two cores differ by as much.
    if (now_ms < wheel->now_ms - 1 || now_ms - wheel->now_ms >= WHEEL_SLOTS)
        sort_anew(wheel, now_ms);
    while (wheel->count) {
        int64_t next = wheel->now_ms + distance(wheel);
        if (next > now_ms)
            break;
        wheel->now_ms = next;
        release_slot(wheel, ret_due);
    }
    wheel->now_ms = time_max(wheel->now_ms, now_ms);
}
