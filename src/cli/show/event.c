// See event.h.
#include "cli/show/event.h"

#include "base/mem.h"
#include "cli/show/state.h"
#include "cli/show/text.h"
#include "cli/show/times.h"

enum { TYPE_WIDTH = 9, VALUE_MAX = 120 };

static void put_text(struct buf *buf, struct str text)
{
    if (text.n)
        buf_puts(buf, "  ");
    text_put_short(buf, text, VALUE_MAX);
}

// Is the member in the line already?
static bool is_told(struct str name)
{
    static const char *const told[] = {"time", "type", "task_id", "job_id", "state"};
    for (size_t i = 0; i < array_count(told); i++)
        if (str_is(name, told[i]))
            return true;
    return false;
}

static void put_member(void *ctx, struct str name, const struct value *value)
{
    struct buf *buf = ctx;
    struct str text = value_text(value);
    int64_t ms;
    if (is_told(name) || (!value_is_number(value) && !text.n && !value_true(value)))
        return;
    put_text(buf, name);
    buf_putc(buf, '=');
    if (value_is_number(value))
        buf_printf(buf, "%.15g", value_number(value, 0));
    else if (text.n && when_parse(text, &ms))
        times_put_local(buf, ms, "%H:%M:%S");
    else if (text.n)
        text_put_short(buf, text, VALUE_MAX);
    else
        buf_puts(buf, "yes");
}

// An end is named after the state that it leads to, which need not be told twice.
static void put_data(struct buf *buf, const struct value *data, struct str type)
{
    struct str state = value_text(value_at(data, "state"));
    put_text(buf, value_text(value_at(data, "job_id")));
    put_text(buf, value_text(value_at(data, "task_id")));
    if (!str_eq(state, type))
        put_text(buf, state);
    value_each(data, put_member, buf);
}

void event_put(struct buf *buf, const struct show *show, const struct sse_event *event)
{
    buf_auto struct buf type = {0};
    buf_auto struct buf rest = {0};
    struct value *data = value_parse(event->data);
    int64_t at = show->now_ms;
    (void)times_read(data, "time", &at);
    text_put_short(&type, event->type, 40);
    for (size_t n = text_columns(buf_str(&type)); n < TYPE_WIDTH; n++)
        buf_putc(&rest, ' ');
    if (data)
        put_data(&rest, data, event->type);
    else
        put_text(&rest, event->data);
    size_t before = buf->n;
    times_put_local(buf, at, "%H:%M:%S");
    buf_puts(buf, "  ");
    size_t used = buf->n - before + text_columns(buf_str(&type));
    state_put_coloured(buf, state_colour(show, buf_str(&type)), buf_str(&type));
    while (rest.n && rest.p[rest.n - 1] == ' ')
        rest.n--;
    text_put_fitted(buf, buf_str(&rest), !show->width ? SIZE_MAX : show->width > used ? show->width - used : 0);
    buf_putc(buf, '\n');
    value_free(data);
}
