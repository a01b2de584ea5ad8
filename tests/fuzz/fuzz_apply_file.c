// cli/apply_file: whatever is in a file of tasks, it is refused with words, or each of its tasks has a name that comes once and a
// document that is JSON. The same text is read by each of the three names that a file can have.
#include "base/text/json.h"
#include "cli/apply_file.h"
#include "fuzz.h"

static void check_task(const struct apply_task *task, struct arena *arena)
{
    struct json json;
    char why[ERR_WHY_MAX];
    must(!json_check(task->json, &json, why));
    must(json.type == JSON_OBJECT && task->name.n);
    must(str_eq(json_text(json_member(json, STR("name")), arena), task->name));
}

static void check_file(const char *file, struct str text)
{
    struct apply_file files;
    buf_auto struct buf problems = {0};
    apply_file_init(&files);
    bool good = apply_file_add(&files, file, text, &problems);
    must(good == (problems.n == 0));
    must(good || problems.p[problems.n - 1] == '\n');
    for (size_t i = 0; i < files.count; i++) {
        check_task(&files.tasks[i], &files.arena);
        for (size_t k = 0; k < i; k++)
            must(!str_eq(files.tasks[i].name, files.tasks[k].name));
    }
    size_t count = files.count;
    problems.n = 0;
    must(apply_file_add(&files, file, text, &problems) == (good && !count)); // a second time all names are known
    must(files.count == count);
    apply_file_done(&files);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_input(data, size);
    check_file("tasks.toml", text);
    check_file("tasks.json", text);
    check_file("-", text);
    return 0;
}
