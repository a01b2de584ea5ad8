// Names to addresses over c-ares. A fixed table of buckets, because the number of names is bounded, and lists in the order of
// last use: of the names that have addresses, and of those that have none, so that these do not push out the others.
//
// c-ares answers some questions (numeric hosts, /etc/hosts, no server) from within the call that asks. So an answer is only noted
// where it arrives, and waiters are told from resolve_ready() and resolve_turn().
//
// A change of /etc/resolv.conf is seen: a new channel is made when the file has changed. What was asked before is left to the old
// one, for it is just when nobody answers that the file is changed.
#include "http/client/resolve.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "http/client/lookups.h"

#include <ares.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
    BUCKETS = 4096,
    KEPT_MAX = 2048, // names with addresses, and as many without
    HOST_MAX = 255,
    TTL_MIN_S = 10,
    TTL_MAX_S = 30,
    FAILED_TTL_S = 1,
    SILENT_TTL_S = 10, // such a look-up takes many seconds: who waits for it looks again now and then
    TRY_MS = 2000,
    TRIES = 3
};

#define SECOND_NS INT64_C(1000000000)
#define RECHECK_NS (5 * SECOND_NS)

// Names in the order of their last use, oldest first.
struct names {
    struct list used;
    int count;
};

// What c-ares knows of the name servers, and the questions it asks them.
struct channel {
    ares_channel ares;
    int pending; // questions under way
};

struct resolve_name {
    struct list bucket, used;
    struct names *kept; // among which it is; NULL: there is no answer yet, or a new one is looked for
    struct list waiters;
    struct resolver *resolver;
    struct lookup lookup;    // LOOKUP_NONE: none is under way
    struct channel *channel; // that was asked last
    struct list fresh;       // answered, waiters not told yet
    int64_t until_ns;
    struct resolve_answer answer;
    size_t n;
    char host[HOST_MAX + 1]; // lower case
};

struct resolver {
    struct channel *channel, *leaving; // leaving: the one before, until it has nothing under way; NULL: none
    void (*watch)(void *ctx, int fd, bool readable, bool writable);
    void *ctx;
    struct list buckets[BUCKETS];
    struct names good, failed;
    struct lookups lookups;
    struct list fresh;
    int64_t now_ns, recheck_ns;
    struct timespec conf_changed;
};

static struct channel *open_channel(struct resolver *resolver, char why[ERR_WHY_MAX]);
static void close_channel(struct channel *channel);
static struct resolve_name *find(struct resolver *resolver, struct str host);
static struct resolve_name *add(struct resolver *resolver, struct str host);
static void drop(struct resolve_name *name);
static void to_the_end(struct resolve_name *name);
static void keep(struct resolve_name *name);
static void unkeep(struct resolve_name *name);
static void begin_lookups(struct resolver *resolver);
static bool tell_fresh(struct resolver *resolver);

enum err resolver_new(struct resolver **ret_resolver, void (*watch)(void *ctx, int fd, bool readable, bool writable), void *ctx,
                      char why[ERR_WHY_MAX])
{
    struct resolver *resolver = mem_zero(sizeof *resolver);
    resolver->watch = watch;
    resolver->ctx = ctx;
    list_init(&resolver->good.used);
    list_init(&resolver->failed.used);
    list_init(&resolver->fresh);
    lookups_init(&resolver->lookups);
    for (int i = 0; i < BUCKETS; i++)
        list_init(&resolver->buckets[i]);
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
    for (int i = 0; i < BUCKETS; i++)
        list_each (&resolver->buckets[i], node)
            drop(list_entry(node, struct resolve_name, bucket));
    lookups_done(&resolver->lookups);
    ares_library_cleanup();
    mem_free(resolver);
}

static const struct resolve_answer too_long = {.why = "the name is too long"};

const struct resolve_answer *resolve_ask(struct resolver *resolver, struct str host, int64_t lane, int64_t now_ns,
                                         struct resolve_waiter *waiter)
{
    resolver->now_ns = now_ns;
    waiter->name = NULL;
    if (host.n > HOST_MAX)
        return &too_long;
    struct resolve_name *name = find(resolver, host);
    if (!name)
        name = add(resolver, host);
    if (name->lookup.state == LOOKUP_NONE && now_ns < name->until_ns && !name->fresh.next) {
        to_the_end(name);
        return &name->answer;
    }
    waiter->name = name;
    list_append(&name->waiters, &waiter->link);
    if (name->fresh.next)
        return NULL;
    if (name->lookup.state == LOOKUP_NONE) {
        unkeep(name);
        lookups_add(&resolver->lookups, &name->lookup, lane, name->answer.count);
    } else {
        lookups_join(&resolver->lookups, &name->lookup, lane);
    }
    begin_lookups(resolver);
    return NULL;
}

void resolve_forget(struct resolve_waiter *waiter)
{
    struct resolve_name *name = waiter->name;
    list_remove(&waiter->link);
    waiter->name = NULL;
    if (name && list_empty(&name->waiters) && !lookups_leave(&name->resolver->lookups, &name->lookup))
        drop(name);
}

// By members: what a library leaves in the bytes between and behind them says nothing.
static bool same_address(const union resolve_address *a, const union resolve_address *b)
{
    if (a->any.sa_family != b->any.sa_family)
        return false;
    if (a->any.sa_family == AF_INET)
        return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
    return IN6_ARE_ADDR_EQUAL(&a->v6.sin6_addr, &b->v6.sin6_addr) && a->v6.sin6_scope_id == b->v6.sin6_scope_id;
}

void resolve_demote(struct resolver *resolver, struct str host, const union resolve_address *address)
{
    struct resolve_name *name = find(resolver, host);
    if (!name)
        return;
    struct resolve_answer *answer = &name->answer;
    for (int i = 0; i < answer->count; i++) {
        union resolve_address found = answer->addresses[i];
        if (!same_address(&found, address))
            continue;
        memmove(&answer->addresses[i], &answer->addresses[i + 1], sizeof found * (size_t)(answer->count - i - 1));
        answer->addresses[answer->count - 1] = found;
        return;
    }
}

// Reads and writes what can be, and repeats what is due. A channel passes over a descriptor that is not its own.
static void process(struct resolver *resolver, ares_socket_t readable, ares_socket_t writable)
{
    struct channel *channels[] = {resolver->channel, resolver->leaving};
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
static int64_t due_of(const struct channel *channel, int64_t now_ns)
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
    lookups_turn(&resolver->lookups, now_ns);
    begin_lookups(resolver);
    if (tell_fresh(resolver))
        return now_ns; // it may have something to begin before anybody sleeps
    int64_t due_ns = time_min(due_of(resolver->channel, now_ns), due_of(resolver->leaving, now_ns));
    return time_min(due_ns, lookups_turn(&resolver->lookups, now_ns));
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

static struct channel *open_channel(struct resolver *resolver, char why[ERR_WHY_MAX])
{
    struct channel *channel = mem_zero(sizeof *channel);
    struct ares_options options = {.timeout = TRY_MS, .tries = TRIES, .sock_state_cb = on_socket, .sock_state_cb_data = resolver};
    resolver->conf_changed = conf_changed();
    int status = ares_init_options(&channel->ares, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB);
    if (!status)
        return channel;
    snprintf(why, ERR_WHY_MAX, "c-ares: %s", ares_strerror(status));
    mem_free(channel);
    return NULL;
}

static void close_channel(struct channel *channel)
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
    struct channel *anew = open_channel(resolver, why);
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
        union resolve_address *address = &answer->addresses[answer->count];
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
    lookups_end(&name->resolver->lookups, &name->lookup);
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
    keep(name);
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

// Asks for those whose turn it is; when nobody waits for others, also for those that are left: who asked will mostly ask again.
static void begin_lookups(struct resolver *resolver)
{
    for (struct lookup *next; (next = lookups_next(&resolver->lookups, resolver->now_ns));)
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

// --- the cache

static size_t fold(char ret_host[HOST_MAX + 1], struct str host)
{
    for (size_t i = 0; i < host.n; i++)
        ret_host[i] = host.p[i] >= 'A' && host.p[i] <= 'Z' ? (char)(host.p[i] | 0x20) : host.p[i];
    ret_host[host.n] = 0;
    return host.n;
}

static struct list *bucket_of(struct resolver *resolver, struct str host)
{
    return &resolver->buckets[hash_bytes(host.p, host.n) % BUCKETS];
}

static struct resolve_name *find(struct resolver *resolver, struct str host)
{
    char folded[HOST_MAX + 1];
    struct str key = {folded, fold(folded, host)};
    struct list *bucket = bucket_of(resolver, key);
    list_each (bucket, node) {
        struct resolve_name *name = list_entry(node, struct resolve_name, bucket);
        if (str_eq(key, (struct str){name->host, name->n}))
            return name;
    }
    return NULL;
}

static void unkeep(struct resolve_name *name)
{
    if (!name->kept)
        return;
    list_remove(&name->used);
    name->kept->count--;
    name->kept = NULL;
}

static void drop(struct resolve_name *name)
{
    unkeep(name);
    lookups_end(&name->resolver->lookups, &name->lookup);
    list_remove(&name->bucket);
    mem_free(name);
}

static void to_the_end(struct resolve_name *name)
{
    list_remove(&name->used);
    list_append(&name->kept->used, &name->used);
}

// It has an answer; the one of its kind that was not used for the longest has to go for it.
static void keep(struct resolve_name *name)
{
    struct names *kept = name->answer.count ? &name->resolver->good : &name->resolver->failed;
    name->kept = kept;
    list_append(&kept->used, &name->used);
    kept->count++;
    while (kept->count > KEPT_MAX) {
        struct resolve_name *oldest = list_entry(kept->used.next, struct resolve_name, used);
        if (oldest->fresh.next)
            return; // its waiters are told first; the next one that is kept looks again
        drop(oldest);
    }
}

static struct resolve_name *add(struct resolver *resolver, struct str host)
{
    struct resolve_name *name = mem_zero(sizeof *name);
    name->resolver = resolver;
    name->n = fold(name->host, host);
    list_init(&name->waiters);
    list_append(bucket_of(resolver, (struct str){name->host, name->n}), &name->bucket);
    return name;
}
