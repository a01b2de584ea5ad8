// The verbs about what processes counted, minute by minute, and what happened at them, for others who listen.
#include "store/postgres/postgres.h"

static const char write_minute[] = "INSERT INTO @series(tenant,at,source,doc) VALUES($1,$2,$3,$4)"
                                   " ON CONFLICT(tenant,at,source) DO UPDATE SET doc=excluded.doc";
static const char minutes[] = "SELECT at, source, doc FROM @series WHERE tenant=$1 AND (at,source)>($2,$4) AND at<$3"
                              " ORDER BY at, source LIMIT $5";
static const char remove_minutes[] =
    "DELETE FROM @series s USING (SELECT tenant,at,source FROM @series WHERE at<$1 ORDER BY at,tenant,source LIMIT $2) g"
    " WHERE s.tenant=g.tenant AND s.at=g.at AND s.source=g.source";

static const char tell_news[] = "INSERT INTO @news(source,number,told_at,doc) VALUES($1,$2,$3,$4) ON CONFLICT DO NOTHING";
static const char last_news[] = "SELECT source, max(number) FROM @news GROUP BY source ORDER BY source";
// The sources are found by jumping from one to the next in the index. $1 who asks, $2 max, $3 sources, $4 what was heard of them.
static const char hear_news[] =
    "WITH RECURSIVE s(source) AS ((SELECT source FROM @news ORDER BY source LIMIT 1) UNION ALL"
    " SELECT (SELECT n.source FROM @news n WHERE n.source>s.source ORDER BY n.source LIMIT 1) FROM s WHERE s.source IS NOT NULL)"
    " SELECT s.source, e.number, e.doc FROM s LEFT JOIN unnest($3::bigint[],$4::bigint[]) h(source,number) ON h.source=s.source"
    " CROSS JOIN LATERAL (SELECT n.number, n.doc FROM @news n WHERE n.source=s.source AND n.number>coalesce(h.number,0)"
    " ORDER BY n.number LIMIT $2) e WHERE s.source<>$1 ORDER BY s.source, e.number";
static const char remove_news[] =
    "DELETE FROM @news n USING (SELECT source,number FROM @news WHERE told_at<$1 ORDER BY told_at,source,number LIMIT $2) g"
    " WHERE n.source=g.source AND n.number=g.number";

static int64_t limit(size_t max)
{
    return max > INT32_MAX ? INT32_MAX : (int64_t)max;
}

// ---- minutes

void pg_tally_send(struct pg_session *session, struct store_op *op)
{
    const struct store_minute *minute = &container_of(op, struct store_tally, op)->minute;
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
        series->minutes[series->minute_count++] = (struct store_minute){.tenant = series->tenant,
                                                                        .at = pg_int(result, row, 0),
                                                                        .source = pg_int(result, row, 1),
                                                                        .doc = pg_bytes(result, row, 2, &series->op.arena)};
    }
}

void pg_series_send(struct pg_session *session, struct store_op *op)
{
    struct store_series *series = container_of(op, struct store_series, op);
    pg_sql(session, minutes, read_minutes, series, series->tenant, series->from_ms, series->to_ms, series->from_source,
           limit(series->max));
}

// ---- news

void pg_tell_send(struct pg_session *session, struct store_op *op)
{
    const struct store_tell *tell = container_of(op, struct store_tell, op);
    pg_begin_query(session);
    pg_put(session, tell_news);
    pg_param_int(session, tell->news.source);
    pg_param_int(session, tell->news.number);
    pg_param_int(session, tell->now_ms);
    pg_param_text(session, tell->news.doc);
    pg_send(session, NULL, NULL);
}

static void read_last(void *ctx, const PGresult *result)
{
    struct store_hear *hear = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        hear->last = store_push(&hear->op.arena, hear->last, hear->last_count, sizeof *hear->last);
        hear->last[hear->last_count++] = (struct store_heard){pg_int(result, row, 0), pg_int(result, row, 1)};
    }
}

static void read_news(void *ctx, const PGresult *result)
{
    struct store_hear *hear = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        hear->news = store_push(&hear->op.arena, hear->news, hear->news_count, sizeof *hear->news);
        hear->news[hear->news_count++] =
            (struct store_news){pg_int(result, row, 0), pg_int(result, row, 1), pg_bytes(result, row, 2, &hear->op.arena)};
    }
}

void pg_hear_send(struct pg_session *session, struct store_op *op)
{
    struct store_hear *hear = container_of(op, struct store_hear, op);
    if (hear->from_now) {
        pg_run(session, last_news, 0, NULL, read_last, hear);
        return;
    }
    int64_t *sources = arena_array(&session->arena, int64_t, hear->heard_count);
    int64_t *numbers = arena_array(&session->arena, int64_t, hear->heard_count);
    for (size_t i = 0; i < hear->heard_count; i++) {
        sources[i] = hear->heard[i].source;
        numbers[i] = hear->heard[i].number;
    }
    pg_begin_query(session);
    pg_put(session, hear_news);
    pg_param_int(session, hear->skip);
    pg_param_int(session, limit(hear->max));
    pg_param_ints(session, sources, hear->heard_count);
    pg_param_ints(session, numbers, hear->heard_count);
    pg_send(session, read_news, hear);
}

void pg_sweep_news_send(struct pg_session *session, const struct store_sweep *sweep, int64_t max)
{
    pg_sql(session, remove_minutes, NULL, NULL, sweep->series_before, max);
    pg_sql(session, remove_news, NULL, NULL, sweep->news_before, max);
}
