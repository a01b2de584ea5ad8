// The ring of events for the clients of this node, and the lines that are put out for other nodes.
//
// A text in the ring is a whole event of a stream, with its id, type and data, so that it is rendered once however many clients
// read it. The id is the name of this process's events and the number in it. Whenever keeping begins anew a number is left out,
// so that a client that comes back with an older id learns of a gap.
//
// A line that is put out is "TYPE TENANT TASK DATA\n": what a filter of the other node needs, and the data as it is.
#include "flow/events.h"

#include "base/mem.h"
#include "base/rand.h"
#include "base/text/json.h"
#include "base/text/when.h"
#include "core/id.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct kept {
    char *text;
    size_t n;
    enum event_type type;
    int32_t tenant;
    int64_t task_id;
};

struct events {
    uint64_t name; // random: an id of another process's events is not taken for one of these
    struct waker *flow_waker;
    atomic_bool keeping, putting_out, ready;
    atomic_int clients;
    pthread_mutex_t lock; // of all below
    struct waker *waker;
    struct kept *ring;    // of EVENT_KEPT, by number; NULL before the first client
    uint64_t first, next; // numbers: what is kept, and what comes next
    size_t bytes;         // of texts
    struct buf out;       // lines
    bool out_lost;        // some did not fit
};

static const char *const texts[EVENT_TYPE_COUNT] = {
#define X(name, text, words) text,
    EVENT_TYPES(X)
#undef X
};

const char *events_type_text(enum event_type type)
{
    return texts[type];
}

bool events_type_parse(struct str text, enum event_type *ret_type)
{
    for (int i = 0; i < EVENT_TYPE_COUNT; i++)
        if (str_is(text, texts[i])) {
            *ret_type = (enum event_type)i;
            return true;
        }
    return false;
}

struct events *events_new(struct waker *flow_waker)
{
    struct events *events = mem_zero(sizeof *events);
    rand_secret(&events->name, sizeof events->name);
    events->flow_waker = flow_waker;
    events->first = events->next = 1;
    pthread_mutex_init(&events->lock, NULL);
    return events;
}

static struct kept *at_number(const struct events *events, uint64_t number)
{
    return &events->ring[number % EVENT_KEPT];
}

static void drop_oldest(struct events *events)
{
    struct kept *kept = at_number(events, events->first++);
    events->bytes -= kept->n;
    mem_free(kept->text);
    *kept = (struct kept){0};
}

static void drop_all(struct events *events)
{
    while (events->first < events->next)
        drop_oldest(events);
    mem_free(events->ring);
    events->ring = NULL;
}

void events_free(struct events *events)
{
    if (!events)
        return;
    drop_all(events);
    buf_done(&events->out);
    pthread_mutex_destroy(&events->lock);
    mem_free(events);
}

bool events_wanted(const struct events *events)
{
    return atomic_load_explicit(&events->keeping, memory_order_relaxed) ||
           atomic_load_explicit(&events->putting_out, memory_order_relaxed);
}

// ---- emitting

static void put_text(struct buf *buf, const char *name, struct str text)
{
    if (!text.n)
        return;
    buf_printf(buf, ",\"%s\":", name);
    json_put_string(buf, text);
}

static void put_id(struct buf *buf, const char *name, enum id_kind kind, int64_t id)
{
    char text[ID_TEXT_SIZE];
    if (!id)
        return;
    id_format(text, kind, id);
    buf_printf(buf, ",\"%s\":\"%s\"", name, text);
}

static void put_time(struct buf *buf, const char *name, int64_t ms)
{
    char text[WHEN_TEXT_SIZE];
    if (!ms)
        return;
    when_format(text, ms);
    buf_printf(buf, ",\"%s\":\"%s\"", name, text);
}

static void put_data(struct buf *buf, const struct event_item *item)
{
    buf_printf(buf, "{\"type\":\"%s\"", texts[item->type]);
    put_time(buf, "time", item->at_ms);
    put_id(buf, "task_id", ID_TASK, item->task_id);
    put_id(buf, "job_id", ID_JOB, item->job_id);
    if (item->job_id)
        buf_printf(buf, ",\"state\":\"%s\"", job_state_text(item->state));
    put_text(buf, "queue", item->queue);
    put_text(buf, "name", item->name);
    if (item->attempt)
        buf_printf(buf, ",\"attempt\":%d", item->attempt);
    if (item->outcome)
        buf_printf(buf, ",\"outcome\":\"%s\"", job_outcome_text(item->outcome));
    if (item->status)
        buf_printf(buf, ",\"status\":%d", item->status);
    put_text(buf, "reason", item->reason);
    put_time(buf, "next_at", item->next_at);
    if (item->pauses_after)
        buf_printf(buf, ",\"failures_in_row\":%lld,\"pause_after_failures\":%lld", (long long)item->failures,
                   (long long)item->pauses_after);
    buf_putc(buf, '}');
}

// Under the lock.
static void keep(struct events *events, enum event_type type, int32_t tenant, int64_t task_id, struct str data)
{
    if (!events->ring)
        return;
    if (events->next - events->first == EVENT_KEPT)
        drop_oldest(events);
    struct buf text = {0};
    buf_printf(&text, "id: %llx-%llu\nevent: %s\ndata: ", (unsigned long long)events->name, (unsigned long long)events->next,
               texts[type]);
    buf_put(&text, data);
    buf_puts(&text, "\n\n");
    *at_number(events, events->next++) = (struct kept){text.p, text.n, type, tenant, task_id};
    events->bytes += text.n;
    while (events->bytes > EVENT_BYTES)
        drop_oldest(events);
}

static void put_out(struct events *events, const struct event_item *item, struct str data)
{
    if (events->out_lost || events->out.n + data.n > EVENT_OUT_BYTES) {
        events->out_lost = true;
        return;
    }
    buf_printf(&events->out, "%s %d %lld ", texts[item->type], (int)item->tenant, (long long)item->task_id);
    buf_put(&events->out, data);
    buf_putc(&events->out, '\n');
}

void events_emit(struct events *events, const struct event_item *item)
{
    if (!events_wanted(events))
        return;
    buf_auto struct buf data = {0};
    put_data(&data, item);
    pthread_mutex_lock(&events->lock);
    keep(events, item->type, item->tenant, item->task_id, buf_str(&data));
    bool first_out = atomic_load(&events->putting_out) && !events->out.n;
    if (atomic_load(&events->putting_out))
        put_out(events, item, buf_str(&data));
    struct waker *waker = events->ring ? events->waker : NULL, *flow_waker = first_out ? events->flow_waker : NULL;
    pthread_mutex_unlock(&events->lock);
    if (waker)
        waker->wake(waker);
    if (flow_waker)
        flow_waker->wake(flow_waker);
}

// ---- clients of this node

void events_wake(struct events *events, struct waker *waker)
{
    pthread_mutex_lock(&events->lock);
    events->waker = waker;
    pthread_mutex_unlock(&events->lock);
}

void events_listen(struct events *events)
{
    pthread_mutex_lock(&events->lock);
    atomic_fetch_add(&events->clients, 1);
    if (!events->ring) {
        events->ring = mem_zero(EVENT_KEPT * sizeof *events->ring);
        events->first = ++events->next;
        atomic_store(&events->keeping, true);
    }
    pthread_mutex_unlock(&events->lock);
    if (events->flow_waker)
        events->flow_waker->wake(events->flow_waker);
}

void events_leave(struct events *events)
{
    atomic_fetch_sub(&events->clients, 1);
}

int events_clients(const struct events *events)
{
    return atomic_load(&events->clients);
}

void events_stop_keeping(struct events *events)
{
    pthread_mutex_lock(&events->lock);
    if (!atomic_load(&events->clients)) {
        atomic_store(&events->keeping, false);
        drop_all(events);
    }
    pthread_mutex_unlock(&events->lock);
}

bool events_kept(struct events *events)
{
    return atomic_load(&events->keeping);
}

void events_set_ready(struct events *events, bool ready)
{
    if (atomic_exchange(&events->ready, ready) == ready || !ready)
        return;
    pthread_mutex_lock(&events->lock);
    struct waker *waker = events->waker;
    pthread_mutex_unlock(&events->lock);
    if (waker)
        waker->wake(waker);
}

bool events_ready(const struct events *events)
{
    return atomic_load(&events->ready);
}

struct events_at events_end(struct events *events)
{
    pthread_mutex_lock(&events->lock);
    struct events_at at = {.seq = events->next};
    pthread_mutex_unlock(&events->lock);
    return at;
}

bool events_find(struct events *events, struct str id, struct events_at *ret_at)
{
    char text[64];
    unsigned long long name, number;
    int used = 0;
    snprintf(text, sizeof text, STR_FMT, STR_ARG(id));
    bool ours = id.n < sizeof text && sscanf(text, "%llx-%llu%n", &name, &number, &used) == 2 && (size_t)used == id.n &&
                name == events->name;
    pthread_mutex_lock(&events->lock);
    bool there = ours && number + 1 >= events->first && number < events->next;
    *ret_at = (struct events_at){.seq = there ? number + 1 : ours ? events->first : events->next};
    pthread_mutex_unlock(&events->lock);
    return there;
}

void events_put_id(struct events *events, struct buf *buf, struct events_at at)
{
    buf_printf(buf, "%llx-%llu", (unsigned long long)events->name, (unsigned long long)at.seq - 1);
}

// The queue is looked for in the text, so that only a client that asks for a queue pays for it. A name has no character that
// would be escaped, and within a string of the text the quotes around the member's name would be.
static bool is_of_queue(const struct kept *kept, const char *queue)
{
    static const struct str member = {",\"queue\":\"", 10};
    size_t n = strlen(queue);
    const char *found = memmem(kept->text, kept->n, member.p, member.n), *end = kept->text + kept->n;
    return found && (size_t)(end - found) > member.n + n && memcmp(found + member.n, queue, n) == 0 && found[member.n + n] == '"';
}

static bool fits(const struct events_filter *filter, const struct kept *kept)
{
    if (kept->type == EVENT_GAP)
        return true;
    return kept->tenant == filter->tenant && (!filter->task_id || filter->task_id == kept->task_id) &&
           (filter->types >> kept->type & 1) && (!filter->queue[0] || is_of_queue(kept, filter->queue));
}

// Under the lock.
static enum events_reading seek(struct events *events, const struct events_filter *filter, struct events_at *at)
{
    if (at->seq < events->first)
        return EVENT_GONE;
    while (at->seq < events->next && !at->offset && !fits(filter, at_number(events, at->seq)))
        at->seq++;
    return at->seq < events->next ? EVENT_SOME : EVENT_NOTHING;
}

enum events_reading events_seek(struct events *events, const struct events_filter *filter, struct events_at *at)
{
    pthread_mutex_lock(&events->lock);
    enum events_reading found = seek(events, filter, at);
    pthread_mutex_unlock(&events->lock);
    return found;
}

enum events_reading events_read(struct events *events, const struct events_filter *filter, struct events_at *at, char *to,
                                size_t max, size_t *ret_n)
{
    *ret_n = 0;
    pthread_mutex_lock(&events->lock);
    enum events_reading found = EVENT_NOTHING;
    while (*ret_n < max && (found = seek(events, filter, at)) == EVENT_SOME) {
        const struct kept *kept = at_number(events, at->seq);
        size_t left = kept->n - at->offset, n = left < max - *ret_n ? left : max - *ret_n;
        if (*ret_n && n < left)
            break; // whole ones, unless one alone is too large
        memcpy(to + *ret_n, kept->text + at->offset, n);
        *ret_n += n;
        at->offset = n < left ? at->offset + n : 0;
        at->seq += n == left;
    }
    pthread_mutex_unlock(&events->lock);
    return *ret_n ? EVENT_SOME : found;
}

// ---- other nodes

void events_put_out(struct events *events, bool on)
{
    pthread_mutex_lock(&events->lock);
    atomic_store(&events->putting_out, on);
    if (!on)
        buf_done(&events->out);
    events->out_lost = events->out_lost && on;
    pthread_mutex_unlock(&events->lock);
}

bool events_take_out(struct events *events, struct buf *ret_lines)
{
    pthread_mutex_lock(&events->lock);
    *ret_lines = events->out;
    events->out = (struct buf){0};
    if (events->out_lost)
        buf_puts(ret_lines, "gap 0 0 {\"type\":\"gap\",\"reason\":\"a node had more to tell than it could keep\"}\n");
    events->out_lost = false;
    pthread_mutex_unlock(&events->lock);
    return ret_lines->n;
}

// One word up to the next blank.
static struct str take_word(struct str *line)
{
    const char *blank = line->n ? memchr(line->p, ' ', line->n) : NULL;
    struct str word = {line->p, blank ? (size_t)(blank - line->p) : line->n};
    *line = blank ? (struct str){blank + 1, line->n - word.n - 1} : (struct str){0};
    return word;
}

static int64_t int_of(struct str word)
{
    int64_t value = 0;
    for (size_t i = 0; i < word.n && word.p[i] >= '0' && word.p[i] <= '9'; i++)
        value = value * 10 + (word.p[i] - '0');
    return value;
}

static void take_line(struct events *events, struct str line)
{
    enum event_type type;
    struct str text = take_word(&line), tenant = take_word(&line), task_id = take_word(&line);
    if (line.n && events_type_parse(text, &type)) // else of a newer rota
        keep(events, type, (int32_t)int_of(tenant), int_of(task_id), line);
}

void events_take_in(struct events *events, struct str lines)
{
    pthread_mutex_lock(&events->lock);
    while (lines.n) {
        const char *end = memchr(lines.p, '\n', lines.n);
        size_t n = end ? (size_t)(end - lines.p) : lines.n;
        take_line(events, (struct str){lines.p, n});
        lines = end ? (struct str){end + 1, lines.n - n - 1} : (struct str){0};
    }
    struct waker *waker = events->ring ? events->waker : NULL;
    pthread_mutex_unlock(&events->lock);
    if (waker)
        waker->wake(waker);
}
