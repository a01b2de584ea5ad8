// Puts a node together and takes it apart again in the order of the flow: stop admitting, stop pulling, drain, complete, close.
//
// The threads, and what each owns (ARCHITECTURE.md has the same table):
//   http    libmicrohttpd's: requests, admit, rendering        flow    pull, complete, steer and the tenders
//   exec    dispatch, the HTTP client                          store   the store's own: one writes, one reads
//   events  wakes the streams of GET /v1/events
#include "node/serve.h"

#include "api/api.h"
#include "api/events.h"
#include "base/log.h"
#include "base/mem.h"
#include "exec/exec.h"
#include "flow/flow.h"
#include "http/server.h"
#include "node/loop.h"
#include "node/roles.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

enum {
    ROOM = 8192,  // jobs in hand at most
    SLOTS = 1024, // attempts at once
    CONNECTIONS_IN = 4096,
    IDLE_TIMEOUT_S = 60,
    RESPONSE_KEPT = 4096,
    GRACE_MS = 10000,     // running attempts may take so long to end
    INTERRUPT_MS = 5000,  // … and so long to be written after they were given up
    DESCRIPTORS_OWN = 32, // the store, the loops, the resolver
    DESCRIPTORS_MIN = 64,
};

// Who may have how many descriptors. Were they not shared out, clients who only connect would leave none for calls to targets,
// and every job would lose an attempt; or the calls would leave none to be asked by.
struct shares {
    int slots, connections_in;
};

struct server {
    struct store *store;
    struct exec *exec;
    struct broker *broker;
    struct flow *flow;
    struct loop flow_loop, exec_loop;
    struct http_server *http;
    struct events *events;
    struct api api;
    unsigned roles; // enum role
    bool misused;   // it could not be started because an option is wrong
    _Atomic bool drained;
};

static int64_t turn_flow(void *ctx, struct now now)
{
    struct server *server = ctx;
    int64_t next = flow_turn(server->flow, now);
    if (flow_drained(server->flow))
        atomic_store(&server->drained, true);
    return next;
}

// The executor's own wait is the thread's sleep, so the loop is told to come back at once.
static int64_t turn_exec(void *ctx, struct now now)
{
    struct server *server = ctx;
    enum { LONGEST_MS = 500 };
    int64_t next = time_min(flow_exec_turn(server->flow, now), now.wall_ms + LONGEST_MS);
    int64_t wait_ns = next * 1000000 - clock_wall_ns();
    server->exec->ops->poll(server->exec, wait_ns > 0 ? wait_ns : 0);
    return 0;
}

static bool ready(void *ctx, struct buf *ret_problems)
{
    struct server *server = ctx;
    if (atomic_load(&server->flow->node.stopping))
        buf_puts(ret_problems, "[\"this server is stopping\"]");
    else if (atomic_load(&server->flow->node.add_err) == ERR_STORAGE_FULL)
        buf_puts(ret_problems, "[\"the disk is full: the last submit could not be stored\"]");
    else if (!beat_ok(server->flow->beat))
        buf_puts(ret_problems, "[\"the store does not answer: the heartbeat could not be written\"]");
    else
        return true;
    return false;
}

static bool share_descriptors(struct shares *ret_shares, char why[ERR_WHY_MAX])
{
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
    rlim_t most = DESCRIPTORS_OWN + 4 * SLOTS + CONNECTIONS_IN;
    int room = (int)(count < most ? count : most) - DESCRIPTORS_OWN;
    ret_shares->slots = room / 4 < SLOTS ? room / 4 : SLOTS;
    room -= 2 * ret_shares->slots; // as many calls, and as many connections kept open for the next ones
    ret_shares->connections_in = room < CONNECTIONS_IN ? room : CONNECTIONS_IN;
    return true;
}

static bool start_http(struct server *server, const struct serve_config *config, const struct shares *shares,
                       char why[ERR_WHY_MAX])
{
    struct flow *flow = server->flow;
    server->events = events_new(&flow->node, shares->connections_in / 2); // the other half is for who asks something
    server->api = (struct api){.node = &flow->node,
                               .admit = flow->admit,
                               .steer = flow->steer,
                               .store = server->store,
                               .lanes = flow->lanes,
                               .report = flow->report,
                               .beat = flow->beat,
                               .events = server->events,
                               .listen = config->listen,
                               .no_api = !(server->roles & ROLE_API),
                               .ready = ready,
                               .ready_ctx = server};
    struct http_server_config http = {.listen = config->listen,
                                      .connections_max = shares->connections_in,
                                      .idle_timeout_s = IDLE_TIMEOUT_S,
                                      .begin = api_begin,
                                      .handle = api_handle,
                                      .refuse = api_refuse,
                                      .ctx = &server->api};
    return http_server_start(&server->http, &http, why) == ERR_OK;
}

static void correct_clock(void *ctx, int64_t by_ms)
{
    clock_correct(by_ms);
}

static bool start(struct server *server, const struct serve_config *config, char why[ERR_WHY_MAX])
{
    struct shares shares;
    loop_init(&server->flow_loop, "flow");
    loop_init(&server->exec_loop, "exec");
    if (!share_descriptors(&shares, why))
        return false;
    struct exec_http_config exec = {.connections_max = shares.slots,
                                    .response_max = RESPONSE_KEPT,
                                    .private_allowed = true,
                                    .user_agent = "rota/" ROTA_VERSION};
    struct flow_config flow = {
        .room = ROOM, .slots = shares.slots, .api_only = !(server->roles & ROLES_RUN), .correct_clock = correct_clock};
    rand_secret(&flow.seed, sizeof flow.seed);
    enum err err = store_open(&server->store, config->store, why);
    server->misused = err == ERR_BAD_REQUEST;
    if (err || exec_http_new(&server->exec, &exec, why))
        return false;
    struct waker *exec_waker = exec_http_waker(server->exec);
    server->broker = broker_local_new(ROOM, exec_waker, &server->flow_loop.waker);
    server->flow = flow_new(&flow, server->store, server->broker, server->exec, &server->flow_loop.waker, exec_waker);
    if (!start_http(server, config, &shares, why))
        return false;
    loop_start(&server->flow_loop, turn_flow, server);
    loop_start(&server->exec_loop, turn_exec, server);
    return true;
}

// Only the kind of store, and the directory of SQLite's: other URLs may hold a password.
static int shown_length(const char *store)
{
    struct str url = str_of(store);
    return str_starts(url, STR("sqlite:")) ? (int)url.n : (int)strcspn(store, ":") + 1;
}

static void say_ready(const struct server *server, const struct serve_config *config)
{
    char where[300];
    int host = (int)(strrchr(config->listen, ':') - config->listen);
    snprintf(where, sizeof where, "http://%.*s:%d", host, config->listen, http_server_port(server->http));
    bool all = server->roles == ROLES_ALL;
    fprintf(stderr, "rota %s serves %s (store %.*s%s%s%s)\n", ROTA_VERSION, where, shown_length(config->store), config->store,
            server->store->where, all ? "" : ", role ", all ? "" : config->roles);
    if (server->roles & ROLE_API)
        fprintf(stderr, "  try: curl %s/v1/tasks --json '{\"url\": \"%s/healthz\", \"method\": \"GET\"}'\n", where, where);
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
    log_info("stopping: running attempts have %d s to end; another signal gives them up at once", GRACE_MS / 1000);
    http_server_quiesce(server->http);
    atomic_store(&server->flow->node.stopping, true);
    if (!wait_drained(server, signals, GRACE_MS)) {
        dispatch_interrupt(server->flow->dispatch);
        if (!wait_drained(server, signals, INTERRUPT_MS))
            log_warn("jobs are still in hand; the next start takes them back");
    }
    http_server_stop(server->http);
    events_free(server->events);
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
    events_free(server->events);
    flow_free(server->flow);
    broker_close(server->broker);
    if (server->exec)
        server->exec->ops->close(server->exec);
    loop_done(&server->flow_loop);
    loop_done(&server->exec_loop);
    mem_free(server);
}

static bool read_roles(const struct serve_config *config, unsigned *ret_roles, char why[ERR_WHY_MAX])
{
    if (!roles_parse(config->roles, ret_roles, why))
        return false;
    if (*ret_roles == ROLES_ALL || store_is_shared(config->store))
        return true;
    snprintf(why, ERR_WHY_MAX,
             "--role %.60s leaves the rest to other nodes, and only a postgres:// store can have several; leave --role out",
             config->roles);
    return false;
}

int serve(const struct serve_config *config)
{
    char why[ERR_WHY_MAX] = "";
    // Without keys, whoever can reach the port may do everything: so it must not be reachable from elsewhere.
    if (!http_listen_is_loopback(config->listen)) {
        fprintf(stderr,
                "rota: --listen %s is not a loopback address such as 127.0.0.1:7070 or [::1]:7070: this version has no API "
                "keys yet, so it serves this machine only\n",
                config->listen);
        return 2;
    }
    unsigned roles;
    if (!read_roles(config, &roles, why)) {
        fprintf(stderr, "rota: %s\n", why);
        return 2;
    }
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); // inherited by every thread: they are waited for here
    signal(SIGPIPE, SIG_IGN);

    struct server *server = mem_zero(sizeof *server);
    server->roles = roles;
    if (!start(server, config, why)) {
        fprintf(stderr, "rota: cannot start: %s\n", why);
        int code = server->misused ? 2 : 1;
        store_close(server->store);
        take_apart(server);
        return code;
    }
    say_ready(server, config);
    int signal_number;
    sigwait(&signals, &signal_number);
    stop(server, &signals);
    // Runs that never came back are left to the end of the process, as is everything that may point to them.
    if (atomic_load(&server->drained))
        take_apart(server);
    return 0;
}
