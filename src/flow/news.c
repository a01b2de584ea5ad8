// The ring of what was told, and the lines that are put out for other nodes.
//
// A text in the ring is a whole event of a stream, with its id, type and data, so that it is rendered once however many clients
// read it. The id is the name of this process's news and the number in it. Whenever keeping begins anew a number is left out: who
// comes back with an id from before must not be told that it missed nothing.
//
// A line that is put out is "TYPE TENANT TASK DATA\n": what a filter of the other node needs, and the data as it is.
#include "flow/news.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/when.h"
#include "core/id.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct kept {
    char *text;
    size_t n;
    enum news_type type;
    int32_t tenant;
    int64_t task_id;
};

struct news {
    uint64_t name; // random: an id of another process's news is not taken for one of these
    struct waker *flow_waker;
    atomic_bool keeping, putting_out, ready;
    atomic_int clients;
    pthread_mutex_t lock; // of all below
    struct waker *waker;
    struct kept *ring;    // of NEWS_KEPT, by number; NULL before the first client
    uint64_t first, next; // numbers: what is kept, and what comes next
    size_t bytes;         // of texts
    struct buf out;       // lines
    bool out_lost;        // some did not fit
};

static const char *const texts[NEWS_TYPE_COUNT] = {
#define X(name, text, words) text,
    NEWS_TYPES(X)
#undef X
};

const char *news_type_text(enum news_type type)
{
    return texts[type];
}

bool news_type_parse(struct str text, enum news_type *ret_type)
{
    for (int i = 0; i < NEWS_TYPE_COUNT; i++)
        if (str_is(text, texts[i])) {
            *ret_type = (enum news_type)i;
            return true;
        }
    return false;
}

struct news *news_new(struct waker *flow_waker)
{
    struct news *news = mem_zero(sizeof *news);
    rand_secret(&news->name, sizeof news->name);
    news->flow_waker = flow_waker;
    news->first = news->next = 1;
    pthread_mutex_init(&news->lock, NULL);
    return news;
}

static struct kept *at_number(const struct news *news, uint64_t number)
{
    return &news->ring[number % NEWS_KEPT];
}

static void drop_oldest(struct news *news)
{
    struct kept *kept = at_number(news, news->first++);
    news->bytes -= kept->n;
    mem_free(kept->text);
    *kept = (struct kept){0};
}

static void drop_all(struct news *news)
{
    while (news->first < news->next)
        drop_oldest(news);
    mem_free(news->ring);
    news->ring = NULL;
}

void news_free(struct news *news)
{
    if (!news)
        return;
    drop_all(news);
    buf_done(&news->out);
    pthread_mutex_destroy(&news->lock);
    mem_free(news);
}

bool news_wanted(const struct news *news)
{
    return atomic_load_explicit(&news->keeping, memory_order_relaxed) ||
           atomic_load_explicit(&news->putting_out, memory_order_relaxed);
}

// ---- telling

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

static void put_data(struct buf *buf, const struct news_item *item)
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
    buf_putc(buf, '}');
}

// Under the lock.
static void keep(struct news *news, enum news_type type, int32_t tenant, int64_t task_id, struct str data)
{
    if (!news->ring)
        return;
    if (news->next - news->first == NEWS_KEPT)
        drop_oldest(news);
    struct buf text = {0};
    buf_printf(&text, "id: %llx-%llu\nevent: %s\ndata: ", (unsigned long long)news->name, (unsigned long long)news->next,
               texts[type]);
    buf_put(&text, data);
    buf_puts(&text, "\n\n");
    *at_number(news, news->next++) = (struct kept){text.p, text.n, type, tenant, task_id};
    news->bytes += text.n;
    while (news->bytes > NEWS_BYTES)
        drop_oldest(news);
}

static void put_out(struct news *news, const struct news_item *item, struct str data)
{
    if (news->out_lost || news->out.n + data.n > NEWS_OUT_BYTES) {
        news->out_lost = true;
        return;
    }
    buf_printf(&news->out, "%s %d %lld ", texts[item->type], (int)item->tenant, (long long)item->task_id);
    buf_put(&news->out, data);
    buf_putc(&news->out, '\n');
}

void news_tell(struct news *news, const struct news_item *item)
{
    if (!news_wanted(news))
        return;
    buf_auto struct buf data = {0};
    put_data(&data, item);
    pthread_mutex_lock(&news->lock);
    keep(news, item->type, item->tenant, item->task_id, buf_str(&data));
    bool first_out = atomic_load(&news->putting_out) && !news->out.n;
    if (atomic_load(&news->putting_out))
        put_out(news, item, buf_str(&data));
    struct waker *waker = news->ring ? news->waker : NULL, *flow_waker = first_out ? news->flow_waker : NULL;
    pthread_mutex_unlock(&news->lock);
    if (waker)
        waker->wake(waker);
    if (flow_waker)
        flow_waker->wake(flow_waker);
}

// ---- clients of this node

void news_wake(struct news *news, struct waker *waker)
{
    pthread_mutex_lock(&news->lock);
    news->waker = waker;
    pthread_mutex_unlock(&news->lock);
}

void news_listen(struct news *news)
{
    pthread_mutex_lock(&news->lock);
    atomic_fetch_add(&news->clients, 1);
    if (!news->ring) {
        news->ring = mem_zero(NEWS_KEPT * sizeof *news->ring);
        news->first = ++news->next;
        atomic_store(&news->keeping, true);
    }
    pthread_mutex_unlock(&news->lock);
    if (news->flow_waker)
        news->flow_waker->wake(news->flow_waker);
}

void news_leave(struct news *news)
{
    atomic_fetch_sub(&news->clients, 1);
}

int news_clients(const struct news *news)
{
    return atomic_load(&news->clients);
}

void news_stop_keeping(struct news *news)
{
    pthread_mutex_lock(&news->lock);
    if (!atomic_load(&news->clients)) {
        atomic_store(&news->keeping, false);
        drop_all(news);
    }
    pthread_mutex_unlock(&news->lock);
}

bool news_kept(struct news *news)
{
    return atomic_load(&news->keeping);
}

void news_set_ready(struct news *news, bool ready)
{
    if (atomic_exchange(&news->ready, ready) == ready || !ready)
        return;
    pthread_mutex_lock(&news->lock);
    struct waker *waker = news->waker;
    pthread_mutex_unlock(&news->lock);
    if (waker)
        waker->wake(waker);
}

bool news_ready(const struct news *news)
{
    return atomic_load(&news->ready);
}

struct news_at news_end(struct news *news)
{
    pthread_mutex_lock(&news->lock);
    struct news_at at = {.seq = news->next};
    pthread_mutex_unlock(&news->lock);
    return at;
}

bool news_find(struct news *news, struct str id, struct news_at *ret_at)
{
    char text[64];
    unsigned long long name, number;
    int used = 0;
    snprintf(text, sizeof text, STR_FMT, STR_ARG(id));
    bool ours = id.n < sizeof text && sscanf(text, "%llx-%llu%n", &name, &number, &used) == 2 && (size_t)used == id.n &&
                name == news->name;
    pthread_mutex_lock(&news->lock);
    bool there = ours && number + 1 >= news->first && number < news->next;
    *ret_at = (struct news_at){.seq = there ? number + 1 : ours ? news->first : news->next};
    pthread_mutex_unlock(&news->lock);
    return there;
}

void news_put_id(struct news *news, struct buf *buf, struct news_at at)
{
    buf_printf(buf, "%llx-%llu", (unsigned long long)news->name, (unsigned long long)at.seq - 1);
}

// The queue is looked for in the text, so that only who asks for it pays for it. A name has no character that would be escaped,
// and within a string of the text the quotes around the member's name would be.
static bool is_of_queue(const struct kept *kept, const char *queue)
{
    static const struct str member = {",\"queue\":\"", 10};
    size_t n = strlen(queue);
    const char *found = memmem(kept->text, kept->n, member.p, member.n), *end = kept->text + kept->n;
    return found && (size_t)(end - found) > member.n + n && memcmp(found + member.n, queue, n) == 0 && found[member.n + n] == '"';
}

static bool fits(const struct news_filter *filter, const struct kept *kept)
{
    if (kept->type == NEWS_GAP)
        return true;
    return kept->tenant == filter->tenant && (!filter->task_id || filter->task_id == kept->task_id) &&
           (filter->types >> kept->type & 1) && (!filter->queue[0] || is_of_queue(kept, filter->queue));
}

// Under the lock.
static enum news_reading seek(struct news *news, const struct news_filter *filter, struct news_at *at)
{
    if (at->seq < news->first)
        return NEWS_GONE;
    while (at->seq < news->next && !at->offset && !fits(filter, at_number(news, at->seq)))
        at->seq++;
    return at->seq < news->next ? NEWS_SOME : NEWS_NOTHING;
}

enum news_reading news_seek(struct news *news, const struct news_filter *filter, struct news_at *at)
{
    pthread_mutex_lock(&news->lock);
    enum news_reading found = seek(news, filter, at);
    pthread_mutex_unlock(&news->lock);
    return found;
}

enum news_reading news_read(struct news *news, const struct news_filter *filter, struct news_at *at, char *to, size_t max,
                            size_t *ret_n)
{
    *ret_n = 0;
    pthread_mutex_lock(&news->lock);
    enum news_reading found = NEWS_NOTHING;
    while (*ret_n < max && (found = seek(news, filter, at)) == NEWS_SOME) {
        const struct kept *kept = at_number(news, at->seq);
        size_t left = kept->n - at->offset, n = left < max - *ret_n ? left : max - *ret_n;
        if (*ret_n && n < left)
            break; // whole ones, unless one alone is too large
        memcpy(to + *ret_n, kept->text + at->offset, n);
        *ret_n += n;
        at->offset = n < left ? at->offset + n : 0;
        at->seq += n == left;
    }
    pthread_mutex_unlock(&news->lock);
    return *ret_n ? NEWS_SOME : found;
}

// ---- other nodes

void news_put_out(struct news *news, bool on)
{
    pthread_mutex_lock(&news->lock);
    atomic_store(&news->putting_out, on);
    if (!on)
        buf_done(&news->out);
    news->out_lost = news->out_lost && on;
    pthread_mutex_unlock(&news->lock);
}

bool news_take_out(struct news *news, struct buf *ret_lines)
{
    pthread_mutex_lock(&news->lock);
    *ret_lines = news->out;
    news->out = (struct buf){0};
    if (news->out_lost)
        buf_puts(ret_lines, "gap 0 0 {\"type\":\"gap\",\"reason\":\"a node had more to tell than it could keep\"}\n");
    news->out_lost = false;
    pthread_mutex_unlock(&news->lock);
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

static void take_line(struct news *news, struct str line)
{
    enum news_type type;
    struct str text = take_word(&line), tenant = take_word(&line), task_id = take_word(&line);
    if (line.n && news_type_parse(text, &type)) // else of a newer rota
        keep(news, type, (int32_t)int_of(tenant), int_of(task_id), line);
}

void news_take_in(struct news *news, struct str lines)
{
    pthread_mutex_lock(&news->lock);
    while (lines.n) {
        const char *end = memchr(lines.p, '\n', lines.n);
        size_t n = end ? (size_t)(end - lines.p) : lines.n;
        take_line(news, (struct str){lines.p, n});
        lines = end ? (struct str){end + 1, lines.n - n - 1} : (struct str){0};
    }
    struct waker *waker = news->ring ? news->waker : NULL;
    pthread_mutex_unlock(&news->lock);
    if (waker)
        waker->wake(waker);
}
