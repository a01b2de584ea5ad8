// Puts a node together and takes it apart again in the order of the flow: stop admitting, stop pulling, drain, complete, close.
//
// The threads, and what each owns (ARCHITECTURE.md has the same table):
//   http    requests, admit, rendering                         flow    pull, complete, commands and the tenders
//   exec    dispatch, the HTTP client                          store-… the store's own: ARCHITECTURE.md
//   main    signals, reloading, and the watch over the others
//   events  wakes the streams of GET /v1/events
#include "node/serve.h"

#include "api/api.h"
#include "api/event_streams.h"
#include "base/log.h"
#include "base/mem.h"
#include "exec/exec.h"
#include "flow/flow.h"
#include "flow/zones.h"
#include "http/server/listen.h"
#include "http/server/server.h"
#include "node/activation.h"
#include "node/loop.h"
#include "node/reload.h"
#include "node/roles.h"
#include "node/secret.h"
#include "node/watch.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    JOIN_MS = 5000,       // who waits at a socket that was passed waits so long for the store
    INTERRUPT_MS = 5000,  // attempts that were given up may take so long to be written
    CLOSE_MS = 10000,     // what the rest of a stop may take: answers being sent, the store's last writes
    DESCRIPTORS_OWN = 32, // the store, the loops, the resolver
    DESCRIPTORS_MIN = 64,
    ZONES_MS = 10000, // how often it is looked for a newer tzdata: a look at one file
    RESERVE_MAX = 16, // connections for who comes when all are taken
    LARGE_BLOCK = 512 * 1024,
    EXIT_LOST = 71, // how a process ends whose store's files were taken away
};

// Who may have how many descriptors. Were they not shared out, clients who only connect would leave none for calls to targets,
// and every job would lose an attempt; or the calls would leave none to be asked by.
struct shares {
    int slots, connections_in, reserve_in;
};

struct server {
    struct config *config; // what is in force; the main thread's
    const char *listen;    // where it listens, as a text
    struct store *store;
    struct exec *exec;
    struct broker *broker;
    struct flow *flow;
    struct loop flow_loop, exec_loop;
    struct http_server *http;
    struct event_streams *events;
    struct zones *zones;
    int64_t zones_at; // monotonic: when it was last looked for a newer tzdata
    struct api api;
    struct watch watch;
    uint8_t secret[STORE_SECRET_SIZE]; // of secret_file, if that is given
    char socket_name[ACTIVATION_NAME_MAX];
    int socket;       // passed to us; 0: none
    int bound;        // our own, with its address, until `http` has it; 0: none
    bool on_terminal; // stderr was one at the start
    bool misused;     // it could not be started because an option is wrong
    bool turning;     // the loops were started
    _Atomic bool drained;
    _Atomic bool lost; // the store's files were taken away
};

static int64_t turn_flow(void *ctx, struct now now)
{
    struct server *server = ctx;
    int64_t next = flow_turn(server->flow, now);
    if (atomic_load(&server->flow->node.store_lost) && !atomic_exchange(&server->lost, true))
        kill(getpid(), SIGTERM); // the main thread waits for signals
    if (flow_drained(server->flow))
        atomic_store(&server->drained, true);
    return next;
}

// The exec's own wait is the thread's sleep, so the loop is told to come back at once.
static int64_t turn_exec(void *ctx, struct now now)
{
    struct server *server = ctx;
    enum { LONGEST_MS = 500 };
    int64_t next = time_min(flow_exec_turn(server->flow, now), now.wall_ms + LONGEST_MS);
    int64_t wait_ns = next * 1000000 - clock_wall_ns();
    server->exec->ops->poll(server->exec, wait_ns > 0 ? wait_ns : 0);
    return 0;
}

// What keeps it from doing its work, or NULL. Any thread.
static const char *problem(const struct server *server)
{
    if (atomic_load(&server->flow->node.stopping))
        return "this server is stopping";
    if (atomic_load(&server->flow->node.store_lost) || atomic_load(&server->flow->node.add_err) == ERR_STORE_LOST)
        return "the store's files were taken away";
    if (atomic_load(&server->flow->node.add_err) == ERR_STORAGE_FULL)
        return "the disk is full: the last submit could not be stored";
    return beat_ok(server->flow->beat) ? NULL : "the store does not answer: the heartbeat could not be written";
}

static bool ready(void *ctx, struct buf *ret_problems)
{
    const char *wrong = problem(ctx);
    if (wrong)
        buf_printf(ret_problems, "[\"%s\"]", wrong);
    return !wrong;
}

static bool share_descriptors(const struct config *config, struct shares *ret_shares, char why[ERR_WHY_MAX])
{
    int slots = (int)config_number(config, SET_CALLS_MAX), connections = (int)config_number(config, SET_HTTP_CONNECTIONS);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        limit.rlim_cur = limit.rlim_max = DESCRIPTORS_MIN;
    struct rlimit all = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    rlim_t count = setrlimit(RLIMIT_NOFILE, &all) ? limit.rlim_cur : limit.rlim_max;
    if (count < DESCRIPTORS_MIN) {
        snprintf(why, ERR_WHY_MAX, "%d file descriptors are needed, and only %llu are allowed (ulimit -n)", DESCRIPTORS_MIN,
                 (unsigned long long)count);
        return false;
    }
    int most = DESCRIPTORS_OWN + RESERVE_MAX + 4 * slots + connections;
    int room = (count < (rlim_t)most ? (int)count : most) - DESCRIPTORS_OWN;
    ret_shares->reserve_in = room / 8 < RESERVE_MAX ? room / 8 : RESERVE_MAX;
    room -= ret_shares->reserve_in;
    ret_shares->slots = room / 4 < slots ? room / 4 : slots;
    room -= 2 * ret_shares->slots; // as many calls, and as many connections kept open for the next ones
    ret_shares->connections_in = room < connections ? room : connections;
    if (ret_shares->slots < slots || ret_shares->connections_in < connections)
        log_warn(
            "%llu file descriptors (ulimit -n) are enough for %d calls and %d connections of clients at once, not for %d and %d",
            (unsigned long long)count, ret_shares->slots, ret_shares->connections_in, slots, connections);
    return true;
}

static bool start_http(struct server *server, const struct shares *shares, char why[ERR_WHY_MAX])
{
    struct flow *flow = server->flow;
    const struct config *config = server->config;
    server->listen = server->socket ? server->socket_name : config_text(config, SET_LISTEN);
    server->events = event_streams_new(&flow->node, shares->connections_in / 2); // the other half is for who asks something
    server->api = (struct api){.node = &flow->node,
                               .admit = flow->admit,
                               .commands = flow->commands,
                               .bulk = flow->bulk,
                               .backfills = flow->backfills,
                               .lease_reports = flow->lease_reports,
                               .dispatch = flow->dispatch,
                               .store = server->store,
                               .lanes = flow->lanes,
                               .stats_writer = flow->stats_writer,
                               .beat = flow->beat,
                               .events = server->events,
                               .zones = server->zones,
                               .listen = server->listen,
                               .no_api = !(config_number(config, SET_ROLE) & ROLE_API),
                               .ready = ready,
                               .ready_ctx = server};
    struct http_server_config http = {.listen = server->listen,
                                      .socket = server->socket,
                                      .bound = server->bound,
                                      .connections_max = shares->connections_in + 1, // the watch has one
                                      .reserve_max = shares->reserve_in,
                                      .idle_timeout_s = (int)(config_number(config, SET_HTTP_IDLE_TIMEOUT) / 1000),
                                      .begin = api_begin,
                                      .handle = api_handle,
                                      .refuse = api_refuse,
                                      .ctx = &server->api};
    server->bound = 0;
    return http_server_start(&server->http, &http, why) == ERR_OK;
}

static void correct_clock(void *ctx, int64_t by_ms)
{
    clock_correct(by_ms);
}

// What may change while it runs. The log is set before there is anything else.
static void apply(struct server *server)
{
    const struct config *config = server->config;
    dispatch_limit_hosts(server->flow->dispatch, (int)config_number(config, SET_CALLS_PER_HOST));
    exec_http_keep_response(server->exec, (size_t)config_number(config, SET_CALLS_KEEP_RESPONSE));
    if (server->http)
        http_server_limit_bodies(server->http, (int)config_number(config, SET_HTTP_BODY_TIMEOUT),
                                 (size_t)config_number(config, SET_HTTP_BODY_MEMORY));
}

static void apply_log(const struct config *config)
{
    log_set_level((enum log_level)config_number(config, SET_LOG_LEVEL));
    log_set_format((enum log_format)config_number(config, SET_LOG_FORMAT));
}

static void start_watch(struct server *server)
{
    struct sockaddr_storage address;
    socklen_t size;
    if (http_server_address(server->http, &address, &size))
        watch_server(&server->watch, &address, size);
    watch_loop(&server->watch, &server->flow_loop);
    watch_loop(&server->watch, &server->exec_loop);
}

static bool start_flow(struct server *server, const struct shares *shares, char why[ERR_WHY_MAX])
{
    const struct config *config = server->config;
    int room = (int)config_number(config, SET_JOBS_IN_HAND);
    struct exec_http_config exec = {
        .connections_max = shares->slots, .private_allowed = true, .user_agent = "rota/" ROTA_VERSION};
    uint8_t *secret = config_text(config, SET_SECRET_FILE) ? server->secret : NULL;
    server->zones = zones_new(NULL);
    struct flow_config flow = {.room = room,
                               .zones = server->zones,
                               .room_bytes = (size_t)config_number(config, SET_JOBS_IN_HAND_BYTES),
                               .slots = shares->slots,
                               .shared_secret = secret,
                               .api_only = !(config_number(config, SET_ROLE) & ROLES_RUN),
                               .correct_clock = correct_clock};
    rand_secret(&flow.seed, sizeof flow.seed);
    if (exec_http_new(&server->exec, &exec, why))
        return false;
    struct waker *exec_waker = exec_http_waker(server->exec);
    struct broker_config broker = {.max = room, .orders_waker = exec_waker, .outcomes_waker = &server->flow_loop.waker};
    if (broker_open(&server->broker, "local:", &broker, why))
        return false;
    server->flow = flow_new(&flow, server->store, server->broker, server->exec, &server->flow_loop.waker, exec_waker);
    return true;
}

// Whoever has connected to a socket that was passed expects to be served, not to be told that it is too early: so it is listened
// to when this life has joined. On a socket of our own nobody can have waited.
static void start_loops(struct server *server)
{
    loop_start(&server->flow_loop, turn_flow, server);
    loop_start(&server->exec_loop, turn_exec, server);
    server->turning = true;
    int64_t until = clock_now().mono_ms + JOIN_MS;
    while (server->socket && !beat_ok(server->flow->beat) && clock_now().mono_ms < until)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

// Before the store is made: who mistook the address shall not find a data directory that nobody uses.
static bool take_address(struct server *server, char why[ERR_WHY_MAX])
{
    if (server->socket)
        return true;
    int fd = http_bind(config_text(server->config, SET_LISTEN), why);
    server->bound = fd < 0 ? 0 : fd;
    return fd >= 0;
}

// Before the store is made, too: a server that is told to use a secret must not begin without it.
static bool take_secret(struct server *server, char why[ERR_WHY_MAX])
{
    const char *path = config_text(server->config, SET_SECRET_FILE);
    if (!path)
        return true;
    if (!secret_read(path, server->secret, why)) {
        server->misused = true;
        return false;
    }
    if (*why)
        log_warn("%s", why);
    return true;
}

// A large block goes back to the system when it is freed. Otherwise glibc would begin to keep them after the first, in as many
// heaps as there are threads, full of gaps.
static void tune_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    mallopt(M_TRIM_THRESHOLD, 8 * LARGE_BLOCK);
#endif
}

static bool start(struct server *server, char why[ERR_WHY_MAX])
{
    struct shares shares;
    tune_memory();
    loop_init(&server->flow_loop, "flow");
    loop_init(&server->exec_loop, "exec");
    if (!activation_take(&server->socket, server->socket_name, why) || !share_descriptors(server->config, &shares, why) ||
        !take_secret(server, why) || !take_address(server, why))
        return false;
    enum err err = store_open(&server->store, server->config->store, why);
    server->misused = err == ERR_BAD_REQUEST;
    if (err || !start_flow(server, &shares, why))
        return false;
    apply(server);
    if (server->socket)
        start_loops(server);
    if (!start_http(server, &shares, why))
        return false;
    apply(server);
    if (!server->socket)
        start_loops(server);
    start_watch(server);
    return true;
}

// Only the kind of store, and the directory of SQLite's: other URLs may hold a password.
static int shown_length(const char *store)
{
    struct str url = str_of(store);
    return str_starts(url, STR("sqlite:")) ? (int)url.n : (int)strcspn(store, ":") + 1;
}

// "serves http://127.0.0.1:7070 (store sqlite:./rota-data)"
static void put_where(struct buf *buf, const struct server *server)
{
    const struct config *config = server->config;
    int host = (int)(strrchr(server->listen, ':') - server->listen);
    bool all = config_number(config, SET_ROLE) == ROLES_ALL;
    buf_printf(buf, "serves http://%.*s:%d (store %.*s%s%s%s)", host, server->listen, http_server_port(server->http),
               shown_length(config->store), config->store, server->store->where, all ? "" : ", role ",
               all ? "" : config_text(config, SET_ROLE));
}

static void say_ready(const struct server *server)
{
    const struct config *config = server->config;
    buf_auto struct buf where = {0};
    put_where(&where, server);
    log_say(LOG_INFO, "rota %s " STR_FMT, ROTA_VERSION, STR_ARG(buf_str(&where)));
    bool is_text = config_number(config, SET_LOG_FORMAT) == LOG_TEXT;
    if (server->store->is_new)
        log_say(LOG_INFO, "%sthe database is new: there was none in this directory", is_text ? "  " : "");
    if (is_text && (config_number(config, SET_ROLE) & ROLE_API)) {
        const char *url = memmem(where.p, where.n, "http:", 5);
        int n = (int)strcspn(url, " ");
        log_say(LOG_INFO, "  try: curl %.*s/v1/tasks --json '{\"url\": \"%.*s/healthz\", \"method\": \"GET\"}'", n, url, n, url);
    }
    if (server->socket)
        log_info("the socket was passed by the service manager; listen = %s is not used", config_text(config, SET_LISTEN));
}

// Another signal ends the waiting: whoever stops a server twice is in a hurry.
static bool wait_drained(struct server *server, const sigset_t *signals, int64_t ms)
{
    int64_t until = clock_now().mono_ms + ms;
    while (!atomic_load(&server->drained) && clock_now().mono_ms < until) {
        struct waker *exec_waker = exec_http_waker(server->exec);
        server->flow_loop.waker.wake(&server->flow_loop.waker);
        exec_waker->wake(exec_waker);
        if (sigtimedwait(signals, NULL, &(struct timespec){.tv_nsec = 5000000}) > 0)
            break;
    }
    return atomic_load(&server->drained);
}

static void stop(struct server *server, const sigset_t *signals)
{
    int64_t grace_ms = config_number(server->config, SET_STOP_TIMEOUT);
    log_info("stopping: running attempts have %lld s to end; another signal gives them up at once", (long long)grace_ms / 1000);
    watch_stopping(&server->watch, grace_ms + INTERRUPT_MS + CLOSE_MS);
    http_server_quiesce(server->http);
    flow_stop(server->flow);
    if (!wait_drained(server, signals, grace_ms)) {
        dispatch_interrupt(server->flow->dispatch);
        if (!wait_drained(server, signals, INTERRUPT_MS))
            log_warn("jobs are still in hand; the next start takes them back");
    }
    http_server_stop(server->http);
    event_streams_free(server->events);
    server->events = NULL;
    atomic_store(&server->exec_loop.stop, true);
    exec_http_waker(server->exec)->wake(exec_http_waker(server->exec));
    loop_stop(&server->exec_loop);
    loop_stop(&server->flow_loop);
    if (atomic_load(&server->drained))
        flow_leave(server->flow);
    store_close(server->store);
    log_info("stopped");
}

// As much of it as there is: it may not have been started.
static void take_apart(struct server *server)
{
    event_streams_free(server->events);
    zones_free(server->zones);
    flow_free(server->flow);
    broker_close(server->broker);
    if (server->exec)
        server->exec->ops->close(server->exec);
    loop_done(&server->flow_loop);
    loop_done(&server->exec_loop);
    watch_done(&server->watch);
    if (server->bound)
        close(server->bound);
    mem_free(server);
}

// ---- while it runs

static void reload_config(struct server *server)
{
    watch_reloading(&server->watch);
    if (reload(server->config)) {
        apply_log(server->config);
        apply(server);
    }
    watch_reloaded(&server->watch);
}

// A terminal that is closed sends SIGHUP too, and whoever ran a server in it wants it gone.
static bool terminal_is_gone(const struct server *server)
{
    return server->on_terminal && !isatty(STDERR_FILENO);
}

// Tells the service manager how it is. Returns after how many ms to do so again; < 0: never.
static int64_t look_after(struct server *server)
{
    buf_auto struct buf status = {0};
    const char *wrong = problem(server);
    if (!notify_wanted(&server->watch.notify))
        return -1;
    if (wrong)
        buf_puts(&status, wrong);
    else
        put_where(&status, server);
    buf_putc(&status, 0);
    int64_t again_ms = watch_turn(&server->watch, status.p);
    // So that each has turned by then, however little there is to do.
    server->flow_loop.waker.wake(&server->flow_loop.waker);
    exec_http_waker(server->exec)->wake(exec_http_waker(server->exec));
    return again_ms;
}

static int next_signal(const sigset_t *signals, int64_t wait_ms)
{
    return sigtimedwait(signals, NULL, &(struct timespec){.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000});
}

static void look_for_zones(struct server *server)
{
    char version[ZONE_VERSION_SIZE];
    int64_t now = clock_now().mono_ms;
    if (now - server->zones_at < ZONES_MS)
        return;
    server->zones_at = now;
    if (!zones_refresh(server->zones))
        return;
    zones_version(server->zones, version);
    log_info("tzdata %s is installed: plans follow it", version);
}

static void attend(struct server *server, const sigset_t *signals)
{
    for (;;) {
        look_for_zones(server);
        int64_t wait_ms = look_after(server);
        int number = next_signal(signals, wait_ms < 0 ? ZONES_MS : time_min(wait_ms, ZONES_MS));
        if (number == SIGHUP && !terminal_is_gone(server))
            reload_config(server);
        else if (number > 0)
            return;
    }
}

// Blocked in all threads, which inherit this: they are waited for here.
static void block_signals(sigset_t *ret_signals, sigset_t *ret_ending)
{
    sigemptyset(ret_ending);
    sigaddset(ret_ending, SIGTERM);
    sigaddset(ret_ending, SIGINT);
    *ret_signals = *ret_ending;
    sigaddset(ret_signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, ret_signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); // a file that may not grow (ulimit -f) is a full disk: the write says so
}

int serve(struct config *config)
{
    char why[ERR_WHY_MAX] = "";
    sigset_t signals, ending;
    apply_log(config);
    block_signals(&signals, &ending);
    struct server *server = mem_zero(sizeof *server);
    server->config = config;
    server->on_terminal = isatty(STDERR_FILENO);
    watch_init(&server->watch);
    if (!start(server, why)) {
        log_say(LOG_ERROR, "rota: cannot start: %s", why);
        int code = server->misused ? 2 : 1;
        if (server->turning) // the next start takes back what the loops have in hand, and they go on to the last
            _exit(code);
        store_close(server->store);
        take_apart(server);
        return code;
    }
    say_ready(server);
    attend(server, &signals);
    if (atomic_load(&server->lost)) // what is in hand cannot be given back, nor what runs be written down; the threads go on
        _exit(EXIT_LOST);
    stop(server, &ending);
    // Runs that never came back are left to the end of the process, as is everything that may point to them.
    if (atomic_load(&server->drained))
        take_apart(server);
    return 0;
}
