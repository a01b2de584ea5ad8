// Three walks, each with one operation at a time. Two scans read the lanes from the store, page by page. One asks what is due in
// them, so that what this node was not told of (it came through another node, or the telling was lost) is found. That is dear, so
// where there are many lanes it is slow, and another asks only which there are and which are paused. The promotion looks for
// lanes whose jobs have been due for a while without being claimed, for want of room or because they are paused, and writes that
// they are ready: the counters then say how much really waits.
#include "flow/survey.h"

#include "base/mark.h"
#include "base/mem.h"
#include "flow/peers.h"
#include "store/jobs.h"

enum {
    SCAN_MAX = 500,    // lanes at once
    PAGE_MS = 100,     // from one page to the next
    QUICK_MS = 200,    // from one walk to the next, when some nodes leave all they add to the others
    WALK_MS = 1000,    // … when every node takes care of what it adds; and from page to page when there are no others
    NAMES_MS = 250,    // from one page of names to the next
    PAUSE_MAX = 2000,  // however long a page takes
    DOUBT_MS = 10000,  // for so long dues are asked for quickly after something may have been missed
    PROMOTE_MS = 100,  // from one promotion to the next,
    PROMOTE_PART = 20, // of which they may take one part: in a backlog that is being worked off, most would be marked in vain
    OVERDUE_MS = 300,  // a job that was not claimed so long after its time is marked ready
    PROMOTE_MAX = 2000,
};

struct scan {
    struct store_lanes op;
    bool under_way;
    int64_t at, sent;        // monotonic: not before; when it was asked for
    struct lanes_news asked; // what was known then
};

struct survey {
    struct node *node;
    const struct peers *peers;
    struct mailbox answers;
    struct scan dues, names;
    bool been_round;     // all lanes that there were at the start are known
    bool many;           // more than a page of them
    int64_t doubt_until; // monotonic
    bool promoting;
    int64_t promote_at, promote_sent; // monotonic: not before; when it was asked for
    struct store_due due;
};

struct survey *survey_new(struct node *node, const struct peers *peers)
{
    struct survey *survey = mem_zero(sizeof *survey);
    survey->node = node;
    survey->peers = peers;
    mailbox_init(&survey->answers, node->flow_waker);
    return survey;
}

void survey_free(struct survey *survey)
{
    if (!survey)
        return;
    store_op_done(&survey->dues.op.op); // of answers that came too late
    store_op_done(&survey->names.op.op);
    store_op_done(&survey->due.op);
    mailbox_done(&survey->answers);
    mem_free(survey);
}

// The first walk is what a start waits for. Later ones find what others did, and in a store of one's own hardly anything: dues
// may take one part in a hundred of the time, or in ten if somebody relies on it.
static int64_t pause_after(const struct survey *survey, const struct scan *scan, bool more, int64_t now_ms)
{
    int64_t took_ms = now_ms - scan->sent;
    bool relied_on = peers_has_idle(survey->peers) || now_ms < survey->doubt_until, dues = scan == &survey->dues;
    if (more && !survey->been_round)
        return 0;
    int64_t pause = relied_on && dues ? QUICK_MS : WALK_MS;
    if (more)
        pause = !survey->node->store->ops->shared ? WALK_MS : dues ? PAGE_MS : NAMES_MS;
    return time_min(time_max(pause, (dues && !relied_on ? 99 : 9) * took_ms), PAUSE_MAX);
}

static void take_scan(struct survey *survey, struct scan *scan, struct now now)
{
    struct store_lanes *op = &scan->op;
    scan->under_way = false;
    for (size_t i = 0; i < op->lane_count; i++) {
        lanes_learn(survey->node->lanes, &op->lanes[i], scan->asked);
        op->after_id = op->lanes[i].id;
    }
    bool more = !op->op.err && op->lane_count == SCAN_MAX;
    survey->many |= more;
    if (!more)
        op->after_id = 0;
    survey->been_round |= !more && !op->op.err;
    int64_t pause = op->op.err ? WALK_MS : pause_after(survey, scan, more, now.mono_ms);
    scan->at = pause == WALK_MS ? node_round(survey->node, now.mono_ms, WALK_MS) : now.mono_ms + pause;
    store_op_done(&op->op);
}

static void take_due(struct survey *survey, struct now now)
{
    struct store_due *due = &survey->due;
    survey->promoting = false;
    survey->promote_at = now.mono_ms + time_max(PROMOTE_MS, PROMOTE_PART * (now.mono_ms - survey->promote_sent));
    if (!due->op.err && due->changed)
        mark(MARK_PROMOTED);
    if (!due->op.err)
        lanes_promoted(survey->node->lanes, due->lane, due->upto_ms, due->upto_id);
    store_op_done(&due->op);
}

static void start_scan(struct survey *survey, struct scan *scan, struct now now)
{
    if (scan->under_way || now.mono_ms < scan->at)
        return;
    store_op_post(&scan->op.op, STORE_LANES, &survey->answers);
    scan->op.max = SCAN_MAX;
    scan->op.names_only = scan == &survey->names;
    scan->op.lane_count = 0;
    scan->sent = now.mono_ms;
    scan->asked = lanes_news(survey->node->lanes);
    scan->under_way = true;
    store_submit(survey->node->store, &scan->op.op);
}

// An answer was lost or a peer went: all lanes are gone through anew, as at the start. Not more often than in DOUBT_MS, because
// that takes all of a connection; what is asked for meanwhile waits until then.
static void heed_doubt(struct survey *survey, struct now now)
{
    if (survey->dues.under_way || now.mono_ms < survey->doubt_until || !atomic_exchange(&survey->node->survey_wanted, false))
        return;
    survey->doubt_until = now.mono_ms + DOUBT_MS;
    survey->been_round = false;
    survey->dues.op.after_id = 0;
    survey->dues.at = time_min(survey->dues.at, now.mono_ms + (survey->dues.op.op.err ? WALK_MS : 0));
}

static int64_t next_scan(const struct scan *scan, struct now now)
{
    return scan->under_way ? TIME_NEVER : now.wall_ms + time_max(scan->at - now.mono_ms, 1);
}

static void start_promotion(struct survey *survey, struct now now)
{
    struct store_due *due = &survey->due;
    int64_t from, from_id;
    if (survey->promoting || now.mono_ms < survey->promote_at)
        return;
    survey->promote_at = now.mono_ms + PROMOTE_MS;
    survey->promote_sent = now.mono_ms;
    int64_t lane = lanes_overdue(survey->node->lanes, now.wall_ms - OVERDUE_MS, &from, &from_id);
    if (!lane)
        return;
    store_op_post(&due->op, STORE_DUE, &survey->answers);
    due->lane = lane;
    due->from_ms = from;
    due->from_id = from_id;
    due->to_ms = now.wall_ms;
    due->max = PROMOTE_MAX;
    survey->promoting = true;
    store_submit(survey->node->store, &due->op);
}

int64_t survey_turn(struct survey *survey, struct now now)
{
    struct list answers;
    list_init(&answers);
    mailbox_take(&survey->answers, &answers);
    list_each (&answers, link) {
        const struct store_op *op = list_entry(link, struct store_op, link);
        if (op == &survey->due.op)
            take_due(survey, now);
        else
            take_scan(survey, op == &survey->dues.op.op ? &survey->dues : &survey->names, now);
    }
    if (!survey->node->pulls || atomic_load(&survey->node->stopping) || !atomic_load(&survey->node->incarnation))
        return TIME_NEVER;
    bool by_name = survey->many && survey->been_round && survey->node->store->ops->shared;
    heed_doubt(survey, now);
    start_scan(survey, &survey->dues, now);
    if (by_name)
        start_scan(survey, &survey->names, now);
    start_promotion(survey, now);
    return time_min(next_scan(&survey->dues, now), by_name ? next_scan(&survey->names, now) : TIME_NEVER);
}
