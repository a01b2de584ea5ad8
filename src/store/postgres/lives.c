// The lives of processes: an incarnation joins, beats, is declared dead and forgotten.
//
// Fencing: an ADD, PLAN or CLAIM locks its incarnation's row FOR KEY SHARE until it commits, and a BURY locks the row FOR UPDATE.
// One of the two comes first. A beat changes no key and waits for neither.
#include "core/id.h"
#include "store/postgres/postgres.h"

#include <stdio.h>

// clang-format off

// ADD and PLAN, first: nobody declares one of these dead until this is committed. $1 the holders.
static const char fence[] = "SELECT id FROM @incarnations WHERE id=ANY($1) AND NOT dead ORDER BY id FOR KEY SHARE";

// JOIN. An incarnation gets the smallest node number that is free, unless it is there already. $1 incarnation, $2 how many
// numbers there are, $3 whether it pulls.
static const char join_in[] =
    "WITH found AS (SELECT node, dead FROM @incarnations WHERE id=$1),"
    " free AS (SELECT min(number) AS node FROM generate_series(0,$2-1) number"
    "   WHERE NOT EXISTS (SELECT FROM @incarnations i WHERE i.node=number)),"
    " made AS (INSERT INTO @incarnations(id,node,pulls,beat,dead) SELECT $1, node, $3<>0, 0, false FROM free"
    "   WHERE node IS NOT NULL AND NOT EXISTS (SELECT FROM found) RETURNING node)"
    " SELECT joined.node, joined.dead, " PG_CLOCK_MS ", (SELECT value FROM @meta WHERE name='range')"
    "   FROM (SELECT node, dead::int FROM found UNION ALL SELECT node, 0 FROM made) joined";
static const char floor_of_ids[] =
    "SELECT greatest((SELECT max(id) FROM @tasks), (SELECT max(id) FROM @jobs), (SELECT max(id) FROM @jobs_done),"
    " (SELECT value FROM @meta WHERE name='id_floor'), 0)";
// The first that joins keeps its secret, and all read what is kept. $1 as hexadecimal digits.
static const char keep_secret[] =
    "INSERT INTO @meta(name,value,bytes) VALUES('secret',0,decode($1,'hex')) ON CONFLICT(name) DO NOTHING";
static const char kept_secret[] = "SELECT bytes FROM @meta WHERE name='secret'";

// BEAT. $1 incarnation, $2 whether it listens, $3 whether it relays events.
static const char beat_once[] =
    "UPDATE @incarnations SET beat=beat+1, listens=$2<>0, relays=$3<>0 WHERE id=$1 AND NOT dead RETURNING " PG_CLOCK_MS;
static const char other_lives[] =
    "SELECT id, beat, dead::int, pulls::int, listens::int, relays::int FROM @incarnations WHERE id<>$1 ORDER BY id";

// BURY. $1 incarnation, $2 the beat at which it was seen.
static const char bury_one[] =
    "WITH seen AS MATERIALIZED (SELECT id, beat, dead FROM @incarnations WHERE id=$1 FOR UPDATE),"
    " buried AS (UPDATE @incarnations i SET dead=true FROM seen WHERE i.id=seen.id AND NOT seen.dead AND seen.beat=$2)"
    " SELECT beat, dead::int FROM seen";

// FORGET, one after the other. The lock comes in a statement of its own, so that the next one sees what was claimed until then.
// $1 incarnation.
static const char lock_one[] = "SELECT 1 FROM @incarnations WHERE id=$1 FOR UPDATE";
static const char forget_idle[] =
    "DELETE FROM @incarnations WHERE id=$1 AND NOT EXISTS (SELECT FROM @jobs j"
    " WHERE j.id=" PG_ANY(PG_HAND_OF("$1")) " AND " PG_IN_HAND_OF("$1") ")";
static const char forget_hands[] =
    "DELETE FROM @hands WHERE holder=$1 AND NOT EXISTS (SELECT FROM @incarnations WHERE id=$1)";
static const char forget_asks[] =
    "DELETE FROM @requests WHERE holder=$1 AND NOT EXISTS (SELECT FROM @incarnations WHERE id=$1)";
static const char find_one[] = "SELECT 1 FROM @incarnations WHERE id=$1";

// clang-format on

// ---- fencing

void pg_holders_init(struct pg_holders *holders, struct arena *arena, size_t max)
{
    *holders = (struct pg_holders){.ids = arena_array(arena, int64_t, max), .alive = arena_array(arena, int64_t, max)};
}

void pg_holders_put(struct pg_holders *holders, int64_t id)
{
    if (id)
        holders->ids[holders->count++] = id;
}

static void read_alive(void *ctx, const PGresult *result)
{
    struct pg_holders *holders = ctx;
    for (int row = 0; row < PQntuples(result); row++)
        holders->alive[holders->alive_count++] = pg_int(result, row, 0);
}

void pg_fence(struct pg_session *session, struct pg_holders *holders)
{
    if (!holders->count)
        return;
    pg_begin_query(session);
    pg_put(session, fence);
    pg_param_ints(session, holders->ids, holders->count);
    pg_send(session, read_alive, holders);
}

bool pg_may_act(const struct pg_holders *holders, int64_t id)
{
    for (size_t i = 0; i < holders->alive_count; i++)
        if (holders->alive[i] == id)
            return true;
    return !id;
}

// ---- joining

struct joining {
    struct pg_session *session;
    struct store_join *join;
};

static void read_secret(void *ctx, const PGresult *result)
{
    struct joining *joining = ctx;
    struct str kept = PQntuples(result) ? pg_bytes(result, 0, 0, &joining->session->arena) : (struct str){0};
    if (kept.n == sizeof joining->join->secret)
        memcpy(joining->join->secret, kept.p, kept.n);
}

static void send_secret(struct pg_session *session, struct joining *joining)
{
    char hex[2 * STORE_SECRET_SIZE + 1];
    for (size_t i = 0; i < STORE_SECRET_SIZE; i++)
        snprintf(hex + 2 * i, 3, "%02x", joining->join->secret[i]);
    pg_begin_query(session);
    pg_put(session, keep_secret);
    pg_param_text(session, str_of(hex));
    pg_send(session, NULL, NULL);
    pg_run(session, kept_secret, 0, NULL, read_secret, joining);
}

static void read_join(void *ctx, const PGresult *result)
{
    struct joining *joining = ctx;
    struct store_join *join = joining->join;
    bool found = PQntuples(result);
    if (!found || pg_int(result, 0, 1)) {
        store_op_fail(&join->op, ERR_FENCED, found ? "this incarnation was declared dead" : "all node numbers are in use");
        return;
    }
    join->clock_ms = pg_int(result, 0, 2);
    store_join_number(join, pg_int(result, 0, 3), (int)pg_int(result, 0, 0));
}

static void read_floor(void *ctx, const PGresult *result)
{
    struct joining *joining = ctx;
    if (joining->join->op.err)
        return;
    joining->join->id_floor = pg_int(result, 0, 0);
    atomic_store(&joining->session->pg->node, joining->join->node % ID_RANGE_NODES);
}

void pg_join_send(struct pg_session *session, struct store_op *op)
{
    struct joining *joining = arena_alloc(&session->arena, sizeof *joining);
    *joining = (struct joining){session, container_of(op, struct store_join, op)};
    pg_lock(session, PG_LOCK_NODES);
    pg_sql(session, join_in, read_join, joining, joining->join->incarnation, ID_RANGE_NODES, joining->join->pulls);
    pg_run(session, floor_of_ids, 0, NULL, read_floor, joining);
    send_secret(session, joining);
}

// ---- beating

static void read_beat(void *ctx, const PGresult *result)
{
    struct store_beat *beat = ctx;
    if (PQntuples(result))
        beat->clock_ms = pg_int(result, 0, 0);
    else
        store_op_fail(&beat->op, ERR_FENCED, "this incarnation was declared dead, or is unknown");
}

static void read_peers(void *ctx, const PGresult *result)
{
    struct store_beat *beat = ctx;
    for (int row = 0; row < PQntuples(result) && !beat->op.err; row++) {
        beat->peers = store_push(&beat->op.arena, beat->peers, beat->peer_count, sizeof *beat->peers);
        beat->peers[beat->peer_count++] = (struct store_peer){
            .incarnation = pg_int(result, row, 0),
            .beat = pg_int(result, row, 1),
            .dead = pg_int(result, row, 2),
            .pulls = pg_int(result, row, 3),
            .listens = pg_int(result, row, 4),
            .relays = pg_int(result, row, 5),
        };
    }
}

void pg_beat_send(struct pg_session *session, struct store_op *op)
{
    struct store_beat *beat = container_of(op, struct store_beat, op);
    if (beat->in_turn)
        pg_lock(session, PG_LOCK_TURN);
    pg_sql(session, beat_once, read_beat, beat, beat->incarnation, beat->listens, beat->relays);
    pg_sql(session, other_lives, read_peers, beat, beat->incarnation);
}

// ---- dying

static void read_bury(void *ctx, const PGresult *result)
{
    struct store_bury *bury = ctx;
    if (PQntuples(result) && !pg_int(result, 0, 1) && pg_int(result, 0, 0) != bury->beat)
        store_op_fail(&bury->op, ERR_MOVED_ON, "it has beaten since");
}

void pg_bury_send(struct pg_session *session, struct store_op *op)
{
    struct store_bury *bury = container_of(op, struct store_bury, op);
    pg_sql(session, bury_one, read_bury, bury, bury->incarnation, bury->beat);
}

static void read_left(void *ctx, const PGresult *result)
{
    struct store_forget *forget = ctx;
    if (PQntuples(result))
        store_op_fail(&forget->op, ERR_MOVED_ON, "it still holds jobs");
}

void pg_forget_send(struct pg_session *session, struct store_op *op)
{
    struct store_forget *forget = container_of(op, struct store_forget, op);
    const char *in_order[] = {lock_one, forget_idle, forget_hands, forget_asks};
    for (size_t i = 0; i < array_count(in_order); i++)
        pg_sql(session, in_order[i], NULL, NULL, forget->incarnation);
    pg_sql(session, find_one, read_left, forget, forget->incarnation);
}
