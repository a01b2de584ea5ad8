// See stats.h.
#include "cli/show/stats.h"

#include "cli/show/text.h"
#include "cli/show/times.h"

enum { LABEL_WIDTH = 12, TEXT_MAX = 200 };

struct level {
    struct buf *buf;
    const struct show *show;
    int depth;
    bool groups; // which half of the members: objects, or all others
};

static bool ends(struct str name, struct str end)
{
    return name.n > end.n && str_eq((struct str){name.p + name.n - end.n, end.n}, end);
}

// The quantiles that a server gives are all of times.
static bool is_duration(struct str name)
{
    return ends(name, STR("_ms")) || str_is(name, "p50") || str_is(name, "p90") || str_is(name, "p99");
}

static void put_duration(struct buf *buf, double ms)
{
    if (ms > 0 && ms < 10)
        buf_printf(buf, "%.1fms", ms);
    else
        times_put_duration(buf, (int64_t)ms);
}

// A whole number is put as it is, another one with the digits that say something.
static void put_number(struct buf *buf, double number)
{
    if (number == (double)(int64_t)number)
        buf_put_int(buf, (int64_t)number);
    else
        buf_printf(buf, number >= 100 || number <= -100 ? "%.0f" : "%.2f", number);
}

static void put_scalar(const struct level *level, struct str name, const struct value *value)
{
    struct str text = value_text(value);
    int64_t ms;
    double number = value_number(value, 0);
    if (number > 9e15 || number < -9e15)
        buf_printf(level->buf, "%.3g", number);
    else if (value_is_number(value) && is_duration(name) && number >= 0)
        put_duration(level->buf, number);
    else if (value_is_number(value))
        put_number(level->buf, number);
    else if (ends(name, STR("_at")) && text.n && when_parse(text, &ms))
        times_put_both(level->buf, ms, level->show->now_ms);
    else if (text.p)
        text_put_short(level->buf, text, TEXT_MAX);
    else
        buf_puts(level->buf, value_true(value) ? "yes" : value_false(value) ? "no" : "-");
}

static void put_name(const struct level *level, struct str name)
{
    buf_auto struct buf safe = {0};
    if (ends(name, STR("_ms")))
        name.n -= 3;
    text_put_short(&safe, name, TEXT_MAX);
    size_t width = (size_t)level->depth * 2 + text_columns(buf_str(&safe));
    buf_printf(level->buf, "%*s" STR_FMT, level->depth * 2, "", STR_ARG(buf_str(&safe)));
    for (; !level->groups && (width < LABEL_WIDTH || width < (size_t)level->depth * 2 + LABEL_WIDTH); width++)
        buf_putc(level->buf, ' ');
    if (!level->groups)
        buf_puts(level->buf, "  ");
}

static void put_members(struct level level, const struct value *object);

static void count_one(void *ctx, struct str name, const struct value *value)
{
    *(size_t *)ctx += value_is_object(value) ? 100 : 1;
}

// A few figures that belong together, as the quantiles of something, stand on one line.
static bool is_short(const struct value *object)
{
    size_t count = 0;
    value_each(object, count_one, &count);
    return value_is_object(object) && count > 0 && count <= 3;
}

static void put_beside(void *ctx, struct str name, const struct value *value)
{
    const struct level *level = ctx;
    text_put_short(level->buf, name, TEXT_MAX);
    buf_putc(level->buf, ' ');
    put_scalar(level, name, value);
    buf_puts(level->buf, "  ");
}

static void put_one(void *ctx, struct str name, const struct value *value)
{
    struct level *level = ctx;
    if ((value_is_object(value) && !is_short(value)) != level->groups)
        return;
    if (level->groups && level->depth == 0)
        buf_putc(level->buf, '\n');
    put_name(level, name);
    if (!level->groups && value_is_object(value)) {
        value_each(value, put_beside, level);
        level->buf->n -= 2; // the space behind the last
    } else if (!level->groups) {
        put_scalar(level, name, value);
    }
    buf_putc(level->buf, '\n');
    struct level below = *level;
    below.depth++;
    if (level->groups)
        put_members(below, value);
}

// Nothing that a server says leads deeper than a few levels.
static void put_members(struct level level, const struct value *object)
{
    enum { DEPTH_MAX = 6 };
    if (level.depth > DEPTH_MAX)
        return;
    level.groups = false;
    value_each(object, put_one, &level);
    level.groups = true;
    value_each(object, put_one, &level);
}

void stats_put(struct buf *buf, const struct show *show, const struct value *stats)
{
    put_members((struct level){.buf = buf, .show = show}, stats);
}
