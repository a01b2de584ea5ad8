// Liveness is judged by counters and this process's own monotonic clock, never by comparing wall clocks: a peer whose counter was
// seen standing still for BEAT_DEAD_MS is silent. What follows is for flow/tend/reap to do.
#include "flow/peers/peers.h"

#include "base/data/map.h"
#include "base/mem.h"
#include "flow/tend/beat.h"

#include <stdlib.h>

struct peer {
    int64_t incarnation, beat;
    int64_t since_ms; // monotonic: when its counter was first seen where it stands
    bool pulls;
    bool dead; // the store says so
    bool gone; // was not in the last list
};

struct peers {
    struct node *node;
    bool alone;
    struct map all; // incarnation -> struct peer
    int64_t saw_at; // monotonic: when a beat last showed the others
};

struct peers *peers_new(struct node *node)
{
    struct peers *peers = mem_zero(sizeof *peers);
    peers->node = node;
    return peers;
}

void peers_free(struct peers *peers)
{
    if (!peers)
        return;
    int64_t id;
    size_t at = 0;
    for (struct peer *peer; (peer = map_next(&peers->all, &at, &id));)
        mem_free(peer);
    map_done(&peers->all);
    mem_free(peers);
}

void peers_alone(struct peers *peers, bool alone)
{
    peers->alone = alone;
}

bool peers_are_none(const struct peers *peers)
{
    return peers->alone;
}

// Jobs that the peer added, and those that it gave back when it stopped, wait in lanes that this node may take for empty.
static void note_gone(struct peers *peers)
{
    atomic_store(&peers->node->lane_scan_wanted, true);
}

void peers_forget(struct peers *peers, int64_t incarnation)
{
    note_gone(peers);
    mem_free(map_remove(&peers->all, incarnation));
}

static void drop_gone(struct peers *peers)
{
    for (bool again = true; again;) { // removal moves entries, so the walk starts anew
        again = false;
        int64_t id;
        size_t at = 0;
        for (struct peer *peer; !again && (peer = map_next(&peers->all, &at, &id));)
            if (peer->gone) {
                peers_forget(peers, peer->incarnation);
                again = true;
            }
    }
}

void peers_saw(struct peers *peers, const struct store_peer *seen, size_t count, struct now now)
{
    int64_t id;
    size_t at = 0;
    // A node that did not see the others for a while cannot say that they stood still meanwhile: when the store was away from
    // everybody, the first one back would declare all the others dead.
    bool blind = now.mono_ms - peers->saw_at > BEAT_ALIVE_MS;
    peers->saw_at = now.mono_ms;
    for (struct peer *peer; (peer = map_next(&peers->all, &at, &id));)
        peer->gone = true;
    for (size_t i = 0; i < count; i++) {
        struct peer *peer = map_get(&peers->all, seen[i].incarnation);
        if (!peer) {
            peer = mem_zero(sizeof *peer);
            *peer = (struct peer){.incarnation = seen[i].incarnation, .beat = seen[i].beat, .since_ms = now.mono_ms};
            map_put(&peers->all, peer->incarnation, peer);
        }
        if (blind || peer->beat != seen[i].beat) {
            peer->beat = seen[i].beat;
            peer->since_ms = now.mono_ms;
        }
        peer->pulls = seen[i].pulls;
        if (seen[i].dead && !peer->dead)
            note_gone(peers);
        peer->dead = seen[i].dead;
        peer->gone = false;
    }
    drop_gone(peers);
}

static bool is_silent(const struct peers *peers, const struct peer *peer, struct now now)
{
    return peer->dead || peers->alone || now.mono_ms - peer->since_ms >= BEAT_DEAD_MS;
}

bool peers_find_silent(const struct peers *peers, struct now now, int64_t *ret_incarnation, int64_t *ret_beat)
{
    int64_t id;
    size_t at = 0;
    for (const struct peer *peer; (peer = map_next(&peers->all, &at, &id));)
        if (!peer->gone && is_silent(peers, peer, now)) {
            *ret_incarnation = peer->incarnation;
            *ret_beat = peer->beat;
            return true;
        }
    return false;
}

static int compare_ids(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

size_t peers_pullers(const struct peers *peers, struct now now, int64_t ret_ids[PEERS_MAX + 1])
{
    int64_t id;
    size_t at = 0, count = 0;
    if (!peers->saw_at || now.mono_ms - peers->saw_at > BEAT_ALIVE_MS)
        return 0;
    ret_ids[count++] = atomic_load(&peers->node->incarnation);
    for (const struct peer *peer; (peer = map_next(&peers->all, &at, &id)) && count <= PEERS_MAX;)
        if (!peer->gone && peer->pulls && !is_silent(peers, peer, now))
            ret_ids[count++] = peer->incarnation;
    qsort(ret_ids, count, sizeof *ret_ids, compare_ids);
    return count;
}

static bool has_peer(const struct peers *peers, bool idle_only)
{
    int64_t id;
    size_t at = 0;
    for (const struct peer *peer; (peer = map_next(&peers->all, &at, &id));)
        if (!peer->gone && !peer->dead && !(idle_only && peer->pulls))
            return true;
    return false;
}

bool peers_lives(const struct peers *peers, int64_t incarnation)
{
    const struct peer *peer = map_get(&peers->all, incarnation);
    return peer && !peer->gone && !peer->dead;
}

bool peers_has_company(const struct peers *peers)
{
    return has_peer(peers, false);
}

bool peers_has_idle(const struct peers *peers)
{
    return has_peer(peers, true);
}
