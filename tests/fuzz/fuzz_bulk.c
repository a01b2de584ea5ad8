// core/bulk_plan: a document that is taken has an action and a filter that a list would take, too; a refusal names a field.
#include "core/bulk_plan.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json doc;
    struct bulk_plan plan;
    struct problem why = {0};
    struct arena arena;
    if (json_check(fuzz_input(data, size), &doc, why.detail))
        return 0;
    arena_init(&arena);
    if (bulk_plan_parse(&plan, doc, &arena, &why)) {
        must(why.err && why.detail[0]);
        must(!why.field[0] || why.field[0] == '/');
    } else {
        must(plan.action < BULK_ACTION_COUNT);
        must((plan.filter.of == FILTER_JOBS) == (plan.action == BULK_RETRY));
        must(json_member(doc, STR("action")).type == JSON_STRING && json_member(doc, STR("filter")).type == JSON_OBJECT);
    }
    arena_done(&arena);
    return 0;
}
