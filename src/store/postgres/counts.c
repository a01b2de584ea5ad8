// How many jobs there are of each state, by lane. Each session counts in rows of its own (`stripe`), which are others every ten
// seconds; a sweep adds up those of the past.
#include "core/id.h"
#include "store/postgres/postgres.h"

_Static_assert((ID_RANGE_NODES + 1) * 8 <= PG_STRIPES, "each session of each node has a stripe of its own");

enum { FOLD_MAX = 5000 };

// clang-format off

// STATS: of all tenants, or of one. Lane 0 is the sum of all lanes.
static const char all_counts[] = "SELECT state, sum(amount)::bigint FROM @counts WHERE lane=0 AND $1=0 GROUP BY state";
static const char counts_of_tenant[] =
    "SELECT state, sum(amount)::bigint FROM @counts WHERE lane IN (SELECT id FROM @lanes WHERE tenant=$1) GROUP BY state";

// SWEEP. $1 the period, $2 max. A session that still counts in a past period is left alone.
static const char fold_counts[] =
    "WITH past AS MATERIALIZED (SELECT lane, state, stripe FROM @counts WHERE stripe/{stripes} NOT IN (0,$1,$1-1) LIMIT $2"
    "   FOR UPDATE SKIP LOCKED),"
    " taken AS (DELETE FROM @counts c USING past WHERE c.lane=past.lane AND c.state=past.state AND c.stripe=past.stripe"
    "   RETURNING c.lane, c.state, c.amount),"
    " folded AS (INSERT INTO @counts AS counted(stripe,lane,state,amount)"
    "   SELECT 0, lane, state, sum(amount)::bigint FROM taken GROUP BY lane, state"
    "   ON CONFLICT(lane,state,stripe) DO UPDATE SET amount=counted.amount+excluded.amount)"
    " SELECT count(*) FROM taken";

// clang-format on

static int64_t period(void)
{
    enum { PERIOD_MS = 10000, PERIODS = 65535 };
    return 1 + clock_now().wall_ms / PERIOD_MS % PERIODS;
}

int64_t pg_stripe(const struct pg_session *session)
{
    return period() * PG_STRIPES + (int64_t)(atomic_load(&session->pg->node) + 1) * 8 + session->number;
}

static void read_folded(void *ctx, const PGresult *result)
{
    enum { FOLD_WAIT_MS = 60000 };
    struct pg_session *session = ctx;
    if (pg_int(result, 0, 0) < FOLD_MAX)
        session->fold_at = clock_mono_ns() / 1000000 + FOLD_WAIT_MS;
}

void pg_fold_counts(struct pg_session *session)
{
    if (clock_mono_ns() / 1000000 >= session->fold_at)
        pg_sql(session, fold_counts, read_folded, session, period(), FOLD_MAX);
}

static void read_stats(void *ctx, const PGresult *result)
{
    struct store_stats *stats = ctx;
    for (int row = 0; row < PQntuples(result); row++)
        stats->counts[pg_int(result, row, 0)] = pg_int(result, row, 1);
}

void pg_stats_send(struct pg_session *session, struct store_op *op)
{
    struct store_stats *stats = container_of(op, struct store_stats, op);
    pg_sql(session, stats->tenant ? counts_of_tenant : all_counts, read_stats, stats, stats->tenant);
}
