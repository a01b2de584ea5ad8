// A session to PostgreSQL: one connection in pipeline mode, used by one thread, that never waits longer than its deadline.
//
// Statements are sent with the function that will read their answer, and nobody waits before pg_sync(); so a whole transaction is
// one round trip. A text that comes again is parsed and planned once and kept by the server under a name, unless there is a
// pooler in between, which may give each transaction another connection. Parameters and answers are binary (sql.c).
//
// What it does not do: know what is asked. Host names are resolved by libpq, which cannot be hurried: give an address where that
// matters.
#include "base/crash.h"

#include "base/data/hash.h"
#include "store/postgres/postgres.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { VERSION_MIN = 130000 };

static int64_t now_ms(void)
{
    return clock_mono_ns() / 1000000;
}

void pg_session_init(struct pg_session *session, struct pg *pg, int number)
{
    *session = (struct pg_session){.pg = pg, .number = number};
    arena_init(&session->arena);
    arena_init(&session->query.arena);
}

void pg_session_done(struct pg_session *session)
{
    pg_session_drop(session);
    mem_free(session->pending);
    buf_done(&session->query.sql);
    arena_done(&session->query.arena);
    arena_done(&session->arena);
}

// ---- failures

void pg_fail(struct pg_session *session, enum pg_class class, enum err err, const char *why)
{
    if (session->err)
        return;
    session->err = err;
    session->class = class;
    snprintf(session->why, sizeof session->why, "PostgreSQL: %.200s", why);
    for (size_t n = strlen(session->why); n && session->why[n - 1] == '\n'; n--)
        session->why[n - 1] = 0;
    for (char *at = session->why; (at = strpbrk(at, "\n\t"));) // one line, in which gaps are one blank
        if (at[1] == '\n' || at[1] == '\t')
            memmove(at, at + 1, strlen(at));
        else
            *at++ = ' ';
}

// What a SQLSTATE means, by how it starts; the first row that fits counts. A state that is not listed is a mistake of this
// backend, or of an operation: those that merely shared its transaction are tried without it.
static const struct {
    const char *state;
    enum pg_class class;
    enum err err;
} meanings[] = {
    {"53100", PG_REFUSED, ERR_STORAGE_FULL},    // disk full
    {"53", PG_AWAY, ERR_STORE_UNAVAILABLE},     // too many connections, out of memory
    {"40", PG_RETRY, ERR_STORE_UNAVAILABLE},    // serialization, deadlock
    {"55P03", PG_RETRY, ERR_STORE_UNAVAILABLE}, // a lock was not to be had
    {"23505", PG_RETRY, ERR_INTERNAL},          // somebody else was quicker: the second look sees it
    {"23514", PG_RETRY, ERR_INTERNAL},          // the partition of a day was dropped meanwhile
    {"42P07", PG_RETRY, ERR_INTERNAL},          // or made meanwhile
    {"57014", PG_REFUSED, ERR_STORE_UNAVAILABLE},
    {"57", PG_AWAY, ERR_STORE_UNAVAILABLE}, // shutting down, crashed, starting up
    {"08", PG_AWAY, ERR_STORE_UNAVAILABLE},
    {"25006", PG_AWAY, ERR_STORE_UNAVAILABLE}, // a standby after a failover
    {"42P01", PG_AWAY, ERR_STORE_UNAVAILABLE}, // a table, a column, the schema or the right to use them is gone. The next
    {"42703", PG_AWAY, ERR_STORE_UNAVAILABLE}, // connection shows whether a newer rota did that
    {"26000", PG_AWAY, ERR_STORE_UNAVAILABLE}, // somebody made the server forget a statement,
    {"42P05", PG_AWAY, ERR_STORE_UNAVAILABLE}, // or has one of that name,
    {"0A000", PG_AWAY, ERR_STORE_UNAVAILABLE}, // or changed what it is about
    {"3F000", PG_AWAY, ERR_STORE_UNAVAILABLE},
    {"42501", PG_AWAY, ERR_STORE_UNAVAILABLE},
    {"58", PG_REFUSED, ERR_STORE_UNAVAILABLE},
    {"XX", PG_REFUSED, ERR_STORE_UNAVAILABLE},
};

static void note_result(struct pg_session *session, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *words = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    char why[ERR_WHY_MAX];
    bool ends = severity && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0);
    if (!state || ends || PQstatus(session->conn) == CONNECTION_BAD) {
        pg_fail(session, PG_AWAY, ERR_STORE_UNAVAILABLE, words ? words : PQerrorMessage(session->conn));
        return;
    }
    snprintf(why, sizeof why, "%.180s (%s)", words ? words : "it failed", state);
    for (size_t i = 0; i < array_count(meanings); i++)
        if (strncmp(state, meanings[i].state, strlen(meanings[i].state)) == 0) {
            pg_fail(session, meanings[i].class, meanings[i].err, why);
            return;
        }
    pg_fail(session, PG_REFUSED, ERR_INTERNAL, why);
}

static void note_lost(struct pg_session *session)
{
    const char *words = PQerrorMessage(session->conn);
    pg_fail(session, PG_AWAY, ERR_STORE_UNAVAILABLE, words && *words ? words : "the connection was lost");
}

// ---- waiting

// Until the socket is ready for `events`. False: the deadline passed.
static bool wait_for(struct pg_session *session, short events)
{
    for (;;) {
        int64_t left = session->deadline_ms - now_ms();
        if (left <= 0) {
            pg_fail(session, PG_AWAY, ERR_STORE_UNAVAILABLE, "no answer in time");
            return false;
        }
        struct pollfd socket = {.fd = PQsocket(session->conn), .events = events};
        if (poll(&socket, 1, left > INT32_MAX ? INT32_MAX : (int)left) > 0)
            return true;
    }
}

static bool await_answer(struct pg_session *session)
{
    while (PQisBusy(session->conn)) {
        int unsent = PQflush(session->conn);
        if (unsent < 0) {
            // What the server said before it went is worth more than that it went.
            while (PQisBusy(session->conn) && PQconsumeInput(session->conn))
                ;
            note_lost(session);
            return false;
        }
        if (!wait_for(session, (short)(POLLIN | (unsent ? POLLOUT : 0))))
            return false;
        if (!PQconsumeInput(session->conn)) {
            note_lost(session);
            return false;
        }
    }
    return true;
}

// ---- sending and reading

static void expect(struct pg_session *session, pg_reader *read, void *ctx)
{
    if (session->pending_count == session->pending_cap) {
        session->pending_cap = session->pending_cap ? session->pending_cap * 2 : 16;
        session->pending = mem_grow(session->pending, session->pending_cap * sizeof *session->pending);
    }
    session->pending[session->pending_count++] = (struct pg_pending){read, ctx};
}

// ---- statements with names

// A statement that was sent over this connection. It gets its name when it comes for the second time. One whose name the server
// did not confirm gets another: whether the first is taken cannot be known when the pipeline failed.
struct pg_named {
    int number;         // 0: none yet
    bool sent, settled; // its name was sent to the server; and the server has confirmed it
    size_t size;
    char sql[];
};

static void forget_named(struct pg_session *session)
{
    int64_t hash;
    size_t at = 0;
    for (struct pg_named *named; (named = map_next(&session->named, &at, &hash));)
        mem_free(named);
    map_done(&session->named);
}

static void read_settled(void *ctx, const PGresult *result)
{
    ((struct pg_named *)ctx)->settled = true;
}

static void forget_unsettled(struct pg_session *session)
{
    int64_t hash;
    size_t at = 0;
    for (struct pg_named *named; (named = map_next(&session->named, &at, &hash));)
        named->sent = named->settled;
}

// The statement that is about to be sent, if it has come before. Its text ends with 0.
static struct pg_named *find_named(struct pg_session *session)
{
    if (!session->direct || session->query.once)
        return NULL;
    struct str sql = buf_str(&session->query.sql);
    int64_t hash = (int64_t)hash_bytes(sql.p, sql.n);
    struct pg_named *named = map_get(&session->named, hash);
    if (named && (named->size != sql.n || memcmp(named->sql, sql.p, sql.n) != 0))
        return NULL;
    if (!named && session->named.count < PG_NAMED_MAX) {
        struct pg_named *first = mem_zero(sizeof *first + sql.n);
        first->size = sql.n;
        memcpy(first->sql, sql.p, sql.n);
        map_put(&session->named, hash, first);
    }
    return named;
}

static bool send_named(struct pg_session *session, struct pg_named *named)
{
    const struct pg_query *query = &session->query;
    char name[24];
    if (!named->sent)
        named->number = ++session->names;
    snprintf(name, sizeof name, "rota_%d", named->number);
    if (!named->sent) {
        if (!PQsendPrepare(session->conn, name, query->sql.p, query->count, query->types))
            return false;
        expect(session, read_settled, named);
        named->sent = true;
    }
    return PQsendQueryPrepared(session->conn, name, query->count, query->values, query->lengths, query->formats, 1);
}

void pg_send(struct pg_session *session, pg_reader *read, void *ctx)
{
    struct pg_query *query = &session->query;
    if (session->err)
        return;
    buf_putc(&query->sql, 0);
    struct pg_named *named = find_named(session);
    if (named ? send_named(session, named)
              : PQsendQueryParams(session->conn, query->sql.p, query->count, query->types, query->values, query->lengths,
                                  query->formats, 1))
        expect(session, read, ctx);
    else
        note_lost(session);
}

void pg_run(struct pg_session *session, const char *sql, size_t count, const int64_t *values, pg_reader *read, void *ctx)
{
    pg_begin_query(session);
    pg_put(session, sql);
    for (size_t i = 0; i < count; i++)
        pg_param_int(session, values[i]);
    pg_send(session, read, ctx);
}

void pg_run_once(struct pg_session *session, const char *sql, pg_reader *read, void *ctx)
{
    pg_begin_query(session);
    pg_put(session, sql);
    session->query.once = true;
    pg_send(session, read, ctx);
}

static void take_result(struct pg_session *session, const PGresult *result, struct pg_pending pending)
{
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_FATAL_ERROR)
        note_result(session, result);
    else if ((status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) && pending.read && !session->err)
        pending.read(pending.ctx, result);
}

// Also after a failing statement the answers of those behind it are taken, up to the end of the pipeline: they say nothing.
void pg_sync(struct pg_session *session)
{
    if (!session->err && !PQpipelineSync(session->conn))
        note_lost(session);
    bool sent = !session->err, synced = false;
    for (size_t at = 0; sent && !synced && await_answer(session);) {
        PGresult *result = PQgetResult(session->conn);
        if (!result) {
            at++;
            if (PQstatus(session->conn) == CONNECTION_BAD)
                break;
            continue;
        }
        synced = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
        take_result(session, result, at < session->pending_count ? session->pending[at] : (struct pg_pending){0});
        PQclear(result);
    }
    session->pending_count = 0;
    if (session->err)
        forget_unsettled(session);
    if (sent && !synced)
        note_lost(session); // unless it is known already why
    if (session->err && PQstatus(session->conn) == CONNECTION_BAD)
        session->class = PG_AWAY;
}

void pg_commit(struct pg_session *session)
{
    if (!session->err)
        CRASH_POINT("store.before_commit");
    pg_run(session, "COMMIT", 0, NULL, NULL, NULL);
    pg_sync(session);
    if (session->err)
        return;
    session->stored = true;
    CRASH_POINT("store.after_commit");
}

// ---- connecting

static const char set_up[] =
    "SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_setting('server_version_num'),"
    " current_setting('server_encoding'), CASE WHEN pg_is_in_recovery() THEN 't' ELSE 'f' END, pg_backend_pid()";

static void refuse(struct pg_session *session, enum pg_class class, const char *why)
{
    pg_fail(session, class, class == PG_AWAY ? ERR_STORE_UNAVAILABLE : ERR_BAD_REQUEST, why);
}

static void check_durable(struct pg_session *session, const PGresult *result, enum pg_class class)
{
    const char *fsync = PQgetvalue(result, 0, 0), *commit = PQgetvalue(result, 0, 1);
    char why[ERR_WHY_MAX];
    if (session->pg->allow_unsafe || (strcmp(fsync, "on") == 0 && strcmp(commit, "off") != 0 && strcmp(commit, "local") != 0))
        return;
    snprintf(why, sizeof why,
             "fsync is %s and synchronous_commit is %s: tasks that were accepted could be lost. Set both to on, or add "
             "allow_unsafe=1 to the URL",
             fsync, commit);
    refuse(session, class, why);
}

static void check_settings(void *ctx, const PGresult *result)
{
    struct pg_session *session = ctx;
    const char *encoding = PQgetvalue(result, 0, 3);
    session->direct = pg_int(result, 0, 5) == PQbackendPID(session->conn); // a pooler says a number of its own
    if (strtol(PQgetvalue(result, 0, 2), NULL, 10) < VERSION_MIN)
        refuse(session, PG_REFUSED, "version 13 or newer is needed");
    else if (PQgetvalue(result, 0, 4)[0] == 't')
        refuse(session, PG_AWAY, "this server is a standby, and only reads");
    else if (strcmp(encoding, "UTF8") != 0 && strcmp(encoding, "SQL_ASCII") != 0)
        refuse(session, PG_REFUSED, "the database's encoding must be UTF8");
    else
        check_durable(session, result, PG_REFUSED);
}

// The settings that differ from the server's own. jit would compile what runs for a millisecond. A plan does not depend on how
// much a batch brings. Everything that grows is looked up by an index, row by row, however small it may look: what a table has is
// estimated by what it had when it was vacuumed, which for one that fills and empties is anything. A server whose client has
// frozen or given up goes on with neither its locks nor its statement for long. $1: for how long.
#define TOLD(this_transaction_only)                                                       \
    " set_config('jit','off'," this_transaction_only "),"                                 \
    " set_config('enable_seqscan','off'," this_transaction_only "),"                      \
    " set_config('enable_bitmapscan','off'," this_transaction_only "),"                   \
    " set_config('plan_cache_mode','force_generic_plan'," this_transaction_only "),"      \
    " set_config('idle_in_transaction_session_timeout','10s'," this_transaction_only ")," \
    " set_config('statement_timeout',$1," this_transaction_only ")"

// A session is given its settings once, unless there is a pooler: there each transaction may have another of the server's
// connections, and sends them itself, in the same pipeline. And a commit may only count if it is durable on this connection too.
static const char tell_session[] = "SELECT" TOLD("false");
static const char begin_told[] = "SELECT current_setting('fsync'), current_setting('synchronous_commit')";
static const char begin_telling[] = "SELECT current_setting('fsync'), current_setting('synchronous_commit')," TOLD("true");

static void check_begun(void *ctx, const PGresult *result)
{
    check_durable(ctx, result, PG_AWAY);
}

static void send_told(struct pg_session *session, const char *sql, int64_t timeout_ms, pg_reader *read)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)time_max(timeout_ms, 1)); // 0 would be without end
    pg_begin_query(session);
    pg_put(session, sql);
    pg_param_text(session, str_of(text));
    pg_send(session, read, session);
}

void pg_begin(struct pg_session *session, const char *begin)
{
    int64_t left = session->deadline_ms - now_ms();
    pg_run(session, begin, 0, NULL, NULL, NULL);
    if (session->direct && left <= PG_DEADLINE_MS)
        pg_run(session, begin_told, 0, NULL, check_begun, session);
    else
        send_told(session, begin_telling, left, check_begun);
}

static bool finish_connect(struct pg_session *session)
{
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    while (status != PGRES_POLLING_OK) {
        if (status == PGRES_POLLING_FAILED) {
            note_lost(session);
            return false;
        }
        if (!wait_for(session, status == PGRES_POLLING_READING ? POLLIN : POLLOUT))
            return false;
        status = PQconnectPoll(session->conn);
    }
    return true;
}

static void be_silent(void *ctx, const PGresult *result)
{
}

void pg_session_connect(struct pg_session *session)
{
    // What stands before the URL gives way to it: of several hosts the one that may be written to is taken.
    const char *names[] = {"target_session_attrs", "dbname", "fallback_application_name", "client_encoding", NULL};
    const char *values[] = {"read-write", session->pg->conninfo, "rota", "UTF8", NULL};
    pg_session_drop(session);
    session->err = ERR_OK;
    session->conn = PQconnectStartParams(names, values, 1);
    if (!session->conn)
        abort(); // as when memory is gone
    if (PQstatus(session->conn) == CONNECTION_BAD) {
        note_lost(session);
    } else if (finish_connect(session)) {
        PQsetNoticeReceiver(session->conn, be_silent, NULL);
        if (PQsetnonblocking(session->conn, 1) != 0 || !PQenterPipelineMode(session->conn))
            note_lost(session);
        pg_run(session, set_up, 0, NULL, check_settings, session);
        if (session->pg->prepared)
            pg_send_version(session);
        pg_sync(session);
        if (session->direct) {
            send_told(session, tell_session, PG_DEADLINE_MS, NULL);
            pg_sync(session);
        }
    }
    if (session->err)
        pg_session_drop(session);
}

void pg_session_drop(struct pg_session *session)
{
    PQfinish(session->conn);
    session->conn = NULL;
    session->pending_count = 0;
    session->direct = false;
    forget_named(session);
    map_done(&session->days);
}

bool pg_session_alive(struct pg_session *session)
{
    if (!session->conn || PQstatus(session->conn) == CONNECTION_BAD)
        return false;
    // What a server sends unasked is mostly why it closes the connection; that it is closed shows behind it.
    struct pollfd socket = {.fd = PQsocket(session->conn), .events = POLLIN};
    while (poll(&socket, 1, 0) > 0)
        if (!PQconsumeInput(session->conn) || PQstatus(session->conn) == CONNECTION_BAD)
            return false;
    return true;
}

void pg_session_reset(struct pg_session *session)
{
    if (!session->conn)
        return;
    if (session->class == PG_AWAY || PQstatus(session->conn) == CONNECTION_BAD) {
        pg_session_drop(session);
        return;
    }
    enum err err = session->err;
    session->err = ERR_OK;
    map_done(&session->days); // one of them may be why
    if (PQtransactionStatus(session->conn) != PQTRANS_IDLE) {
        pg_run(session, "ROLLBACK", 0, NULL, NULL, NULL);
        pg_sync(session);
    }
    if (session->err)
        pg_session_drop(session);
    session->err = err;
}
