// Two walks, each with one operation at a time. The scan reads the lanes from the store, page by page, so that a lane this node
// was not told of (its first job came through another node, or the telling was lost) is found, and a pause made elsewhere is
// seen. The promotion looks for lanes whose jobs have been due for a while without being claimed, for want of room or because
// they are paused, and writes that they are ready: the counters then say how much really waits.
#include "flow/survey.h"

#include "base/mark.h"
#include "base/mem.h"
#include "flow/reap.h"

enum {
    SCAN_MAX = 500, // lanes at once
    PAGE_MS = 100,  // from one page to the next, and longer if a page takes longer than a tenth of it
    QUICK_MS = 200, // from one walk to the next, when some nodes leave all they add to the others
    SCAN_MS = 1000, // … when every node takes care of what it adds; and from page to page when there are no others
    PROMOTE_MS = 100,
    OVERDUE_MS = 300, // a job that was not claimed so long after its time is marked ready
    PROMOTE_MAX = 2000,
};

struct survey {
    struct node *node;
    const struct reap *reap;
    struct mailbox answers;
    bool scanning, promoting;
    bool been_round;              // all lanes that there were at the start are known
    int64_t scan_at, promote_at;  // monotonic: not before
    int64_t scan_sent;            // monotonic
    struct lanes_news scan_asked; // when the scan under way was asked for
    struct store_lanes scan;
    struct store_due due;
};

struct survey *survey_new(struct node *node, const struct reap *reap)
{
    struct survey *survey = mem_zero(sizeof *survey);
    survey->node = node;
    survey->reap = reap;
    mailbox_init(&survey->answers, node->flow_waker);
    return survey;
}

void survey_free(struct survey *survey)
{
    if (!survey)
        return;
    store_op_done(&survey->scan.op); // of answers that came too late
    store_op_done(&survey->due.op);
    mailbox_done(&survey->answers);
    mem_free(survey);
}

// The first walk is what a start waits for. Later ones find what others did, and in a store of one's own hardly anything.
static int64_t pause_after(const struct survey *survey, bool more, int64_t took_ms)
{
    if (more && !survey->been_round)
        return 0;
    int64_t pause = reap_has_idle(survey->reap) ? QUICK_MS : SCAN_MS;
    if (more)
        pause = survey->node->store->ops->shared ? PAGE_MS : SCAN_MS;
    return time_min(SCAN_MS, time_max(pause, 9 * took_ms));
}

static void take_scan(struct survey *survey, struct now now)
{
    struct store_lanes *scan = &survey->scan;
    survey->scanning = false;
    for (size_t i = 0; i < scan->lane_count; i++) {
        lanes_learn(survey->node->lanes, &scan->lanes[i], survey->scan_asked);
        scan->after_id = scan->lanes[i].id;
    }
    bool more = !scan->op.err && scan->lane_count == SCAN_MAX;
    if (!more)
        scan->after_id = 0;
    survey->been_round |= !more && !scan->op.err;
    survey->scan_at = now.mono_ms + pause_after(survey, more, now.mono_ms - survey->scan_sent);
    store_op_done(&scan->op);
}

static void take_due(struct survey *survey)
{
    struct store_due *due = &survey->due;
    survey->promoting = false;
    if (!due->op.err && due->changed)
        mark(MARK_PROMOTED);
    if (!due->op.err)
        lanes_promoted(survey->node->lanes, due->lane, due->upto_ms, due->upto_id);
    store_op_done(&due->op);
}

static void start_scan(struct survey *survey, struct now now)
{
    if (survey->scanning || now.mono_ms < survey->scan_at)
        return;
    struct store_lanes *scan = &survey->scan;
    store_op_post(&scan->op, STORE_LANES, &survey->answers);
    scan->max = SCAN_MAX;
    scan->lane_count = 0;
    survey->scan_sent = now.mono_ms;
    survey->scan_asked = lanes_news(survey->node->lanes);
    survey->scanning = true;
    store_submit(survey->node->store, &scan->op);
}

static void start_promotion(struct survey *survey, struct now now)
{
    struct store_due *due = &survey->due;
    int64_t from, from_id;
    if (survey->promoting || now.mono_ms < survey->promote_at)
        return;
    survey->promote_at = now.mono_ms + PROMOTE_MS;
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
        if (list_entry(link, struct store_op, link) == &survey->scan.op)
            take_scan(survey, now);
        else
            take_due(survey);
    }
    if (!survey->node->pulls || atomic_load(&survey->node->stopping) || !atomic_load(&survey->node->incarnation))
        return TIME_NEVER;
    start_scan(survey, now);
    start_promotion(survey, now);
    return survey->scanning ? TIME_NEVER : now.wall_ms + time_max(survey->scan_at - now.mono_ms, 1);
}
