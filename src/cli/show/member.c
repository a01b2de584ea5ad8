// See member.h. Everything that comes from the server goes through text_put_*.
#include "cli/show/member.h"

#include "cli/show/state.h"
#include "cli/show/text.h"
#include "cli/show/times.h"

enum { CUT_MAX = 300 };

void member_put_text(struct buf *buf, const struct show *show, const struct value *object, const char *path)
{
    text_put_short(buf, value_text(value_at(object, path)), MEMBER_TEXT_MAX);
}

void member_put_count(struct buf *buf, const struct show *show, const struct value *object, const char *path)
{
    int64_t count = value_int(value_at(object, path), -1);
    if (count >= 0)
        buf_put_int(buf, count);
}

bool member_put_cut(struct buf *buf, struct str text)
{
    bool whole = text_put_short(buf, text, CUT_MAX);
    if (!whole)
        buf_puts(buf, " (more with -o json)");
    return whole;
}

void member_put_json(struct buf *buf, const struct show *show, const struct value *object, const char *path)
{
    buf_auto struct buf json = {0};
    value_put_json(&json, value_at(object, path));
    member_put_cut(buf, buf_str(&json));
}

void member_put_state(struct buf *buf, const struct show *show, const struct value *object, const char *path)
{
    buf_auto struct buf state = {0};
    member_put_text(&state, show, object, path);
    state_put_coloured(buf, state_colour(show, buf_str(&state)), buf_str(&state));
}

void member_put_time(struct buf *buf, const struct show *show, const struct value *object, const char *path)
{
    int64_t ms;
    if (times_read(object, path, &ms))
        times_put_both(buf, ms, show->now_ms);
    else
        member_put_text(buf, show, object, path);
}

void member_put_away(struct buf *buf, const struct show *show, const struct value *object, const char *path)
{
    int64_t ms;
    if (!times_read(object, path, &ms))
        return;
    if (show->absolute)
        times_put_local(buf, ms, "%Y-%m-%d %H:%M:%S");
    else
        times_put_away(buf, ms, show->now_ms);
}

void member_put_call(struct buf *buf, const struct show *show, const struct value *task, const char *path)
{
    member_put_text(buf, show, task, "method");
    buf_putc(buf, ' ');
    member_put_text(buf, show, task, "url");
}

bool member_put_between(struct buf *buf, const struct value *object, const char *from, const char *to)
{
    int64_t from_ms, to_ms;
    if (!times_read(object, from, &from_ms) || !times_read(object, to, &to_ms) || to_ms < from_ms)
        return false;
    times_put_duration(buf, to_ms - from_ms);
    return true;
}

void member_put_took(struct buf *buf, const struct show *show, const struct value *job, const char *path)
{
    (void)member_put_between(buf, job, "started_at", "completed_at");
}
