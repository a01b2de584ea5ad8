// The journal: bulks and how far they have come, what processes counted minute by minute, and their events, for nodes that
// listen.
#include "store/postgres/postgres.h"

// clang-format off

// BULK. $1 id, $2 tenant, $3 the version it had, $4 … $13 the columns that follow, $14 the document.
static const char write_bulk[] =
    "INSERT INTO @bulks AS b(id,tenant,version,{bulk},next_at,next_id,doc)"
    " SELECT $1,$2,1,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14 WHERE $3=0 OR EXISTS (SELECT FROM @bulks WHERE id=$1)"
    " ON CONFLICT(id) DO UPDATE SET version=b.version+1, state=excluded.state, holder=excluded.holder, ended_at=excluded.ended_at,"
    " matched=excluded.matched, changed=excluded.changed, unchanged=excluded.unchanged, failed=excluded.failed,"
    " next_at=excluded.next_at, next_id=excluded.next_id WHERE b.version=$3 RETURNING 1";
static const char forget_bulks[] = "DELETE FROM @bulks WHERE state>{bulk_running} AND ended_at<$1";

// BULKS: one of a tenant, or those of all tenants that run.
static const char one_bulk[] = "SELECT id,tenant,version,{bulk},next_at,next_id,doc FROM @bulks WHERE id=$1 AND tenant=$2";
static const char running_bulks[] =
    "SELECT id,tenant,version,{bulk},next_at,next_id,doc FROM @bulks WHERE state={bulk_running} ORDER BY id LIMIT $1";

// MINUTE, and SERIES: $1 tenant, $2 from, $3 to, $4 the source it begins behind, $5 max.
static const char write_minute[] =
    "INSERT INTO @series(tenant,at,source,doc) VALUES($1,$2,$3,$4) ON CONFLICT(tenant,at,source) DO UPDATE SET doc=excluded.doc";
static const char minutes[] =
    "SELECT at, source, doc FROM @series WHERE tenant=$1 AND (at,source)>($2,$4) AND at<$3 ORDER BY at, source LIMIT $5";

// RELAY.
static const char relay_events[] = "INSERT INTO @events(source,number,relayed_at,doc) VALUES($1,$2,$3,$4) ON CONFLICT DO NOTHING";

// EVENTS, for a node that begins to listen, and for one that goes on. The sources are found by jumping from one to the next in
// the index. $1 the source that asks, $2 max, $3 sources, $4 what was known of them.
static const char last_events[] = "SELECT source, max(number) FROM @events GROUP BY source ORDER BY source";
static const char next_events[] =
    "WITH RECURSIVE sources(source) AS ((SELECT source FROM @events ORDER BY source LIMIT 1) UNION ALL"
    "   SELECT (SELECT n.source FROM @events n WHERE n.source>sources.source ORDER BY n.source LIMIT 1) FROM sources"
    "   WHERE sources.source IS NOT NULL)"
    " SELECT sources.source, told.number, told.doc FROM sources"
    " LEFT JOIN unnest($3::bigint[],$4::bigint[]) known(source,number) ON known.source=sources.source"
    " CROSS JOIN LATERAL (SELECT n.number, n.doc FROM @events n WHERE n.source=sources.source AND n.number>coalesce(known.number,0)"
    "   ORDER BY n.number LIMIT $2) told"
    " WHERE sources.source<>$1 ORDER BY sources.source, told.number";

// SWEEP. $1 what is older goes, $2 max.
static const char remove_minutes[] =
    "DELETE FROM @series s USING (SELECT tenant,at,source FROM @series WHERE at<$1 ORDER BY at,tenant,source LIMIT $2) past"
    " WHERE s.tenant=past.tenant AND s.at=past.at AND s.source=past.source";
static const char remove_events[] =
    "DELETE FROM @events n USING (SELECT source,number FROM @events WHERE relayed_at<$1 ORDER BY relayed_at,source,number LIMIT $2) past"
    " WHERE n.source=past.source AND n.number=past.number";

// clang-format on

// ---- bulks

static void read_bulk(void *ctx, const PGresult *result)
{
    if (!PQntuples(result))
        store_op_fail(&((struct store_bulk *)ctx)->op, ERR_MOVED_ON, "the bulk has changed meanwhile");
}

void pg_bulk_send(struct pg_session *session, struct store_op *op)
{
    struct store_bulk *bulk = container_of(op, struct store_bulk, op);
    const struct store_bulk_row *row = &bulk->row;
#define X(name) , row->name
    int64_t values[] = {row->id, row->tenant, row->version BULK_MOVING(X), row->next.at, row->next.id};
#undef X
    pg_begin_query(session);
    pg_put(session, write_bulk);
    pg_param_each(session, values, array_count(values));
    pg_param_bytes(session, row->doc);
    pg_send(session, read_bulk, bulk);
    pg_sql(session, forget_bulks, NULL, NULL, bulk->forget_before);
}

static void read_bulks(void *ctx, const PGresult *result)
{
    struct store_bulks *bulks = ctx;
    bulks->row_count = (size_t)PQntuples(result);
    bulks->rows = arena_array(&bulks->op.arena, struct store_bulk_row, bulks->row_count);
    for (int row = 0; row < PQntuples(result); row++) {
        struct store_bulk_row *bulk = &bulks->rows[row];
        int at = 0;
        bulk->id = pg_int(result, row, at++);
        bulk->tenant = (int32_t)pg_int(result, row, at++);
        bulk->version = pg_int(result, row, at++);
#define X(name) bulk->name = pg_int(result, row, at++);
        BULK_MOVING(X)
#undef X
        bulk->next.at = pg_int(result, row, at++);
        bulk->next.id = pg_int(result, row, at++);
        bulk->doc = pg_bytes(result, row, at, &bulks->op.arena);
    }
    if (bulks->id && !bulks->row_count)
        store_op_fail(&bulks->op, ERR_NOT_FOUND, "there is no such bulk");
}

void pg_bulks_send(struct pg_session *session, struct store_op *op)
{
    struct store_bulks *bulks = container_of(op, struct store_bulks, op);
    if (bulks->id)
        pg_sql(session, one_bulk, read_bulks, bulks, bulks->id, bulks->tenant);
    else
        pg_sql(session, running_bulks, read_bulks, bulks, store_limit(bulks->max));
}

// ---- minutes

void pg_minute_send(struct pg_session *session, struct store_op *op)
{
    const struct store_minute_row *minute = &container_of(op, struct store_minute, op)->minute;
    pg_begin_query(session);
    pg_put(session, write_minute);
    pg_param_int(session, minute->tenant);
    pg_param_int(session, minute->at);
    pg_param_int(session, minute->source);
    pg_param_text(session, minute->doc);
    pg_send(session, NULL, NULL);
}

static void read_minutes(void *ctx, const PGresult *result)
{
    struct store_series *series = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        series->minutes = store_push(&series->op.arena, series->minutes, series->minute_count, sizeof *series->minutes);
        series->minutes[series->minute_count++] = (struct store_minute_row){.tenant = series->tenant,
                                                                            .at = pg_int(result, row, 0),
                                                                            .source = pg_int(result, row, 1),
                                                                            .doc = pg_bytes(result, row, 2, &series->op.arena)};
    }
}

void pg_series_send(struct pg_session *session, struct store_op *op)
{
    struct store_series *series = container_of(op, struct store_series, op);
    pg_sql(session, minutes, read_minutes, series, series->tenant, series->from_ms, series->to_ms, series->from_source,
           store_limit(series->max));
}

// ---- events between nodes

void pg_relay_send(struct pg_session *session, struct store_op *op)
{
    const struct store_relay *relay = container_of(op, struct store_relay, op);
    pg_begin_query(session);
    pg_put(session, relay_events);
    pg_param_int(session, relay->events.source);
    pg_param_int(session, relay->events.number);
    pg_param_int(session, relay->now_ms);
    pg_param_text(session, relay->events.doc);
    pg_send(session, NULL, NULL);
}

static void read_last(void *ctx, const PGresult *result)
{
    struct store_events *events = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        events->last = store_push(&events->op.arena, events->last, events->last_count, sizeof *events->last);
        events->last[events->last_count++] = (struct store_event_place){pg_int(result, row, 0), pg_int(result, row, 1)};
    }
}

static void read_events(void *ctx, const PGresult *result)
{
    struct store_events *events = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        events->rows = store_push(&events->op.arena, events->rows, events->row_count, sizeof *events->rows);
        events->rows[events->row_count++] =
            (struct store_event_row){pg_int(result, row, 0), pg_int(result, row, 1), pg_bytes(result, row, 2, &events->op.arena)};
    }
}

void pg_events_send(struct pg_session *session, struct store_op *op)
{
    struct store_events *events = container_of(op, struct store_events, op);
    if (events->from_now) {
        pg_run(session, last_events, 0, NULL, read_last, events);
        return;
    }
    int64_t *sources = arena_array(&session->arena, int64_t, events->known_count);
    int64_t *numbers = arena_array(&session->arena, int64_t, events->known_count);
    for (size_t i = 0; i < events->known_count; i++) {
        sources[i] = events->known[i].source;
        numbers[i] = events->known[i].number;
    }
    pg_begin_query(session);
    pg_put(session, next_events);
    pg_param_int(session, events->skip);
    pg_param_int(session, store_limit(events->max));
    pg_param_ints(session, sources, events->known_count);
    pg_param_ints(session, numbers, events->known_count);
    pg_send(session, read_events, events);
}

void pg_sweep_journal_send(struct pg_session *session, const struct store_sweep *sweep, int64_t max)
{
    pg_sql(session, remove_minutes, NULL, NULL, sweep->series_before, max);
    pg_sql(session, remove_events, NULL, NULL, sweep->events_before, max);
}
