// A stream has a position in the events and sleeps while there is nothing for it. The thread looks at all of them when something
// was told, but not more often than every PUMP_MS: at a thousand events a second a client is sent a hundred at once, and not a
// thousand times one. What a stream's filter leaves out is passed over without waking it.
//
// A client that does not take what it is sent falls behind until its position is not kept any more; then it is cut off, and may
// come back with Last-Event-ID.
//
// One lock guards the streams. It is held while one is woken, and taken by the HTTP thread to read and to close.
#include "api/event_streams.h"

#include "api/handlers.h"
#include "api/reply.h"
#include "base/cond.h"
#include "base/mem.h"
#include "base/text/when.h"
#include "core/task/task.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    PUMP_MS = 100,
    TICK_MS = 1000, // how often it looks whether a heartbeat is due
    HEARTBEAT_MS = 15000,
};

struct event_streams {
    struct waker waker; // first, so that the waker leads here
    struct node *node;
    int streams_max;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_bool signalled;
    bool stop;
    struct list streams;
    int count;
};

struct stream {
    struct list link;
    struct event_streams *events;
    struct http_stream *http; // NULL until it was answered
    struct events_filter filter;
    struct events_at at;
    uint64_t ready_from; // from this position on it can be told that it misses nothing
    bool ready_told;
    bool beat_due;
    int64_t beat_at; // monotonic
    struct buf own;  // what is to be sent before the events
    size_t own_at;
};

static void *pump_main(void *ctx);

static void wake(struct waker *waker)
{
    struct event_streams *events = (struct event_streams *)waker;
    if (atomic_exchange(&events->signalled, true))
        return;
    pthread_mutex_lock(&events->lock);
    pthread_cond_signal(&events->wake);
    pthread_mutex_unlock(&events->lock);
}

struct event_streams *event_streams_new(struct node *node, int streams_max)
{
    struct event_streams *events = mem_zero(sizeof *events);
    events->waker.wake = wake;
    events->node = node;
    events->streams_max = streams_max;
    list_init(&events->streams);
    pthread_mutex_init(&events->lock, NULL);
    cond_init(&events->wake);
    if (pthread_create(&events->thread, NULL, pump_main, events))
        abort();
    pthread_setname_np(events->thread, "events");
    events_wake(node->events, &events->waker);
    return events;
}

void event_streams_free(struct event_streams *events)
{
    if (!events)
        return;
    events_wake(events->node->events, NULL);
    pthread_mutex_lock(&events->lock);
    events->stop = true;
    pthread_cond_signal(&events->wake);
    pthread_mutex_unlock(&events->lock);
    pthread_join(events->thread, NULL);
    pthread_cond_destroy(&events->wake);
    pthread_mutex_destroy(&events->lock);
    mem_free(events);
}

int event_streams_count(struct event_streams *events)
{
    pthread_mutex_lock(&events->lock);
    int count = events->count;
    pthread_mutex_unlock(&events->lock);
    return count;
}

// ---- the thread

static bool is_ready(const struct stream *stream)
{
    return !stream->ready_told && stream->at.seq >= stream->ready_from && !stream->at.offset &&
           events_ready(stream->events->node->events);
}

static void look_at(struct stream *stream, int64_t now_ms)
{
    enum events_reading found = events_seek(stream->events->node->events, &stream->filter, &stream->at);
    if (now_ms >= stream->beat_at) {
        stream->beat_due = true;
        stream->beat_at = now_ms + HEARTBEAT_MS;
    }
    if (!stream->http)
        return;
    if (found == EVENT_GONE)
        http_stream_cut(stream->http);
    else if (found == EVENT_SOME || stream->beat_due || is_ready(stream))
        http_stream_wake(stream->http);
}

// Until something was told, if that is waited for, or `ms` have passed; -1: without end.
static void sleep_for(struct event_streams *events, int64_t ms, bool until_signalled)
{
    int64_t until = cond_until(ms);
    bool patient = true;
    while (patient && !events->stop && !(until_signalled && atomic_load(&events->signalled)))
        patient = cond_wait(&events->wake, &events->lock, until);
}

static void *pump_main(void *ctx)
{
    struct event_streams *events = ctx;
    int64_t pumped_at = 0;
    pthread_mutex_lock(&events->lock);
    while (!events->stop) {
        sleep_for(events, list_empty(&events->streams) ? -1 : TICK_MS, true);
        int64_t early = pumped_at + PUMP_MS - clock_now().mono_ms;
        if (early > 0)
            sleep_for(events, early, false);
        atomic_store(&events->signalled, false);
        pumped_at = clock_now().mono_ms;
        list_each (&events->streams, link)
            look_at(list_entry(link, struct stream, link), pumped_at);
    }
    pthread_mutex_unlock(&events->lock);
    return NULL;
}

// ---- a stream, on the HTTP thread

static void put_own(struct stream *stream, const char *type, const char *reason)
{
    char time[WHEN_TEXT_SIZE];
    when_format(time, clock_now().wall_ms);
    buf_puts(&stream->own, "id: ");
    events_put_id(stream->events->node->events, &stream->own, stream->at);
    buf_printf(&stream->own, "\nevent: %s\ndata: {\"type\":\"%s\",\"time\":\"%s\"", type, type, time);
    if (reason)
        buf_printf(&stream->own, ",\"reason\":\"%s\"", reason);
    buf_puts(&stream->own, "}\n\n");
}

static size_t read_own(struct stream *stream, char *to, size_t max)
{
    size_t left = stream->own.n - stream->own_at, n = left < max ? left : max;
    if (n)
        memcpy(to, stream->own.p + stream->own_at, n);
    stream->own_at += n;
    if (stream->own_at == stream->own.n) {
        buf_done(&stream->own);
        stream->own_at = 0;
    }
    return n;
}

static long read_stream(struct stream *stream, char *to, size_t max)
{
    size_t n;
    if (!stream->own.n && is_ready(stream)) {
        stream->ready_told = true;
        put_own(stream, "ready", NULL);
    }
    if (stream->own.n)
        return (long)read_own(stream, to, max);
    enum events_reading found = events_read(stream->events->node->events, &stream->filter, &stream->at, to, max, &n);
    if (found != EVENT_NOTHING)
        return found == EVENT_GONE ? -1 : (long)n;
    if (is_ready(stream))
        return read_stream(stream, to, max);
    if (!stream->beat_due)
        return 0;
    buf_puts(&stream->own, ":\n\n");
    return (long)read_own(stream, to, max);
}

static long on_read(void *ctx, char *to, size_t max)
{
    struct stream *stream = ctx;
    pthread_mutex_lock(&stream->events->lock);
    long n = read_stream(stream, to, max);
    if (n > 0) {
        stream->beat_due = false;
        stream->beat_at = clock_now().mono_ms + HEARTBEAT_MS;
    }
    pthread_mutex_unlock(&stream->events->lock);
    return n;
}

static void on_closed(void *ctx)
{
    struct stream *stream = ctx;
    struct event_streams *events = stream->events;
    pthread_mutex_lock(&events->lock);
    list_remove(&stream->link);
    events->count--;
    pthread_mutex_unlock(&events->lock);
    events_leave(events->node->events);
    buf_done(&stream->own);
    mem_free(stream);
}

static const struct http_stream_ops stream_ops = {on_read, on_closed};

// ---- the request

static struct str cut_word(struct str *rest)
{
    const char *comma = rest->n ? memchr(rest->p, ',', rest->n) : NULL;
    struct str word = {rest->p, comma ? (size_t)(comma - rest->p) : rest->n};
    *rest = comma ? (struct str){comma + 1, rest->n - word.n - 1} : (struct str){0};
    return word;
}

static bool refuse_type(const struct api_call *call)
{
    buf_auto struct buf known = {0};
    for (int i = 0; i < EVENT_TYPE_COUNT; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", events_type_text((enum event_type)i));
    problem_say(call->request, ERR_INVALID_FIELD, "type", "type is one or more of these, with commas between: " STR_FMT ".",
                STR_ARG(buf_str(&known)));
    return false;
}

static bool parse_types(const struct api_call *call, unsigned *ret_types)
{
    struct str rest = http_query(call->request, "type");
    enum event_type type;
    *ret_types = rest.p ? 0 : ~0u;
    while (rest.p) {
        if (!events_type_parse(cut_word(&rest), &type))
            return refuse_type(call);
        *ret_types |= 1u << type;
    }
    return true;
}

static bool parse_queue(const struct api_call *call, char ret_queue[EVENT_QUEUE_SIZE])
{
    struct str queue = http_query(call->request, "queue");
    if (queue.p && !task_name_fits(queue)) {
        problem_say(call->request, ERR_INVALID_FIELD, "queue", "queue is a name of " TASK_NAME_WORDS ".");
        return false;
    }
    snprintf(ret_queue, EVENT_QUEUE_SIZE, STR_FMT, STR_ARG(queue));
    return true;
}

static bool parse_filter(const struct api_call *call, struct events_filter *ret_filter)
{
    *ret_filter = (struct events_filter){.tenant = call->tenant};
    struct str task = http_query(call->request, "task");
    if (task.p && !id_parse(task, ID_TASK, &ret_filter->task_id)) {
        problem_say(call->request, ERR_INVALID_FIELD, "task", "task is the id of a task.");
        return false;
    }
    return parse_queue(call, ret_filter->queue) && parse_types(call, &ret_filter->types);
}

// Where the stream begins: behind what the client has seen, or with what comes from now on.
static void begin(struct stream *stream, struct http_request *request)
{
    struct events *events = stream->events->node->events;
    struct str seen = http_header(request, "Last-Event-ID");
    stream->at = events_end(events);
    stream->ready_from = stream->at.seq;
    if (seen.p && !events_find(events, seen, &stream->at))
        put_own(stream, "gap", "what followed the event named by Last-Event-ID is not kept here any more");
}

static bool add_stream(struct event_streams *events, struct stream *stream)
{
    pthread_mutex_lock(&events->lock);
    bool room = events->count < events->streams_max;
    if (room) {
        list_append(&events->streams, &stream->link);
        events->count++;
    }
    pthread_mutex_unlock(&events->lock);
    if (room)
        wake(&events->waker); // from now on it has to look for heartbeats, too
    return room;
}

void event_streams_stream(const struct api_call *call)
{
    struct event_streams *events = call->api->events;
    struct http_request *request = call->request;
    struct events_filter filter;
    if (!parse_filter(call, &filter))
        return;
    if (atomic_load(&events->node->stopping)) {
        problem_say(request, ERR_STOPPING, NULL, "Try another server, or this one again in a while.");
        return;
    }
    http_header_set(request, "Cache-Control", "no-store");
    http_header_set(request, "X-Accel-Buffering", "no"); // a proxy that gathers would hold events back
    if (str_is(http_method(request), "HEAD")) {
        http_reply_head(request, "text/event-stream");
        return;
    }
    struct stream *stream = mem_zero(sizeof *stream);
    *stream = (struct stream){.events = events, .filter = filter, .beat_at = clock_now().mono_ms + HEARTBEAT_MS};
    events_listen(events->node->events); // before its position is taken: what is told from now on is kept
    begin(stream, request);
    if (!add_stream(events, stream)) {
        events_leave(events->node->events);
        buf_done(&stream->own);
        mem_free(stream);
        problem_say(request, ERR_BUSY, NULL, "This node has as many streams of events as it takes.");
        return;
    }
    struct http_stream *http = http_reply_stream(request, "text/event-stream", &stream_ops, stream);
    pthread_mutex_lock(&events->lock);
    stream->http = http;
    pthread_mutex_unlock(&events->lock);
}
