// Nothing is written while nobody listens. A node with a client says so with its beat, and reads what others put out until, a
// while after the last client left, it says the opposite. The others see it with their next beat, begin to put out what happens,
// and say that with another beat at once. When all who live have said so, nothing is missed from then on: the clients are told
// (`ready`).
//
// Beats that change what is said come one after the other (`in_turn`), so of one who begins to listen and one who wants to stop
// telling, the later sees the earlier. Who has just joined tells, until a beat has shown that nobody listens.
//
// News travel in lots, numbered by their source. A number that is missing (the database crashed, or this process slept too long)
// becomes a gap that the clients see.
#include "flow/hear.h"

#include "base/mem.h"
#include "flow/peers.h"
#include "store/journal.h"

enum {
    LINGER_MS = 60000, // news are kept so long for clients that come back
    TELL_MS = 100,     // from one lot to the next
    POLL_MS = 200,
    BEAT_AGAIN_MS = 250, // while it waits for the others
    COMPANY_MS = 10000,  // those who left may have told something just before
    FAIL_WAIT_MS = 500,
    LOTS_MAX = 50, // of each source at once
    SOURCES_MAX = 512,
};

enum step { OFF, ASKING, CALLING, READY }; // asks where to begin; tells the others; all know

struct hear {
    struct node *node;
    const struct peers *peers;
    struct mailbox answers;
    enum step step;
    int64_t life;                  // the incarnation all this was said by
    bool said_listens, said_tells; // with the last beat that was written
    bool sent_listens, sent_tells; // with the one under way
    bool tells;                    // what is to be said
    int64_t client_at;             // monotonic: when there last was a client
    int64_t company_at;            // … when there last was another node
    int64_t call_at;               // … when the others were last looked at
    int64_t tell_at, poll_at;      // … not before
    bool telling, polling;         // an operation is under way
    int64_t source;                // under which this process tells
    int64_t number;                // of the lot that was told last
    struct buf lot;                // being told
    struct store_tell tell;
    struct store_hear poll;
    struct store_heard heard[SOURCES_MAX]; // newest last
    size_t heard_count;
};

struct hear *hear_new(struct node *node, const struct peers *peers)
{
    struct hear *hear = mem_zero(sizeof *hear);
    hear->node = node;
    hear->peers = peers;
    mailbox_init(&hear->answers, node->flow_waker);
    return hear;
}

void hear_free(struct hear *hear)
{
    if (!hear)
        return;
    store_op_done(&hear->tell.op); // of answers that came too late
    store_op_done(&hear->poll.op);
    buf_done(&hear->lot);
    mailbox_done(&hear->answers);
    mem_free(hear);
}

// ---- what is said with the beat

void hear_joined(struct hear *hear, bool alone)
{
    if (!hear)
        return;
    hear->life = atomic_load(&hear->node->incarnation);
    hear->said_listens = false;
    hear->said_tells = true;
    hear->tells = !alone;
    if (!hear->source)
        hear->source = hear->life;
    news_put_out(hear->node->news, hear->tells);
    if (hear->step < CALLING)
        return;
    // The others have not heard of this life, and may have stopped telling the one before.
    hear->step = CALLING;
    news_tell(hear->node->news, &(struct news_item){.type = NEWS_GAP, .reason = STR("this node was declared dead by others")});
}

void hear_fill(struct hear *hear, struct store_beat *beat)
{
    if (!hear)
        return;
    beat->listens = hear->sent_listens = hear->step >= CALLING;
    beat->tells = hear->sent_tells = hear->tells;
    beat->in_turn = beat->listens != hear->said_listens || beat->tells != hear->said_tells;
}

// Whether somebody listens, and whether all who live tell.
static void look_at(const struct store_beat *beat, bool *ret_listened, bool *ret_told)
{
    *ret_listened = false;
    *ret_told = true;
    for (size_t i = 0; i < beat->peer_count; i++) {
        if (beat->peers[i].dead)
            continue;
        *ret_listened |= beat->peers[i].listens;
        *ret_told &= beat->peers[i].tells;
    }
}

void hear_saw(struct hear *hear, const struct store_beat *beat)
{
    bool listened, told;
    if (!hear || hear->life != beat->incarnation)
        return;
    hear->said_listens = hear->sent_listens;
    hear->said_tells = hear->sent_tells;
    look_at(beat, &listened, &told);
    if (hear->step == CALLING && hear->said_listens && told) {
        hear->step = READY;
        news_set_ready(hear->node->news, true);
    }
    hear->tells = listened && !peers_are_none(hear->peers);
    // It stops only when it has said so and there still is nobody: who came meanwhile has seen that it tells.
    news_put_out(hear->node->news, hear->tells || hear->said_tells);
    if (hear->tells != hear->said_tells)
        hear->node->beat_soon = true;
}

// ---- telling

static void send_lot(struct hear *hear, struct now now)
{
    struct store_tell *tell = &hear->tell;
    store_op_post(&tell->op, STORE_TELL, &hear->answers);
    tell->now_ms = now.wall_ms;
    tell->news = (struct store_news){hear->source, hear->number, buf_str(&hear->lot)};
    hear->telling = true;
    store_submit(hear->node->store, &tell->op);
}

static void take_told(struct hear *hear, struct now now)
{
    struct store_op *op = &hear->tell.op;
    hear->telling = false;
    hear->tell_at = now.mono_ms + (op->err ? FAIL_WAIT_MS : TELL_MS);
    if (op->err)
        node_say_failed(hear->node, "hear", op, now.mono_ms);
    else
        buf_done(&hear->lot);
    store_op_done(op);
}

static int64_t tell_others(struct hear *hear, struct now now)
{
    if (hear->telling || !hear->source)
        return TIME_NEVER;
    if (now.mono_ms < hear->tell_at)
        return now.wall_ms + hear->tell_at - now.mono_ms;
    if (!hear->lot.n) {
        if (!news_take_out(hear->node->news, &hear->lot))
            return TIME_NEVER; // who tells something wakes
        hear->number++;
    }
    send_lot(hear, now);
    return TIME_NEVER;
}

// ---- hearing

static struct store_heard *heard_of(struct hear *hear, int64_t source)
{
    for (size_t i = 0; i < hear->heard_count; i++)
        if (hear->heard[i].source == source)
            return &hear->heard[i];
    return NULL;
}

static void note_heard(struct hear *hear, int64_t source, int64_t number)
{
    struct store_heard *known = heard_of(hear, source);
    if (!known && hear->heard_count == SOURCES_MAX)
        known = &hear->heard[0]; // the one that was silent for longest
    if (known) {
        size_t behind = (size_t)(&hear->heard[hear->heard_count] - known) - 1;
        memmove(known, known + 1, behind * sizeof *known);
        hear->heard_count--;
    }
    hear->heard[hear->heard_count++] = (struct store_heard){source, number};
}

static void take_lot(struct hear *hear, const struct store_news *lot, struct now now)
{
    const struct store_heard *known = heard_of(hear, lot->source);
    if (known && lot->number != known->number + 1)
        news_tell(hear->node->news,
                  &(struct news_item){.type = NEWS_GAP, .at_ms = now.wall_ms, .reason = STR("news of another node are missing")});
    note_heard(hear, lot->source, lot->number);
    news_take_in(hear->node->news, lot->doc);
}

static void call_again(struct hear *hear, struct now now)
{
    hear->call_at = now.mono_ms;
    hear->node->beat_soon = true;
    hear->node->flow_waker->wake(hear->node->flow_waker); // the beat has had its turn already
}

static void take_heard(struct hear *hear, struct now now)
{
    struct store_hear *poll = &hear->poll;
    hear->polling = false;
    hear->poll_at = now.mono_ms + (poll->op.err ? FAIL_WAIT_MS : POLL_MS);
    if (poll->op.err) {
        node_say_failed(hear->node, "hear", &poll->op, now.mono_ms);
    } else if (poll->from_now && hear->step == ASKING) {
        for (size_t i = 0; i < poll->last_count; i++)
            note_heard(hear, poll->last[i].source, poll->last[i].number);
        hear->step = CALLING;
        call_again(hear, now);
    } else if (hear->step >= CALLING) {
        for (size_t i = 0; i < poll->news_count; i++)
            take_lot(hear, &poll->news[i], now);
    }
    store_op_done(&poll->op);
}

static void send_poll(struct hear *hear)
{
    struct store_hear *poll = &hear->poll;
    store_op_post(&poll->op, STORE_HEAR, &hear->answers);
    poll->skip = hear->source;
    poll->from_now = hear->step == ASKING;
    poll->heard = hear->heard;
    poll->heard_count = hear->heard_count;
    poll->max = LOTS_MAX;
    hear->polling = true;
    store_submit(hear->node->store, &poll->op);
}

static int64_t hear_others(struct hear *hear, struct now now)
{
    if (hear->step == OFF || hear->polling)
        return TIME_NEVER;
    if (peers_has_company(hear->peers))
        hear->company_at = now.mono_ms;
    if (hear->step == READY && now.mono_ms - hear->company_at > COMPANY_MS)
        return TIME_NEVER; // the beat that shows somebody wakes
    if (now.mono_ms >= hear->poll_at)
        send_poll(hear);
    return hear->polling ? TIME_NEVER : now.wall_ms + hear->poll_at - now.mono_ms;
}

// ---- listening or not

static void begin(struct hear *hear, struct now now)
{
    bool alone = peers_are_none(hear->peers);
    hear->company_at = alone ? now.mono_ms - COMPANY_MS - 1 : now.mono_ms;
    hear->poll_at = now.mono_ms;
    hear->heard_count = 0;
    hear->step = alone ? READY : ASKING;
    if (alone)
        news_set_ready(hear->node->news, true);
}

static int64_t look_round(struct hear *hear, struct now now)
{
    struct news *news = hear->node->news;
    if (news_clients(news)) {
        hear->client_at = now.mono_ms;
        if (hear->step == OFF && !hear->polling && hear->life)
            begin(hear, now);
    } else if (hear->step != OFF && now.mono_ms - hear->client_at >= LINGER_MS) {
        hear->step = OFF;
        news_set_ready(news, false);
        news_stop_keeping(news);
    }
    if (hear->step == CALLING && now.mono_ms - hear->call_at >= BEAT_AGAIN_MS)
        call_again(hear, now);
    if (hear->step == CALLING)
        return now.wall_ms + hear->call_at + BEAT_AGAIN_MS - now.mono_ms;
    return hear->step == OFF ? TIME_NEVER : now.wall_ms + LINGER_MS / 4;
}

int64_t hear_turn(struct hear *hear, struct now now)
{
    struct list answers;
    list_init(&answers);
    mailbox_take(&hear->answers, &answers);
    list_each (&answers, link) {
        if (list_entry(link, struct store_op, link) == &hear->tell.op)
            take_told(hear, now);
        else
            take_heard(hear, now);
    }
    if (atomic_load(&hear->node->stopping) && !news_wanted(hear->node->news))
        return TIME_NEVER;
    int64_t next = look_round(hear, now);
    next = time_min(next, tell_others(hear, now));
    return time_min(next, hear_others(hear, now));
}

void hear_leave(struct hear *hear)
{
    for (bool more = hear->lot.n && !hear->telling; more || news_take_out(hear->node->news, &hear->lot); more = false) {
        struct store_tell tell = {.now_ms = clock_now().wall_ms};
        if (!more)
            hear->number++;
        store_op_init(&tell.op, STORE_TELL, NULL);
        tell.news = (struct store_news){hear->source, hear->number, buf_str(&hear->lot)};
        store_call(hear->node->store, &tell.op);
        store_op_done(&tell.op);
        buf_done(&hear->lot);
    }
}
