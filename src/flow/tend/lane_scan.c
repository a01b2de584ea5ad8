// Three walks, each with one operation at a time. Two scans read the lanes from the store, page by page. One asks what is due in
// them, so that jobs are found that this node does not know of (they came through another node, or an answer of the store was
// lost). That scan is dear, so where there are many lanes it is slow, and another one asks only which lanes there are and which
// are paused. The promotion looks for lanes whose jobs have been due for a while without being claimed, for want of room or
// because they are paused, and writes that they are ready: the counters then say how much really waits.
#include "flow/tend/lane_scan.h"

#include "base/mark.h"
#include "base/mem.h"
#include "flow/peers/peers.h"
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
    int64_t at, sent;           // monotonic: not before; when it was asked for
    struct lanes_version asked; // what was known then
};

struct lane_scan {
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

struct lane_scan *lane_scan_new(struct node *node, const struct peers *peers)
{
    struct lane_scan *lane_scan = mem_zero(sizeof *lane_scan);
    lane_scan->node = node;
    lane_scan->peers = peers;
    mailbox_init(&lane_scan->answers, node->flow_waker);
    return lane_scan;
}

void lane_scan_free(struct lane_scan *lane_scan)
{
    if (!lane_scan)
        return;
    store_op_done(&lane_scan->dues.op.op); // of answers that came too late
    store_op_done(&lane_scan->names.op.op);
    store_op_done(&lane_scan->due.op);
    mailbox_done(&lane_scan->answers);
    mem_free(lane_scan);
}

// The first walk is what a start waits for. Later ones find what other nodes did, and a node that is alone hardly finds anything:
// asking for dues may take one part in a hundred of the time, or in ten if other nodes rely on it.
static int64_t pause_after(const struct lane_scan *lane_scan, const struct scan *scan, bool more, int64_t now_ms)
{
    int64_t took_ms = now_ms - scan->sent;
    bool relied_on = peers_has_idle(lane_scan->peers) || now_ms < lane_scan->doubt_until, dues = scan == &lane_scan->dues;
    if (more && !lane_scan->been_round)
        return 0;
    int64_t pause = relied_on && dues ? QUICK_MS : WALK_MS;
    if (more)
        pause = !lane_scan->node->store->ops->shared ? WALK_MS : dues ? PAGE_MS : NAMES_MS;
    return time_min(time_max(pause, (dues && !relied_on ? 99 : 9) * took_ms), PAUSE_MAX);
}

static void take_scan(struct lane_scan *lane_scan, struct scan *scan, struct now now)
{
    struct store_lanes *op = &scan->op;
    scan->under_way = false;
    for (size_t i = 0; i < op->lane_count; i++) {
        lanes_learn(lane_scan->node->lanes, &op->lanes[i], scan->asked);
        op->after_id = op->lanes[i].id;
    }
    bool more = !op->op.err && op->lane_count == SCAN_MAX;
    lane_scan->many |= more;
    if (!more)
        op->after_id = 0;
    lane_scan->been_round |= !more && !op->op.err;
    int64_t pause = op->op.err ? WALK_MS : pause_after(lane_scan, scan, more, now.mono_ms);
    scan->at = pause == WALK_MS ? node_round(lane_scan->node, now.mono_ms, WALK_MS) : now.mono_ms + pause;
    store_op_done(&op->op);
}

static void take_due(struct lane_scan *lane_scan, struct now now)
{
    struct store_due *due = &lane_scan->due;
    lane_scan->promoting = false;
    lane_scan->promote_at = now.mono_ms + time_max(PROMOTE_MS, PROMOTE_PART * (now.mono_ms - lane_scan->promote_sent));
    if (!due->op.err && due->changed)
        mark(MARK_PROMOTED);
    if (!due->op.err)
        lanes_promoted(lane_scan->node->lanes, due->lane, due->upto_ms, due->upto_id);
    store_op_done(&due->op);
}

static void start_scan(struct lane_scan *lane_scan, struct scan *scan, struct now now)
{
    if (scan->under_way || now.mono_ms < scan->at)
        return;
    store_op_post(&scan->op.op, STORE_LANES, &lane_scan->answers);
    scan->op.dispatch = TARGET_CALLED; // the jobs of other lanes are not this node's to claim
    scan->op.max = SCAN_MAX;
    scan->op.names_only = scan == &lane_scan->names;
    scan->op.lane_count = 0;
    scan->sent = now.mono_ms;
    scan->asked = lanes_version(lane_scan->node->lanes);
    scan->under_way = true;
    store_submit(lane_scan->node->store, &scan->op.op);
}

// An answer was lost or a peer went: all lanes are gone through anew, as at the start. Not more often than in DOUBT_MS, because
// that takes all of a connection; what is asked for meanwhile waits until then.
static void resolve_doubt(struct lane_scan *lane_scan, struct now now)
{
    if (lane_scan->dues.under_way || now.mono_ms < lane_scan->doubt_until ||
        !atomic_exchange(&lane_scan->node->lane_scan_wanted, false))
        return;
    lane_scan->doubt_until = now.mono_ms + DOUBT_MS;
    lane_scan->been_round = false;
    lane_scan->dues.op.after_id = 0;
    lane_scan->dues.at = time_min(lane_scan->dues.at, now.mono_ms + (lane_scan->dues.op.op.err ? WALK_MS : 0));
}

static int64_t next_scan(const struct scan *scan, struct now now)
{
    return scan->under_way ? TIME_NEVER : now.wall_ms + time_max(scan->at - now.mono_ms, 1);
}

static void start_promotion(struct lane_scan *lane_scan, struct now now)
{
    struct store_due *due = &lane_scan->due;
    int64_t from, from_id;
    if (lane_scan->promoting || now.mono_ms < lane_scan->promote_at)
        return;
    lane_scan->promote_at = now.mono_ms + PROMOTE_MS;
    lane_scan->promote_sent = now.mono_ms;
    int64_t lane = lanes_overdue(lane_scan->node->lanes, now.wall_ms - OVERDUE_MS, &from, &from_id);
    if (!lane)
        return;
    store_op_post(&due->op, STORE_DUE, &lane_scan->answers);
    due->lane = lane;
    due->from_ms = from;
    due->from_id = from_id;
    due->to_ms = now.wall_ms;
    due->max = PROMOTE_MAX;
    lane_scan->promoting = true;
    store_submit(lane_scan->node->store, &due->op);
}

int64_t lane_scan_turn(struct lane_scan *lane_scan, struct now now)
{
    struct list answers;
    list_init(&answers);
    mailbox_take(&lane_scan->answers, &answers);
    list_each (&answers, link) {
        const struct store_op *op = list_entry(link, struct store_op, link);
        if (op == &lane_scan->due.op)
            take_due(lane_scan, now);
        else
            take_scan(lane_scan, op == &lane_scan->dues.op.op ? &lane_scan->dues : &lane_scan->names, now);
    }
    if (!lane_scan->node->pulls || atomic_load(&lane_scan->node->stopping) || !atomic_load(&lane_scan->node->incarnation))
        return TIME_NEVER;
    bool by_name = lane_scan->many && lane_scan->been_round && lane_scan->node->store->ops->shared;
    resolve_doubt(lane_scan, now);
    start_scan(lane_scan, &lane_scan->dues, now);
    if (by_name)
        start_scan(lane_scan, &lane_scan->names, now);
    start_promotion(lane_scan, now);
    return time_min(next_scan(&lane_scan->dues, now), by_name ? next_scan(&lane_scan->names, now) : TIME_NEVER);
}
