#include "flow/node.h"

#include "base/log.h"

enum { SAY_MS = 5000 };

void node_init(struct node *node, struct store *store, struct broker *broker, struct lanes *lanes, struct waker *flow_waker)
{
    *node = (struct node){.store = store, .broker = broker, .lanes = lanes, .flow_waker = flow_waker};
    pthread_mutex_init(&node->id_lock, NULL);
    node->events = events_new(flow_waker);
    node->warnings = warnings_new();
}

void node_done(struct node *node)
{
    events_free(node->events);
    warnings_free(node->warnings);
    pthread_mutex_destroy(&node->id_lock);
}

struct digest_key *node_ticket_key(const struct node *node)
{
    if (!node->has_shared_secret)
        return node_store_key(node);
    return digest_key_new((struct str){(const char *)node->shared_secret, sizeof node->shared_secret});
}

struct digest_key *node_store_key(const struct node *node)
{
    return digest_key_new((struct str){(const char *)node->secret, sizeof node->secret});
}

int64_t node_make_id(struct node *node, int64_t wall_ms)
{
    pthread_mutex_lock(&node->id_lock);
    int64_t id = id_make(&node->ids, wall_ms);
    pthread_mutex_unlock(&node->id_lock);
    return id;
}

bool node_alive(struct node *node, int64_t mono_ms)
{
    return mono_ms < atomic_load(&node->alive_until_ms);
}

static void renew_executors(struct node *node, int64_t until_ms)
{
    broker_control(node->broker,
                   &(struct control){.kind = CONTROL_RENEW, .id = atomic_load(&node->incarnation), .until_ms = until_ms});
}

void node_renew_life(struct node *node, int64_t until_ms)
{
    atomic_store(&node->alive_until_ms, until_ms);
    renew_executors(node, until_ms);
}

void node_begin_life(struct node *node, int64_t incarnation, int64_t until_ms)
{
    atomic_store(&node->incarnation, incarnation);
    node_renew_life(node, until_ms);
}

void node_end_life(struct node *node)
{
    atomic_store(&node->alive_until_ms, 0);
    renew_executors(node, 0);
    atomic_store(&node->incarnation, 0);
}

int64_t node_round(const struct node *node, int64_t mono_ms, int64_t period_ms)
{
    int64_t phase = (int64_t)((uint64_t)atomic_load(&node->incarnation) % (uint64_t)period_ms);
    return ((mono_ms - phase) / period_ms + 1) * period_ms + phase;
}

bool node_push_begin(struct node *node)
{
    atomic_fetch_add(&node->pushing, 1);
    if (!atomic_load(&node->counting) && !atomic_load(&node->stopping))
        return true;
    atomic_fetch_sub(&node->pushing, 1);
    return false;
}

void node_push_end(struct node *node)
{
    atomic_fetch_sub(&node->pushing, 1);
}

void node_say_failed(struct node *node, const char *who, const struct store_op *op, int64_t mono_ms)
{
    atomic_store(&node->lane_scan_wanted, true); // it may have been done all the same
    if (node->said_at && mono_ms - node->said_at < SAY_MS) {
        node->unsaid++;
        return;
    }
    if (node->unsaid)
        log_warn("%s: %s: %s (and %d more times since it was said last)", who, err_info(op->err)->code, op->why, node->unsaid);
    else
        log_warn("%s: %s: %s", who, err_info(op->err)->code, op->why);
    node->said_at = mono_ms;
    node->unsaid = 0;
}
