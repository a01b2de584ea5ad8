// See reload.h. What is in force stays in one config, so that a second reload is compared with what the server really does, not
// with what the file said the last time.
#include "node/reload.h"

#include "base/log.h"

#include <string.h>

// "60s" and "1m" are the same. A data directory shows as the store it comes to.
static bool differs(const struct config *config, const struct config *fresh, size_t id)
{
    if (id == SET_STORE)
        return strcmp(config->store, fresh->store) != 0;
    if (id == SET_DATA)
        return false;
    if (settings[id].type == SETTING_ADDRESS || settings[id].type == SETTING_FILE)
        return !str_eq(str_of(config_text(config, id)), str_of(config_text(fresh, id)));
    return config_number(config, id) != config_number(fresh, id);
}

static void put_value(struct buf *buf, const struct config *config, size_t id)
{
    size_t before = buf->n;
    config_put_value(buf, config, id);
    if (buf->n == before)
        buf_puts(buf, "none");
}

static void put_change(struct buf *buf, const struct config *config, const struct config *fresh, size_t id)
{
    buf_printf(buf, "%s%s = ", buf->n ? ", " : "", settings[id].key);
    put_value(buf, fresh, id);
    buf_puts(buf, " (was ");
    put_value(buf, config, id);
    buf_putc(buf, ')');
}

static void log_problems(const struct buf *problems)
{
    for (const char *at = problems->p, *end = at + problems->n; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        log_error("reload: the settings stay as they were: %.*s", (int)(stop - at), at);
        at = stop + 1;
    }
}

// Said while the more talkative of both levels holds, so that raising it does not hide that it was raised.
static void log_changes(const struct config *config, const struct config *fresh, const struct buf *changed,
                        const struct buf *waiting)
{
    int64_t was = config_number(config, SET_LOG_LEVEL), is = config_number(fresh, SET_LOG_LEVEL);
    log_set_level((enum log_level)(is < was ? is : was));
    if (changed->n)
        log_info("reload: " STR_FMT, STR_ARG(buf_str(changed)));
    else
        log_info("reload: nothing has changed%s", config->input->file ? "" : ": there is no file to read again (--config)");
    if (waiting->n)
        log_warn("reload: needs a restart: " STR_FMT, STR_ARG(buf_str(waiting)));
    log_set_level((enum log_level)was);
}

static void adopt(struct config *config, const struct config *fresh, size_t id)
{
    config->values[id] = fresh->values[id];
    config->values[id].text = arena_copy(&config->arena, str_of(fresh->values[id].text)).p;
}

bool reload(struct config *config)
{
    struct config fresh;
    buf_auto struct buf problems = {0}, changed = {0}, waiting = {0};
    bool good = config_read(&fresh, config->input, &problems);
    for (size_t i = 0; good && i < SETTING_COUNT; i++)
        if (differs(config, &fresh, i))
            put_change(settings[i].reloads ? &changed : &waiting, config, &fresh, i);
    if (good)
        log_changes(config, &fresh, &changed, &waiting);
    else
        log_problems(&problems);
    for (size_t i = 0; good && i < SETTING_COUNT; i++)
        if (settings[i].reloads && differs(config, &fresh, i))
            adopt(config, &fresh, i);
    config_done(&fresh);
    return good && changed.n;
}
