// core/task/patch: what a patch makes of a task is a task; the same patch again changes nothing more; an empty one changes
// nothing. The input is the document, a line feed, and the patch.
#include "core/task/patch.h"

#include "fuzz.h"

static void check_patch(struct json doc, struct json patch, struct arena *arena)
{
    struct patched once, twice;
    struct problem why = {0};
    struct json merged;
    char words[ERR_WHY_MAX];
    if (patch_task(&once, doc.raw, patch, arena, &why)) {
        must(why.err && why.detail[0]);
        return;
    }
    must(json_check(once.doc, &merged, words) == ERR_OK && merged.type == JSON_OBJECT);
    must(patch_task(&twice, once.doc, patch, arena, &why) == ERR_OK);
    buf_auto struct buf first = {0}, second = {0};
    task_render(&once.task, &first);
    task_render(&twice.task, &second);
    must(str_eq(buf_str(&first), buf_str(&second)));
    struct json nothing = {JSON_OBJECT, STR("{}")};
    must(patch_task(&twice, once.doc, nothing, arena, &why) == ERR_OK && !twice.replanned);
    second.n = 0;
    task_render(&twice.task, &second);
    must(str_eq(buf_str(&first), buf_str(&second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str patch_text = fuzz_input(data, size), doc_text = fuzz_cut(&patch_text, '\n');
    struct json doc, patch;
    struct task task;
    struct problem why = {0};
    struct arena arena;
    arena_init(&arena);
    if (!json_check(doc_text, &doc, why.detail) && !task_parse(&task, doc, &arena, &why) &&
        !json_check(patch_text, &patch, why.detail) && patch.type == JSON_OBJECT)
        check_patch(doc, patch, &arena);
    arena_done(&arena);
    return 0;
}
