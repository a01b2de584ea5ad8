// Nothing is written while nobody listens. A node with a client says so with its beat, and reads what others put out until, a
// while after the last client left, it says the opposite. The others see it with their next beat, begin to put out what happens
// (they relay), and say that with another beat at once. When all nodes that live have said so, nothing is missed from then on,
// and the clients learn that (`ready`).
//
// Beats that change what is said come one after the other (`in_turn`), so of a node that begins to listen and one that wants to
// stop relaying, the later sees the earlier. A node that has just joined relays until a beat has shown that nobody listens.
//
// Events travel in lots, numbered by their source. A number that is missing (the database crashed, or this process slept too
// long) becomes a gap that the clients see.
#include "flow/peers/event_relay.h"

#include "base/mem.h"
#include "flow/peers/peers.h"
#include "store/journal.h"

enum {
    LINGER_MS = 60000, // events are kept so long for clients that come back
    RELAY_MS = 100,    // from one lot to the next
    POLL_MS = 200,
    BEAT_AGAIN_MS = 250, // while it waits for the others
    COMPANY_MS = 10000,  // nodes that left may have put out events just before
    FAIL_WAIT_MS = 500,
    LOTS_MAX = 50, // of each source at once
    SOURCES_MAX = 512,
};

enum step { OFF, ASKING, CALLING, READY }; // ASKING: where to begin; CALLING: the others do not all relay yet; READY: they do

struct event_relay {
    struct node *node;
    const struct peers *peers;
    struct mailbox answers;
    enum step step;
    int64_t life;                   // the incarnation all this was said by
    bool said_listens, said_relays; // with the last beat that was written
    bool sent_listens, sent_relays; // with the one under way
    bool relays;                    // what is to be said
    int64_t client_at;              // monotonic: when there last was a client
    int64_t company_at;             // … when there last was another node
    int64_t call_at;                // … when the others were last looked at
    int64_t relay_at, poll_at;      // … not before
    bool relaying, polling;         // an operation is under way
    int64_t source;                 // under which this process relays
    int64_t number;                 // of the latest lot
    struct buf lot;                 // being written
    struct store_relay write;
    struct store_events poll;
    struct store_event_place known[SOURCES_MAX]; // newest last
    size_t known_count;
};

struct event_relay *event_relay_new(struct node *node, const struct peers *peers)
{
    struct event_relay *relay = mem_zero(sizeof *relay);
    relay->node = node;
    relay->peers = peers;
    mailbox_init(&relay->answers, node->flow_waker);
    return relay;
}

void event_relay_free(struct event_relay *relay)
{
    if (!relay)
        return;
    store_op_done(&relay->write.op); // of answers that came too late
    store_op_done(&relay->poll.op);
    buf_done(&relay->lot);
    mailbox_done(&relay->answers);
    mem_free(relay);
}

// ---- what is said with the beat

void event_relay_joined(struct event_relay *relay, bool alone)
{
    if (!relay)
        return;
    relay->life = atomic_load(&relay->node->incarnation);
    relay->said_listens = false;
    relay->said_relays = true;
    relay->relays = !alone;
    if (!relay->source)
        relay->source = relay->life;
    events_put_out(relay->node->events, relay->relays);
    if (relay->step < CALLING)
        return;
    // The others do not know this life, and may have stopped relaying to the one before.
    relay->step = CALLING;
    events_emit(relay->node->events,
                &(struct event_item){.type = EVENT_GAP, .reason = STR("this node was declared dead by others")});
}

void event_relay_fill(struct event_relay *relay, struct store_beat *beat)
{
    if (!relay)
        return;
    beat->listens = relay->sent_listens = relay->step >= CALLING;
    beat->relays = relay->sent_relays = relay->relays;
    beat->in_turn = beat->listens != relay->said_listens || beat->relays != relay->said_relays;
}

// Whether a node listens, and whether all that live relay.
static void look_at(const struct store_beat *beat, bool *ret_listened, bool *ret_relayed)
{
    *ret_listened = false;
    *ret_relayed = true;
    for (size_t i = 0; i < beat->peer_count; i++) {
        if (beat->peers[i].dead)
            continue;
        *ret_listened |= beat->peers[i].listens;
        *ret_relayed &= beat->peers[i].relays;
    }
}

void event_relay_saw(struct event_relay *relay, const struct store_beat *beat)
{
    bool listened, relayed;
    if (!relay || relay->life != beat->incarnation)
        return;
    relay->said_listens = relay->sent_listens;
    relay->said_relays = relay->sent_relays;
    look_at(beat, &listened, &relayed);
    if (relay->step == CALLING && relay->said_listens && relayed) {
        relay->step = READY;
        events_set_ready(relay->node->events, true);
    }
    relay->relays = listened && !peers_are_none(relay->peers);
    // It stops only when it has said so and still nobody listens: a node that came meanwhile has seen that it relays.
    events_put_out(relay->node->events, relay->relays || relay->said_relays);
    if (relay->relays != relay->said_relays)
        relay->node->beat_soon = true;
}

// ---- relaying

static void send_lot(struct event_relay *relay, struct now now)
{
    struct store_relay *write = &relay->write;
    store_op_post(&write->op, STORE_RELAY, &relay->answers);
    write->now_ms = now.wall_ms;
    write->events = (struct store_event_row){relay->source, relay->number, buf_str(&relay->lot)};
    relay->relaying = true;
    store_submit(relay->node->store, &write->op);
}

static void take_relayed(struct event_relay *relay, struct now now)
{
    struct store_op *op = &relay->write.op;
    relay->relaying = false;
    relay->relay_at = now.mono_ms + (op->err ? FAIL_WAIT_MS : RELAY_MS);
    if (op->err)
        node_say_failed(relay->node, "events", op, now.mono_ms);
    else
        buf_done(&relay->lot);
    store_op_done(op);
}

static int64_t relay_events(struct event_relay *relay, struct now now)
{
    if (relay->relaying || !relay->source)
        return TIME_NEVER;
    if (now.mono_ms < relay->relay_at)
        return now.wall_ms + relay->relay_at - now.mono_ms;
    if (!relay->lot.n) {
        if (!events_take_out(relay->node->events, &relay->lot))
            return TIME_NEVER; // the next event wakes
        relay->number++;
    }
    send_lot(relay, now);
    return TIME_NEVER;
}

// ---- reading what others relay

static struct store_event_place *known_of(struct event_relay *relay, int64_t source)
{
    for (size_t i = 0; i < relay->known_count; i++)
        if (relay->known[i].source == source)
            return &relay->known[i];
    return NULL;
}

static void note_known(struct event_relay *relay, int64_t source, int64_t number)
{
    struct store_event_place *known = known_of(relay, source);
    if (!known && relay->known_count == SOURCES_MAX)
        known = &relay->known[0]; // the one that was silent for longest
    if (known) {
        size_t behind = (size_t)(&relay->known[relay->known_count] - known) - 1;
        memmove(known, known + 1, behind * sizeof *known);
        relay->known_count--;
    }
    relay->known[relay->known_count++] = (struct store_event_place){source, number};
}

static void take_lot(struct event_relay *relay, const struct store_event_row *lot, struct now now)
{
    const struct store_event_place *known = known_of(relay, lot->source);
    if (known && lot->number != known->number + 1)
        events_emit(
            relay->node->events,
            &(struct event_item){.type = EVENT_GAP, .at_ms = now.wall_ms, .reason = STR("events of another node are missing")});
    note_known(relay, lot->source, lot->number);
    events_take_in(relay->node->events, lot->doc);
}

static void call_again(struct event_relay *relay, struct now now)
{
    relay->call_at = now.mono_ms;
    relay->node->beat_soon = true;
    relay->node->flow_waker->wake(relay->node->flow_waker); // the beat has had its turn already
}

static void take_events(struct event_relay *relay, struct now now)
{
    struct store_events *poll = &relay->poll;
    relay->polling = false;
    relay->poll_at = now.mono_ms + (poll->op.err ? FAIL_WAIT_MS : POLL_MS);
    if (poll->op.err) {
        node_say_failed(relay->node, "events", &poll->op, now.mono_ms);
    } else if (poll->from_now && relay->step == ASKING) {
        for (size_t i = 0; i < poll->last_count; i++)
            note_known(relay, poll->last[i].source, poll->last[i].number);
        relay->step = CALLING;
        call_again(relay, now);
    } else if (relay->step >= CALLING) {
        for (size_t i = 0; i < poll->row_count; i++)
            take_lot(relay, &poll->rows[i], now);
    }
    store_op_done(&poll->op);
}

static void send_poll(struct event_relay *relay)
{
    struct store_events *poll = &relay->poll;
    store_op_post(&poll->op, STORE_EVENTS, &relay->answers);
    poll->skip = relay->source;
    poll->from_now = relay->step == ASKING;
    poll->known = relay->known;
    poll->known_count = relay->known_count;
    poll->max = LOTS_MAX;
    relay->polling = true;
    store_submit(relay->node->store, &poll->op);
}

static int64_t event_relay_others(struct event_relay *relay, struct now now)
{
    if (relay->step == OFF || relay->polling)
        return TIME_NEVER;
    if (peers_has_company(relay->peers))
        relay->company_at = now.mono_ms;
    if (relay->step == READY && now.mono_ms - relay->company_at > COMPANY_MS)
        return TIME_NEVER; // the beat that shows somebody wakes
    if (now.mono_ms >= relay->poll_at)
        send_poll(relay);
    return relay->polling ? TIME_NEVER : now.wall_ms + relay->poll_at - now.mono_ms;
}

// ---- listening or not

static void begin(struct event_relay *relay, struct now now)
{
    bool alone = peers_are_none(relay->peers);
    relay->company_at = alone ? now.mono_ms - COMPANY_MS - 1 : now.mono_ms;
    relay->poll_at = now.mono_ms;
    relay->known_count = 0;
    relay->step = alone ? READY : ASKING;
    if (alone)
        events_set_ready(relay->node->events, true);
}

static int64_t look_round(struct event_relay *relay, struct now now)
{
    struct events *events = relay->node->events;
    if (events_clients(events)) {
        relay->client_at = now.mono_ms;
        if (relay->step == OFF && !relay->polling && relay->life)
            begin(relay, now);
    } else if (relay->step != OFF && now.mono_ms - relay->client_at >= LINGER_MS) {
        relay->step = OFF;
        events_set_ready(events, false);
        events_stop_keeping(events);
    }
    if (relay->step == CALLING && now.mono_ms - relay->call_at >= BEAT_AGAIN_MS)
        call_again(relay, now);
    if (relay->step == CALLING)
        return now.wall_ms + relay->call_at + BEAT_AGAIN_MS - now.mono_ms;
    return relay->step == OFF ? TIME_NEVER : now.wall_ms + LINGER_MS / 4;
}

int64_t event_relay_turn(struct event_relay *relay, struct now now)
{
    struct list answers;
    list_init(&answers);
    mailbox_take(&relay->answers, &answers);
    list_each (&answers, link) {
        if (list_entry(link, struct store_op, link) == &relay->write.op)
            take_relayed(relay, now);
        else
            take_events(relay, now);
    }
    if (atomic_load(&relay->node->stopping) && !events_wanted(relay->node->events))
        return TIME_NEVER;
    int64_t next = look_round(relay, now);
    next = time_min(next, relay_events(relay, now));
    return time_min(next, event_relay_others(relay, now));
}

void event_relay_leave(struct event_relay *relay)
{
    for (bool more = relay->lot.n && !relay->relaying; more || events_take_out(relay->node->events, &relay->lot); more = false) {
        struct store_relay write = {.now_ms = clock_now().wall_ms};
        if (!more)
            relay->number++;
        store_op_init(&write.op, STORE_RELAY, NULL);
        write.events = (struct store_event_row){relay->source, relay->number, buf_str(&relay->lot)};
        store_call(relay->node->store, &write.op);
        store_op_done(&write.op);
        buf_done(&relay->lot);
    }
}
