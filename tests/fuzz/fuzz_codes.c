// core/codes and the field success_codes: for each status, a task says what its list says. Input: the list, as JSON.
#include "base/mem.h"
#include "core/codes.h"
#include "core/task/task.h"
#include "fuzz.h"

// One entry, read the simple way: does it speak of this status?
static bool speaks_of(struct json item, int status, struct arena *arena)
{
    char text[4], code[4], class[4];
    int64_t number;
    if (item.type == JSON_NUMBER)
        return json_int(item, &number) && number == status;
    struct str given = json_text(item, arena);
    must(given.n == 3);
    memcpy(text, given.p, 3);
    text[3] = 0;
    snprintf(code, sizeof code, "%d", status % 1000);
    snprintf(class, sizeof class, "%dxx", status / 100 % 10);
    return strcmp(text, code) == 0 || strcmp(text, class) == 0;
}

static void check_each(const struct task *task, struct json list, struct arena *arena)
{
    for (int status = CODE_MIN; status <= CODE_MAX; status++) {
        bool wanted = false;
        struct json item;
        for (struct json_iter iter = json_iter(list); json_next_item(&iter, &item);)
            wanted |= speaks_of(item, status, arena);
        must(target_http_success(&task->target.http, status) == wanted);
    }
    must(!target_http_success(&task->target.http, 0) && !target_http_success(&task->target.http, CODE_MIN - 1) &&
         !target_http_success(&task->target.http, CODE_MAX + 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json list;
    char why[ERR_WHY_MAX];
    struct task task;
    struct arena arena;
    if (json_check(fuzz_input(data, size), &list, why))
        return 0;
    arena_init(&arena);
    struct str text = arena_printf(&arena, "{\"url\":\"http://x/\",\"success_codes\":" STR_FMT "}", STR_ARG(list.raw));
    if (task_read(&task, text, &arena, why) && list.type != JSON_NULL)
        check_each(&task, list, &arena);
    arena_done(&arena);
    return 0;
}
