// What the HTTP thread does for a submit, without HTTP: the text is checked, each document becomes a task and a job of an
// admission, and a task is shown.
#include "api/render.h"
#include "base/mem.h"
#include "flow/stages/admit.h"
#include "guard.h"

enum { TASKS = 2000 };

static const int64_t NOW_MS = 1800000000000;

static struct str bulk_text(struct buf *buf)
{
    for (int i = 0; i < TASKS; i++)
        buf_printf(
            buf,
            "%s{\"url\":\"http://127.0.0.1:8080/hook/%d\",\"headers\":{\"X-Shop\":\"east\"},\"in\":\"1h\",\"name\":\"mail\","
            "\"body\":{\"order\":%d,\"who\":\"somebody\",\"note\":\"a usual body of a usual task\"}}",
            i ? "," : "[", i, 100000 + i);
    buf_putc(buf, ']');
    return buf_str(buf);
}

static void take(struct admission *admission, struct json_iter *items, struct task *tasks, struct arena *arena)
{
    struct json doc;
    struct problem problem;
    for (int i = 0; json_next_item(items, &doc); i++)
        if (task_parse(&tasks[i], doc, arena, &problem) || admission_add(admission, &tasks[i], doc.raw, NULL, NOW_MS, &problem))
            guard_die("submit", problem.detail);
}

static void show(struct admission *admission, const struct task *tasks)
{
    buf_auto struct buf body = {0};
    for (size_t i = 0; i < admission->count; i++) {
        struct task_view view = {.stored = &admission->tasks[i], .task = &tasks[i], .jobs = &admission->jobs[i], .job_count = 1};
        body.n = 0;
        render_task(&body, &view, NOW_MS);
    }
}

void guard_submit(const char *folder)
{
    (void)folder;
    buf_auto struct buf buf = {0};
    struct str text = bulk_text(&buf);
    struct json value;
    char why[ERR_WHY_MAX];
    struct arena arena = {0};
    struct admission admission = {0};
    struct task *tasks = mem_zero(TASKS * sizeof *tasks);

    part_begin();
    if (json_check(text, &value, why))
        guard_die("submit", why);
    part_end("check", TASKS);

    struct json_iter items = json_iter(value);
    part_begin();
    admission_init(&admission, 1, TASKS);
    take(&admission, &items, tasks, &arena);
    part_end("parse", TASKS);

    part_begin();
    show(&admission, tasks);
    part_end("render", TASKS);

    admission_done(&admission);
    arena_done(&arena);
    mem_free(tasks);
}
