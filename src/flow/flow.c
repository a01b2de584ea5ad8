// Turns come in the order in which their results are used: answers of the store, outcomes, commands, what time brings; then pull,
// which acts on all of it.
#include "flow/flow.h"

#include "base/mem.h"

static void started(void *ctx, const struct outcome *running)
{
    record_started(ctx, running);
}

struct flow *flow_new(const struct flow_config *config, struct store *store, struct broker *broker, struct exec *exec,
                      struct waker *flow_waker, struct waker *exec_waker)
{
    struct flow *flow = mem_zero(sizeof *flow);
    struct node *node = &flow->node;
    flow->lanes = lanes_new(config->room, config->room_bytes);
    lanes_control(flow->lanes, broker);
    node_init(node, store, broker, flow->lanes, flow_waker);
    node->pulls = !config->api_only;
    node->has_shared_secret = config->shared_secret != NULL;
    if (config->shared_secret)
        memcpy(node->shared_secret, config->shared_secret, sizeof node->shared_secret);
    node->correct_clock = config->correct_clock;
    node->clock_ctx = config->clock_ctx;
    flow->dispatch = dispatch_new(&(struct dispatch_config){
        .broker = broker, .exec = exec, .slots = config->slots, .waker = exec_waker, .started = started, .ctx = node});
    flow->pull = pull_new(node);
    flow->recorder = recorder_new(node, flow->pull);
    flow->admit = admit_new(node, flow->recorder, config->zones);
    flow->complete = complete_new(node, flow->pull, flow->recorder, config->seed + 1);
    flow->commands = commands_new(node, flow->pull, flow->recorder, config->zones);
    flow->peers = peers_new(node);
    flow->recur = recur_new(node, flow->recorder, flow->pull, flow->commands, flow->peers, config->zones);
    pull_tell(flow->pull, flow->recur);
    flow->reap = reap_new(node, flow->peers, flow->recorder);
    flow->beat = beat_new(node, flow->peers, config->seed);
    flow->sweep = sweep_new(node, flow->recorder);
    flow->lane_scan = lane_scan_new(node, flow->peers);
    flow->assignment = assignment_new(node, flow->peers);
    flow->bulk = bulk_new(node, flow->peers, flow->commands);
    flow->backfills = backfills_new(node, flow->peers, flow->recorder, config->zones);
    recorder_tell(flow->recorder, flow->recur, flow->backfills);
    flow->peer_requests = peer_requests_new(node, flow->peers, flow->pull, flow->commands);
    flow->lease_reports = lease_reports_new(node, flow->recorder, config->seed + 2);
    flow->lease_expiry = lease_expiry_new(node, flow->peers, flow->recorder, config->seed + 3);
    flow->relay = node->relay = event_relay_new(node, flow->peers);
    flow->stats_writer = stats_writer_new(node);
    flow->tzdata = tzdata_new(node, flow->peers, flow->commands, config->zones);
    return flow;
}

void flow_free(struct flow *flow)
{
    if (!flow)
        return;
    tzdata_free(flow->tzdata);
    lease_expiry_free(flow->lease_expiry);
    lease_reports_free(flow->lease_reports);
    stats_writer_free(flow->stats_writer);
    event_relay_free(flow->relay);
    peer_requests_free(flow->peer_requests);
    backfills_free(flow->backfills);
    bulk_free(flow->bulk);
    assignment_free(flow->assignment);
    lane_scan_free(flow->lane_scan);
    sweep_free(flow->sweep);
    beat_free(flow->beat);
    reap_free(flow->reap);
    recur_free(flow->recur);
    peers_free(flow->peers);
    commands_free(flow->commands);
    complete_free(flow->complete);
    admit_free(flow->admit);
    recorder_free(flow->recorder);
    pull_free(flow->pull);
    dispatch_free(flow->dispatch);
    node_done(&flow->node);
    lanes_free(flow->lanes);
    mem_free(flow);
}

int64_t flow_turn(struct flow *flow, struct now now)
{
    int64_t next = beat_turn(flow->beat, now);
    if (flow->node.clock_set) { // nothing more by a clock that is known to be wrong
        flow->node.clock_set = false;
        return 0;
    }
    next = time_min(next, failures_turn(&flow->node.failures, now)); // before whoever finds some
    recorder_turn(flow->recorder, now);
    next = time_min(next, complete_turn(flow->complete, now));
    next = time_min(next, reap_turn(flow->reap, now));
    next = time_min(next, sweep_turn(flow->sweep, now));
    next = time_min(next, lease_expiry_turn(flow->lease_expiry, now));
    next = time_min(next, assignment_turn(flow->assignment, now));
    next = time_min(next, peer_requests_turn(flow->peer_requests, now));
    next = time_min(next, commands_turn(flow->commands, now));
    next = time_min(next, bulk_turn(flow->bulk, now));
    next = time_min(next, backfills_turn(flow->backfills, now));
    next = time_min(next, tzdata_turn(flow->tzdata, now));
    next = time_min(next, lease_reports_turn(flow->lease_reports, now));
    next = time_min(next, lane_scan_turn(flow->lane_scan, now));
    next = time_min(next, event_relay_turn(flow->relay, now));
    next = time_min(next, stats_writer_turn(flow->stats_writer, now));
    next = time_min(next, pull_turn(flow->pull, now));
    return time_min(next, recur_turn(flow->recur, now));
}

int64_t flow_exec_turn(struct flow *flow, struct now now)
{
    return dispatch_turn(flow->dispatch, now);
}

void flow_stop(struct flow *flow)
{
    atomic_store(&flow->node.stopping, true);
    dispatch_stop(flow->dispatch);
}

void flow_leave(struct flow *flow)
{
    event_relay_leave(flow->relay);
    stats_writer_leave(flow->stats_writer);
    failures_leave(&flow->node.failures);
    beat_leave(flow->beat);
}

bool flow_drained(struct flow *flow)
{
    return pull_idle(flow->pull) && recur_idle(flow->recur) && complete_idle(flow->complete) && commands_idle(flow->commands) &&
           lease_reports_idle(flow->lease_reports);
}
