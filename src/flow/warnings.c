// A list in the order of time. There are few warnings, so it is searched one by one.
#include "flow/warnings.h"

#include "base/mem.h"
#include "base/text/json.h"
#include "core/id.h"

#include <pthread.h>
#include <stdio.h>

enum { DETAIL_SIZE = 256 };

struct warning {
    enum warning_code code;
    int64_t task_id, at_ms;
    char detail[DETAIL_SIZE];
};

struct warnings {
    pthread_mutex_t lock;
    struct warning list[WARNINGS_MAX]; // under the lock, as is the count: the latest last
    size_t count;
};

const char *warnings_code_text(enum warning_code code)
{
    static const char *const texts[WARNING_CODE_COUNT] = {
#define X(name, text, words) [WARNING_##name] = (text),
        WARNING_CODES(X)
#undef X
    };
    return texts[code];
}

struct warnings *warnings_new(void)
{
    struct warnings *warnings = mem_zero(sizeof *warnings);
    pthread_mutex_init(&warnings->lock, NULL);
    return warnings;
}

void warnings_free(struct warnings *warnings)
{
    if (!warnings)
        return;
    pthread_mutex_destroy(&warnings->lock);
    mem_free(warnings);
}

static void remove_at(struct warnings *warnings, size_t at)
{
    warnings->count--;
    memmove(&warnings->list[at], &warnings->list[at + 1], (warnings->count - at) * sizeof warnings->list[0]);
}

// Those that are too old are the first.
static void forget_old(struct warnings *warnings, int64_t now_ms)
{
    while (warnings->count && now_ms - warnings->list[0].at_ms > WARNINGS_KEPT_MS)
        remove_at(warnings, 0);
}

static bool remove_same(struct warnings *warnings, enum warning_code code, int64_t task_id)
{
    for (size_t i = 0; i < warnings->count; i++) {
        if (warnings->list[i].code == code && warnings->list[i].task_id == task_id) {
            remove_at(warnings, i);
            return true;
        }
    }
    return false;
}

bool warnings_add(struct warnings *warnings, enum warning_code code, int64_t task_id, int64_t now_ms, const char *detail)
{
    pthread_mutex_lock(&warnings->lock);
    forget_old(warnings, now_ms);
    bool is_new = !remove_same(warnings, code, task_id);
    if (warnings->count == WARNINGS_MAX)
        remove_at(warnings, 0);
    struct warning *warning = &warnings->list[warnings->count++];
    *warning = (struct warning){.code = code, .task_id = task_id, .at_ms = now_ms};
    snprintf(warning->detail, sizeof warning->detail, "%s", detail);
    pthread_mutex_unlock(&warnings->lock);
    return is_new;
}

void warnings_remove(struct warnings *warnings, enum warning_code code, int64_t task_id)
{
    pthread_mutex_lock(&warnings->lock);
    remove_same(warnings, code, task_id);
    pthread_mutex_unlock(&warnings->lock);
}

void warnings_put_json(struct warnings *warnings, int64_t now_ms, struct buf *buf)
{
    char id[ID_TEXT_SIZE];
    buf_putc(buf, '[');
    pthread_mutex_lock(&warnings->lock);
    forget_old(warnings, now_ms);
    for (size_t i = 0; i < warnings->count; i++) {
        const struct warning *warning = &warnings->list[i];
        id_format(id, ID_TASK, warning->task_id);
        buf_printf(buf, "%s{\"code\":\"%s\",\"task_id\":\"%s\",\"detail\":", i ? "," : "", warnings_code_text(warning->code), id);
        json_put_string(buf, str_of(warning->detail));
        buf_putc(buf, '}');
    }
    pthread_mutex_unlock(&warnings->lock);
    buf_putc(buf, ']');
}

int warnings_count(struct warnings *warnings, enum warning_code code, int64_t now_ms)
{
    int count = 0;
    pthread_mutex_lock(&warnings->lock);
    forget_old(warnings, now_ms);
    for (size_t i = 0; i < warnings->count; i++)
        count += warnings->list[i].code == code;
    pthread_mutex_unlock(&warnings->lock);
    return count;
}
