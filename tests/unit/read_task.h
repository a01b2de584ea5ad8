// For tests of task documents: reading one from a text, and showing it.
#pragma once
#include "base/mem.h"
#include "core/task/task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define U "\"url\":\"http://a/\""

static inline enum err parse(struct task *ret_task, struct str text, struct arena *arena, struct problem *why)
{
    struct json doc;
    char words[ERR_WHY_MAX];
    if (json_check(text, &doc, words))
        fail_msg("not JSON: %.*s: %s", (int)text.n, text.p, words);
    return task_parse(ret_task, doc, arena, why);
}

static inline struct task must_parse(const char *text, struct arena *arena)
{
    struct task task;
    struct problem why;
    if (parse(&task, str_of(text), arena, &why))
        fail_msg("refused %s: %s %s", text, why.field, why.detail);
    return task;
}

static inline void render(struct buf *buf, const struct task *task)
{
    buf_putc(buf, '{');
    task_render(task, buf);
    buf_putc(buf, '}');
}

// Members of a document that is no task, and what is said of it.
struct refusal {
    const char *members;
    enum err err;
    const char *field, *words;
};

static inline void assert_refused(const struct refusal *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct arena arena;
        struct task task = {.priority = 42};
        struct problem why = {0};
        char text[512];
        arena_init(&arena);
        snprintf(text, sizeof text, "{%s}", rows[i].members);
        enum err err = parse(&task, str_of(text), &arena, &why);
        if (err != rows[i].err || why.err != err || strcmp(why.field, rows[i].field) != 0 || !strstr(why.detail, rows[i].words))
            fail_msg("%s: said %s, field \"%s\", \"%s\"", text, err_info(err)->code, why.field, why.detail);
        assert_int_equal(task.priority, 42); // nothing but `why` was set
        arena_done(&arena);
    }
}
