// The store in a PostgreSQL database that many processes share.
//
// Five threads, each with a connection of its own: for adding, adding in bulk, changing, reading, and what takes jobs or tends
// them. Each takes the operations that wait as a group and runs them as one transaction in one pipeline: while the database
// works the next ones gather. A request that adds one task does not wait for those that add hundreds, unless so much comes in
// bulk that it is more than one of the database's processes takes.
//
// A database that is away or does not answer within four seconds fails what waits for it, as store_unavailable: what had been
// sent may have been carried out. The connection is dropped and made anew, at once and then after 0.1 to 1 s.
//
// What it does not do: SQL. A session is in session.c, the text of a statement in sql.c, the verbs are in the files of their
// subjects, the tables in schema.c.
#include "store/postgres/postgres.h"

#include <ctype.h>
#include <stdio.h>

enum {
    GROUP_ROWS_MAX = 4096,
    TRIES_MAX = 4,
    CONNECT_MS = 3000,
    LAST_TRY_MS = 500,
    BACK_OFF_MIN_MS = 100,
    BACK_OFF_MAX_MS = 1000,
    MANY_ROWS = 16,  // so many tasks in one operation are added by a thread of their own
    CROWD_ROWS = 500 // so many wait before the other queue for adding helps
};

struct pg_queue {
    struct op_queue queue;
    struct pg_session session;
    void (*run)(struct pg_session *session, struct list *group);
    int64_t since_ms;    // those that wait have waited since then at most
    int64_t began_ms;    // when the latest group began, or what waited was last given up
    int64_t next_try_ms; // not to connect before
    int64_t back_off_ms;
};

enum { QUEUE_ADD, QUEUE_ADD_MANY, QUEUE_TEND, QUEUE_CHANGE, QUEUE_READ, QUEUE_COUNT };

// A group has only one of both: a PLAN locks plans before lanes, which an ADD may have locked already.
static void add_or_plan(struct pg_session *session, struct list *group)
{
    bool plans = list_entry(group->next, struct store_op, link)->verb == STORE_PLAN;
    (plans ? pg_plan_group : pg_add_group)(session, group);
}

static const struct {
    const char *name;
    void (*run)(struct pg_session *session, struct list *group);
} queue_rows[QUEUE_COUNT] = {
    [QUEUE_ADD] = {"store-add", add_or_plan},     [QUEUE_ADD_MANY] = {"store-add-many", add_or_plan},
    [QUEUE_TEND] = {"store-tend", pg_tend_group}, [QUEUE_CHANGE] = {"store-change", pg_change_group},
    [QUEUE_READ] = {"store-read", pg_read_group},
};

static const int queue_of[STORE_VERB_COUNT] = {
    [STORE_JOIN] = QUEUE_TEND,   [STORE_BEAT] = QUEUE_TEND,     [STORE_BURY] = QUEUE_TEND,    [STORE_FORGET] = QUEUE_TEND,
    [STORE_OWNERS] = QUEUE_READ, [STORE_DIVIDE] = QUEUE_TEND,   [STORE_REQUEST] = QUEUE_TEND, [STORE_REQUESTS] = QUEUE_TEND,
    [STORE_ADD] = QUEUE_ADD,     [STORE_CLAIM] = QUEUE_TEND,    [STORE_DUE] = QUEUE_TEND,     [STORE_PAUSE] = QUEUE_TEND,
    [STORE_SWEEP] = QUEUE_TEND,  [STORE_CHANGE] = QUEUE_CHANGE, [STORE_FIND] = QUEUE_READ,    [STORE_LANES] = QUEUE_READ,
    [STORE_GET] = QUEUE_READ,    [STORE_STATS] = QUEUE_READ,    [STORE_LIST] = QUEUE_READ,    [STORE_AMEND] = QUEUE_TEND,
    [STORE_BULKS] = QUEUE_READ,  [STORE_BULK] = QUEUE_TEND,     [STORE_BACKUP] = QUEUE_READ,  [STORE_MINUTE] = QUEUE_TEND,
    [STORE_SERIES] = QUEUE_READ, [STORE_RELAY] = QUEUE_TEND,    [STORE_EVENTS] = QUEUE_READ,  [STORE_REMOVE] = QUEUE_TEND,
    [STORE_AHEAD] = QUEUE_READ,  [STORE_DROP] = QUEUE_TEND,     [STORE_PLANS] = QUEUE_READ,   [STORE_UPCOMING] = QUEUE_READ,
    [STORE_TZDATA] = QUEUE_TEND,
};

static int64_t now_ms(void)
{
    return clock_mono_ns() / 1000000;
}

// ---- a group

static void fail_all(struct list *ops, enum err err, const char *why)
{
    list_each (ops, node)
        store_op_fail(list_entry(node, struct store_op, link), err, why);
    op_queue_give_back(ops);
}

// True: it was carried out. Otherwise the session says what happened, and its connection is usable or gone.
static bool try_group(struct pg_queue *queue, struct list *group)
{
    struct pg_session *session = &queue->session;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        list_each (group, node)
            store_op_clear(list_entry(node, struct store_op, link));
        session->err = ERR_OK;
        session->stored = false;
        session->careful = tries > 0;
        queue->run(session, group);
        arena_done(&session->arena);
        arena_init(&session->arena);
        if (!session->err)
            return true;
        enum pg_class class = session->class;
        pg_session_reset(session);
        if (class != PG_RETRY || session->stored || !session->conn)
            break;
    }
    // A part of it was stored: that is not what a plain refusal says.
    if (session->stored)
        session->err = ERR_STORE_UNAVAILABLE;
    return false;
}

// One operation may be the reason why a group was refused: its neighbours are tried without it.
static void try_each(struct pg_queue *queue, struct list *group)
{
    struct list *node, one;
    list_init(&one);
    while ((node = list_take(group))) {
        list_append(&one, node);
        if (!queue->session.conn || !try_group(queue, &one))
            store_op_fail(list_entry(node, struct store_op, link), queue->session.err, queue->session.why);
        op_queue_give_back(&one);
    }
}

static void run_group(struct pg_queue *queue, struct list *group)
{
    struct pg_session *session = &queue->session;
    queue->began_ms = now_ms();
    session->deadline_ms = queue->began_ms + PG_DEADLINE_MS;
    if (try_group(queue, group))
        op_queue_give_back(group);
    else if (session->conn && session->err == ERR_INTERNAL && !session->stored && group->next != group->prev)
        try_each(queue, group);
    else
        fail_all(group, session->err, session->why);
}

// ---- a queue

// The wait between tries counts from the beginning of a try: one that was not answered has waited long enough by itself.
static void try_connect(struct pg_queue *queue, int64_t until_ms)
{
    struct pg_session *session = &queue->session;
    int64_t now = now_ms();
    session->deadline_ms = time_min(now + CONNECT_MS, until_ms);
    pg_session_connect(session);
    queue->back_off_ms = session->conn ? 0 : time_min(time_max(queue->back_off_ms * 2, BACK_OFF_MIN_MS), BACK_OFF_MAX_MS);
    queue->next_try_ms = now + queue->back_off_ms;
}

// Sees to it that there is a connection. False: what waited has failed instead. A queue that closes tries once, and does not
// wait.
static bool reach(struct pg_queue *queue, struct list *waiting)
{
    struct pg_session *session = &queue->session;
    while (!pg_session_alive(session)) {
        pg_session_drop(session);
        int64_t now = now_ms(), end = queue->since_ms + PG_DEADLINE_MS;
        // The database may have come back since the last try: an operation that has just come must not fail because others waited
        // long.
        if (now >= end && queue->back_off_ms)
            try_connect(queue, now + LAST_TRY_MS);
        if (session->conn)
            continue;
        if (now >= end || (queue->back_off_ms && op_queue_closing(&queue->queue))) {
            op_queue_take(&queue->queue, 0,
                          waiting); // those that came during the last try: they have waited for a part of it already
            fail_all(waiting, ERR_STORE_UNAVAILABLE, session->err ? session->why : "PostgreSQL: no connection");
            queue->began_ms = now;
            return false;
        }
        if (now >= queue->next_try_ms)
            try_connect(queue, end);
        else
            op_queue_take(&queue->queue, (int)(time_min(queue->next_try_ms, end) - now), waiting);
    }
    return true;
}

// A sweep is long. A request locks the row of another incarnation, and a change or removal of a task locks rows that a CHANGE may
// have. A beat in turn waits for others of its kind.
static bool runs_alone(const struct store_op *op)
{
    bool in_turn = op->verb == STORE_BEAT && container_of(op, struct store_beat, op)->in_turn;
    return op->verb == STORE_SWEEP || op->verb == STORE_REQUEST || op->verb == STORE_AMEND || op->verb == STORE_REMOVE || in_turn;
}

static bool run_apart(const struct store_op *op, const struct store_op *next)
{
    return runs_alone(op) || runs_alone(next) || (op->verb == STORE_PLAN) != (next->verb == STORE_PLAN);
}

// Those that come while a group is under way have waited since it began, at most.
static bool take_waiting(struct pg_queue *queue, struct list *ret_waiting)
{
    op_queue_take(&queue->queue, 0, ret_waiting);
    queue->since_ms = queue->began_ms;
    if (!list_empty(ret_waiting))
        return true;
    bool open = op_queue_take(&queue->queue, -1, ret_waiting);
    queue->since_ms = now_ms();
    return open;
}

static void *queue_main(void *ctx)
{
    struct pg_queue *queue = ctx;
    struct list waiting, group;
    list_init(&waiting);
    while (take_waiting(queue, &waiting))
        while (!list_empty(&waiting) && reach(queue, &waiting)) {
            op_queue_take_group(&waiting, GROUP_ROWS_MAX, run_apart, &group);
            run_group(queue, &group);
        }
    return NULL;
}

// ---- opening and closing

// Takes NAME=VALUE out of a list whose parts end at `end` (& of a URL, a space otherwise). True: it was there.
static bool take_option(char *list, char end, const char *name, char *ret_value, size_t size)
{
    size_t n = strlen(name);
    for (char *at = list; (at = strstr(at, name)); at += n) {
        if ((at > list && at[-1] != end && at[-1] != '?') || at[n] != '=')
            continue;
        size_t length = strcspn(at + n + 1, end == '&' ? "&" : " ");
        if (length >= size)
            length = size - 1;
        memcpy(ret_value, at + n + 1, length);
        ret_value[length] = 0;
        char *rest = at + n + 1 + strcspn(at + n + 1, end == '&' ? "&" : " ");
        if (*rest)
            rest++;
        memmove(at, rest, strlen(rest) + 1);
        size_t left = strlen(list);
        if (left && (list[left - 1] == end || list[left - 1] == '?'))
            list[left - 1] = 0;
        return true;
    }
    return false;
}

static bool is_plain_name(const char *name)
{
    for (const char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && *at != '_')
            return false;
    return *name && !isdigit((unsigned char)*name);
}

// What libpq quotes of a connection string it does not understand may be a piece of a password: only what can be the name of a
// parameter of a URL is left, and signs.
static void put_words(char why[ERR_WHY_MAX], const char *words, bool is_url)
{
    size_t n = (size_t)snprintf(why, ERR_WHY_MAX, "\"postgres://USER@HOST/DATABASE\" is meant: ");
    for (bool quoted = false; *words && *words != '\n' && n < 200; quoted = !quoted) {
        int part = (int)strcspn(words, "\"\n");
        bool harmless = part < 2 || (is_url && strspn(words, "abcdefghijklmnopqrstuvwxyz_") == (size_t)part);
        n += (size_t)snprintf(why + n, ERR_WHY_MAX - n, "%.*s%s",
                              quoted && !harmless ? 0
                              : part > 150        ? 150
                                                  : part,
                              words, quoted && !harmless ? "…" : "");
        words += part;
        if (*words == '"' && n + 1 < ERR_WHY_MAX) {
            why[n++] = *words++;
            why[n] = 0;
        }
    }
}

static enum err read_url(struct pg *pg, const char *url, char why[ERR_WHY_MAX])
{
    const char *rest = strchr(url, ':') + 1;
    bool is_url = strncmp(rest, "//", 2) == 0;
    const char *text = is_url ? url : rest;
    char value[64] = "", *words = NULL;
    pg->conninfo = mem_copy(text, strlen(text));
    char *query = is_url ? strchr(pg->conninfo, '?') : pg->conninfo;
    snprintf(pg->schema_name, sizeof pg->schema_name, "rota");
    if (query) {
        if (take_option(query, is_url ? '&' : ' ', "allow_unsafe", value, sizeof value))
            pg->allow_unsafe = strcmp(value, "0") != 0;
        take_option(query, is_url ? '&' : ' ', "schema", pg->schema_name, sizeof pg->schema_name);
    }
    if (pg->allow_unsafe && strcmp(value, "1") != 0) {
        snprintf(why, ERR_WHY_MAX, "allow_unsafe=%.60s: only 1 says so", value);
        return ERR_BAD_REQUEST;
    }
    if (!is_plain_name(pg->schema_name)) {
        snprintf(why, ERR_WHY_MAX, "schema=%.60s: a name of letters, digits and _ is needed", pg->schema_name);
        return ERR_BAD_REQUEST;
    }
    snprintf(pg->schema, sizeof pg->schema, "\"%s\".", pg->schema_name);
    PQconninfoOption *options = PQconninfoParse(pg->conninfo, &words);
    if (!options && *pg->conninfo)
        put_words(why, words ? words : "", is_url);
    bool good = options || !*pg->conninfo;
    PQconninfoFree(options);
    PQfreemem(words);
    return good ? ERR_OK : ERR_BAD_REQUEST;
}

static void free_all(struct pg *pg)
{
    for (int i = 0; i < QUEUE_COUNT; i++) {
        pg_forget_lanes(&pg->queues[i].session);
        pg_session_done(&pg->queues[i].session);
        op_queue_done(&pg->queues[i].queue);
    }
    mem_free(pg->queues);
    mem_free(pg->conninfo);
    mem_free(pg);
}

// The connection that brings the schema up to date is then the tenders'.
static enum err prepare(struct pg *pg, char why[ERR_WHY_MAX])
{
    struct pg_session *session = &pg->queues[QUEUE_TEND].session;
    session->deadline_ms = now_ms() + PG_DEADLINE_MS;
    pg_session_connect(session);
    if (!session->err)
        snprintf(pg->store.where, sizeof pg->store.where, " %.60s on %.80s, schema %s", PQdb(session->conn),
                 PQhost(session->conn), pg->schema_name);
    if (!session->err)
        pg_migrate(session);
    pg->prepared = !session->err;
    snprintf(why, ERR_WHY_MAX, "%s", session->err ? session->why : "");
    return session->err;
}

static enum err pg_open(struct store **ret_store, const char *url, char why[ERR_WHY_MAX])
{
    struct pg *pg = mem_zero(sizeof *pg);
    pg->store.ops = &store_postgres_ops;
    atomic_init(&pg->node, -1);
    pg->queues = mem_zero(QUEUE_COUNT * sizeof *pg->queues);
    for (int i = 0; i < QUEUE_COUNT; i++) {
        op_queue_init(&pg->queues[i].queue);
        pg_session_init(&pg->queues[i].session, pg, i);
        pg->queues[i].run = queue_rows[i].run;
    }
    enum err err = read_url(pg, url, why);
    if (!err)
        err = prepare(pg, why);
    if (err) {
        free_all(pg);
        return err;
    }
    for (int i = 0; i < QUEUE_COUNT; i++)
        pg->queues[i].began_ms = now_ms();
    for (int i = 0; i < QUEUE_COUNT; i++)
        op_queue_start(&pg->queues[i].queue, queue_rows[i].name, queue_main, &pg->queues[i]);
    *ret_store = &pg->store;
    return ERR_OK;
}

static int queue_for_add(struct pg *pg, const struct store_add *add)
{
    int mine = add->count < MANY_ROWS ? QUEUE_ADD : QUEUE_ADD_MANY, other = add->count < MANY_ROWS ? QUEUE_ADD_MANY : QUEUE_ADD;
    size_t rows = op_queue_waiting(&pg->queues[mine].queue);
    return rows >= CROWD_ROWS && rows > op_queue_waiting(&pg->queues[other].queue) ? other : mine;
}

// A PLAN adds jobs, and goes where less waits.
static int queue_for_plan(struct pg *pg)
{
    size_t rows = op_queue_waiting(&pg->queues[QUEUE_ADD_MANY].queue);
    return rows > op_queue_waiting(&pg->queues[QUEUE_ADD].queue) ? QUEUE_ADD : QUEUE_ADD_MANY;
}

static void pg_submit(struct store *store, struct store_op *op)
{
    struct pg *pg = container_of(store, struct pg, store);
    int queue = op->verb == STORE_ADD    ? queue_for_add(pg, container_of(op, struct store_add, op))
                : op->verb == STORE_PLAN ? queue_for_plan(pg)
                                         : queue_of[op->verb];
    op_queue_put(&pg->queues[queue].queue, op);
}

static void pg_close(struct store *store)
{
    struct pg *pg = container_of(store, struct pg, store);
    for (int i = 0; i < QUEUE_COUNT; i++)
        op_queue_close(&pg->queues[i].queue);
    free_all(pg);
}

const struct store_ops store_postgres_ops = {"postgres", true, pg_open, pg_submit, pg_close};
const struct store_ops store_postgresql_ops = {"postgresql", true, pg_open, pg_submit, pg_close};
