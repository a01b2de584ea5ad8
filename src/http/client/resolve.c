// Questions to c-ares, and those that wait for an answer. What is known is in names.c.
//
// c-ares answers some questions (numeric hosts, /etc/hosts, no server) from within the call that asks. So an answer is only noted
// where it arrives, and waiters are told from resolve_ready() and resolve_turn().
//
// A change of /etc/resolv.conf is seen: a new channel is made when the file has changed. What was asked before is left to the old
// one, for it is just when nobody answers that the file is changed.
#include "http/client/resolve.h"

#include "base/clock.h"
#include "base/mem.h"
#include "http/client/names.h"

#include <ares.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
    TTL_MIN_S = 10,
    TTL_MAX_S = 30,
    FAILED_TTL_S = 1,
    SILENT_TTL_S = 10, // nobody answered, which takes many seconds to find out: it is not asked again at once
    TRY_MS = 2000,
    TRIES = 3
};

#define SECOND_NS INT64_C(1000000000)
#define RECHECK_NS (5 * SECOND_NS)

// What c-ares knows of the name servers, and the questions it asks them.
struct resolve_channel {
    ares_channel ares;
    int pending; // questions under way
};

struct resolver {
    struct resolve_channel *channel, *leaving; // leaving: the one before, until it has nothing under way; NULL: none
    void (*watch)(void *ctx, int fd, bool readable, bool writable);
    void *ctx;
    struct names names;
    struct list fresh;
    int64_t now_ns, recheck_ns;
    struct timespec conf_changed;
};

static struct resolve_channel *open_channel(struct resolver *resolver, char why[ERR_WHY_MAX]);
static void close_channel(struct resolve_channel *channel);
static void begin_lookups(struct resolver *resolver);
static bool tell_fresh(struct resolver *resolver);

enum err resolver_new(struct resolver **ret_resolver, void (*watch)(void *ctx, int fd, bool readable, bool writable), void *ctx,
                      char why[ERR_WHY_MAX])
{
    struct resolver *resolver = mem_zero(sizeof *resolver);
    resolver->watch = watch;
    resolver->ctx = ctx;
    list_init(&resolver->fresh);
    names_init(&resolver->names);
    if (ares_library_init(ARES_LIB_INIT_ALL) || !(resolver->channel = open_channel(resolver, why))) {
        mem_free(resolver);
        return ERR_INTERNAL;
    }
    *ret_resolver = resolver;
    return ERR_OK;
}

void resolver_free(struct resolver *resolver)
{
    if (!resolver)
        return;
    close_channel(resolver->channel);
    close_channel(resolver->leaving);
    names_done(&resolver->names);
    ares_library_cleanup();
    mem_free(resolver);
}

static const struct resolve_answer too_long = {.why = "the name is too long"};

const struct resolve_answer *resolve_ask(struct resolver *resolver, struct str host, int64_t lane, int64_t now_ns,
                                         struct resolve_waiter *waiter)
{
    resolver->now_ns = now_ns;
    waiter->name = NULL;
    if (host.n > NAMES_HOST_MAX)
        return &too_long;
    struct resolve_name *name = names_find(&resolver->names, host);
    if (!name) {
        name = names_add(&resolver->names, host);
        name->resolver = resolver;
    }
    if (name->lookup.state == LOOKUP_NONE && now_ns < name->until_ns && !name->fresh.next) {
        names_use(name);
        return &name->answer;
    }
    waiter->name = name;
    list_append(&name->waiters, &waiter->link);
    if (name->fresh.next)
        return NULL;
    if (name->lookup.state == LOOKUP_NONE) {
        names_unkeep(name);
        lookups_add(&resolver->names.lookups, &name->lookup, lane, name->answer.count);
    } else {
        lookups_join(&resolver->names.lookups, &name->lookup, lane);
    }
    begin_lookups(resolver);
    return NULL;
}

void resolve_forget(struct resolve_waiter *waiter)
{
    struct resolve_name *name = waiter->name;
    list_remove(&waiter->link);
    waiter->name = NULL;
    if (name && list_empty(&name->waiters) && !lookups_leave(&name->resolver->names.lookups, &name->lookup))
        names_drop(&name->resolver->names, name);
}

void resolve_demote(struct resolver *resolver, struct str host, const union addr *address)
{
    struct resolve_name *name = names_find(&resolver->names, host);
    if (!name)
        return;
    struct resolve_answer *answer = &name->answer;
    for (int i = 0; i < answer->count; i++) {
        union addr found = answer->addresses[i];
        if (!addr_same(&found, address))
            continue;
        memmove(&answer->addresses[i], &answer->addresses[i + 1], sizeof found * (size_t)(answer->count - i - 1));
        answer->addresses[answer->count - 1] = found;
        return;
    }
}

// Reads and writes what can be, and repeats what is due. A channel passes over a descriptor that is not its own.
static void process(struct resolver *resolver, ares_socket_t readable, ares_socket_t writable)
{
    struct resolve_channel *channels[] = {resolver->channel, resolver->leaving};
    for (size_t i = 0; i < array_count(channels); i++)
        if (channels[i])
            ares_process_fd(channels[i]->ares, readable, writable);
}

void resolve_ready(struct resolver *resolver, int fd, bool readable, bool writable, int64_t now_ns)
{
    resolver->now_ns = now_ns;
    process(resolver, readable ? fd : ARES_SOCKET_BAD, writable ? fd : ARES_SOCKET_BAD);
    begin_lookups(resolver);
    tell_fresh(resolver);
}

// When the channel has something to repeat or to give up.
static int64_t due_of(const struct resolve_channel *channel, int64_t now_ns)
{
    struct timeval most = {.tv_sec = 1}, room;
    if (!channel || !channel->pending)
        return TIME_NEVER;
    const struct timeval *next = ares_timeout(channel->ares, &most, &room); // one of the two
    return now_ns + next->tv_sec * SECOND_NS + (next->tv_usec + 1) * 1000;
}

int64_t resolve_turn(struct resolver *resolver, int64_t now_ns)
{
    resolver->now_ns = now_ns;
    process(resolver, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    if (resolver->leaving && !resolver->leaving->pending) {
        close_channel(resolver->leaving);
        resolver->leaving = NULL;
    }
    lookups_turn(&resolver->names.lookups, now_ns);
    begin_lookups(resolver);
    if (tell_fresh(resolver))
        return now_ns; // it may have something to begin before anybody sleeps
    int64_t due_ns = time_min(due_of(resolver->channel, now_ns), due_of(resolver->leaving, now_ns));
    return time_min(due_ns, lookups_turn(&resolver->names.lookups, now_ns));
}

// --- c-ares

static void on_socket(void *ctx, ares_socket_t fd, int readable, int writable)
{
    struct resolver *resolver = ctx;
    resolver->watch(resolver->ctx, fd, readable, writable);
}

static struct timespec conf_changed(void)
{
    struct stat file;
    if (stat("/etc/resolv.conf", &file))
        return (struct timespec){0};
    return file.st_mtim;
}

static struct resolve_channel *open_channel(struct resolver *resolver, char why[ERR_WHY_MAX])
{
    struct resolve_channel *channel = mem_zero(sizeof *channel);
    struct ares_options options = {.timeout = TRY_MS, .tries = TRIES, .sock_state_cb = on_socket, .sock_state_cb_data = resolver};
    resolver->conf_changed = conf_changed();
    int status = ares_init_options(&channel->ares, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB);
    if (!status)
        return channel;
    snprintf(why, ERR_WHY_MAX, "c-ares: %s", ares_strerror(status));
    mem_free(channel);
    return NULL;
}

static void close_channel(struct resolve_channel *channel)
{
    if (!channel)
        return;
    ares_destroy(channel->ares);
    mem_free(channel);
}

static void refresh_channel(struct resolver *resolver)
{
    if (resolver->leaving || resolver->now_ns < resolver->recheck_ns)
        return;
    resolver->recheck_ns = resolver->now_ns + RECHECK_NS;
    struct timespec changed = conf_changed();
    if (!memcmp(&changed, &resolver->conf_changed, sizeof changed))
        return;
    char why[ERR_WHY_MAX];
    struct resolve_channel *anew = open_channel(resolver, why);
    if (!anew)
        return;
    resolver->leaving = resolver->channel;
    resolver->channel = anew;
}

static int ttl_of(const struct ares_addrinfo *found)
{
    int ttl = TTL_MAX_S;
    for (struct ares_addrinfo_node *node = found->nodes; node; node = node->ai_next)
        if (node->ai_ttl < ttl)
            ttl = node->ai_ttl;
    return ttl < TTL_MIN_S ? TTL_MIN_S : ttl;
}

static void keep_addresses(struct resolve_answer *answer, const struct ares_addrinfo *found)
{
    for (struct ares_addrinfo_node *node = found->nodes; node && answer->count < RESOLVE_ADDRESSES_MAX; node = node->ai_next) {
        union addr *address = &answer->addresses[answer->count];
        if (node->ai_addrlen > sizeof *address || (node->ai_family != AF_INET && node->ai_family != AF_INET6))
            continue;
        memcpy(address, node->ai_addr, node->ai_addrlen);
        answer->count++;
    }
}

static void on_answer(void *ctx, int status, int timeouts, struct ares_addrinfo *found)
{
    struct resolve_name *name = ctx;
    if (status == ARES_EDESTRUCTION)
        return; // the resolver is being freed
    name->channel->pending--;
    lookups_end(&name->resolver->names.lookups, &name->lookup);
    name->answer = (struct resolve_answer){0};
    int ttl = status == ARES_ETIMEOUT ? SILENT_TTL_S : FAILED_TTL_S;
    if (status == ARES_SUCCESS) {
        ttl = ttl_of(found);
        keep_addresses(&name->answer, found);
        ares_freeaddrinfo(found);
    }
    if (!name->answer.count)
        name->answer.why = status == ARES_SUCCESS ? "the name has no address" : ares_strerror(status);
    name->until_ns = name->resolver->now_ns + ttl * SECOND_NS;
    list_append(&name->resolver->fresh, &name->fresh);
    names_keep(&name->resolver->names, name);
}

static void ask(struct resolve_name *name)
{
    struct resolver *resolver = name->resolver;
    struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    refresh_channel(resolver);
    name->channel = resolver->channel;
    name->channel->pending++;
    ares_getaddrinfo(name->channel->ares, name->host, NULL, &hints, on_answer, name);
}

// Asks for the names whose turn it is. When there are no others, also for names that nobody waits for any more: whoever asked for
// one will mostly ask again.
static void begin_lookups(struct resolver *resolver)
{
    for (struct lookup *next; (next = lookups_next(&resolver->names.lookups, resolver->now_ns));)
        ask(container_of(next, struct resolve_name, lookup));
}

// True: somebody was told.
static bool tell_fresh(struct resolver *resolver)
{
    struct list *node;
    bool told = false;
    while ((node = list_take(&resolver->fresh))) {
        struct resolve_name *name = list_entry(node, struct resolve_name, fresh);
        struct resolve_answer answer = name->answer; // a waiter may ask again, and the name may go
        struct list waiters, *waiting;
        list_init(&waiters);
        list_splice(&waiters, &name->waiters);
        list_each (&waiters, each)
            list_entry(each, struct resolve_waiter, link)->name = NULL;
        while ((waiting = list_take(&waiters))) {
            struct resolve_waiter *waiter = list_entry(waiting, struct resolve_waiter, link);
            waiter->done(waiter, &answer);
            told = true;
        }
    }
    return told;
}
