// What processes write down beside tasks and jobs, for people and for each other: bulks, what was counted minute by minute, and
// events for nodes that listen.
#include "store/sqlite/sqlite.h"

// ---- bulks

static void write_bulk_row(struct db *db, const struct store_bulk_row *row)
{
#define X(name) , row->name
    sqlite3_stmt *stmt = db_sql(db, SQL_WRITE_BULK, row->id, row->tenant BULK_MOVING(X), row->next.at, row->next.id);
#undef X
    db_bind_bytes(stmt, sqlite3_bind_parameter_count(stmt), row->doc);
    db_run(db, stmt);
}

void journal_bulk(struct writer *writer, struct store_op *op)
{
    struct store_bulk *bulk = container_of(op, struct store_bulk, op);
    struct db *db = &writer->db;
    int64_t version;
    if (!db_found(db, db_sql(db, SQL_BULK_VERSION, bulk->row.id), &version))
        version = 0;
    if (version == bulk->row.version)
        write_bulk_row(db, &bulk->row);
    else
        store_op_fail(op, ERR_MOVED_ON, "the bulk has changed meanwhile");
    db_run(db, db_sql(db, SQL_FORGET_BULKS, bulk->forget_before));
}

void journal_bulks(struct db *db, struct store_op *op)
{
    struct store_bulks *bulks = container_of(op, struct store_bulks, op);
    sqlite3_stmt *stmt =
        bulks->id ? db_sql(db, SQL_BULK, bulks->id, bulks->tenant) : db_sql(db, SQL_BULKS, store_limit(bulks->max));
    while (db_row(db, stmt)) {
        bulks->rows = store_push(&op->arena, bulks->rows, bulks->row_count, sizeof *bulks->rows);
        struct store_bulk_row *row = &bulks->rows[bulks->row_count++];
        int at = 0;
        row->id = sqlite3_column_int64(stmt, at++);
        row->tenant = sqlite3_column_int(stmt, at++);
        row->version = sqlite3_column_int64(stmt, at++);
#define X(name) row->name = sqlite3_column_int64(stmt, at++);
        BULK_MOVING(X)
#undef X
        row->next.at = sqlite3_column_int64(stmt, at++);
        row->next.id = sqlite3_column_int64(stmt, at++);
        row->doc = db_bytes(stmt, at, &op->arena);
    }
    if (bulks->id && !bulks->row_count)
        store_op_fail(op, ERR_NOT_FOUND, "there is no such bulk");
}

// ---- what was counted

void journal_minute(struct writer *writer, struct store_op *op)
{
    const struct store_minute_row *minute = &container_of(op, struct store_minute, op)->minute;
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_MINUTE, minute->tenant, minute->at, minute->source);
    db_bind_bytes(stmt, 4, minute->doc);
    db_run(&writer->db, stmt);
}

void journal_series(struct db *db, struct store_op *op)
{
    struct store_series *series = container_of(op, struct store_series, op);
    sqlite3_stmt *stmt =
        db_sql(db, SQL_SERIES, series->tenant, series->from_ms, series->to_ms, series->from_source, store_limit(series->max));
    while (db_row(db, stmt)) {
        series->minutes = store_push(&op->arena, series->minutes, series->minute_count, sizeof *series->minutes);
        series->minutes[series->minute_count++] = (struct store_minute_row){.tenant = series->tenant,
                                                                            .at = sqlite3_column_int64(stmt, 0),
                                                                            .source = sqlite3_column_int64(stmt, 1),
                                                                            .doc = db_bytes(stmt, 2, &op->arena)};
    }
}

// ---- events between nodes

void journal_relay(struct writer *writer, struct store_op *op)
{
    const struct store_relay *relay = container_of(op, struct store_relay, op);
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_RELAY, relay->events.source, relay->events.number, relay->now_ms);
    db_bind_bytes(stmt, 4, relay->events.doc);
    db_run(&writer->db, stmt);
}

static int64_t known_of(const struct store_events *events, int64_t source)
{
    for (size_t i = 0; i < events->known_count; i++)
        if (events->known[i].source == source)
            return events->known[i].number;
    return 0;
}

static void read_events(struct db *db, struct store_events *events, int64_t source)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_EVENTS, source, known_of(events, source), store_limit(events->max));
    while (db_row(db, stmt)) {
        events->rows = store_push(&events->op.arena, events->rows, events->row_count, sizeof *events->rows);
        events->rows[events->row_count++] =
            (struct store_event_row){source, sqlite3_column_int64(stmt, 0), db_bytes(stmt, 1, &events->op.arena)};
    }
}

void journal_events(struct db *db, struct store_op *op)
{
    struct store_events *events = container_of(op, struct store_events, op);
    struct store_event_place *sources = NULL;
    size_t count = 0;
    sqlite3_stmt *stmt = db_stmt(db, SQL_SOURCES);
    while (db_row(db, stmt)) {
        sources = store_push(&op->arena, sources, count, sizeof *sources);
        sources[count++] = (struct store_event_place){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1)};
    }
    if (events->from_now) {
        events->last = sources;
        events->last_count = count;
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (sources[i].source != events->skip)
            read_events(db, events, sources[i].source);
}
