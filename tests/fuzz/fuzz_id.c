// core/id: a text that is an id is the only text of its number, and every number has one.
#include "core/id.h"
#include "fuzz.h"

static void check_text(struct str text, enum id_kind kind)
{
    char shown[ID_TEXT_SIZE];
    int64_t id = 0;
    if (!id_parse(text, kind, &id))
        return;
    must(id > 0);
    id_format(shown, kind, id);
    must(str_eq(str_of(shown), text));
}

static void check_number(int64_t id, enum id_kind kind)
{
    char shown[ID_TEXT_SIZE];
    int64_t again = 0;
    if (id <= 0)
        return;
    id_format(shown, kind, id);
    must(strlen(shown) == 14);
    must(id_parse(str_of(shown), kind, &again));
    must(again == id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum id_kind kinds[] = {ID_TASK, ID_JOB, ID_INCARNATION};
    int64_t number = 0;
    memcpy(&number, data, size < sizeof number ? size : sizeof number);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        check_text(fuzz_input(data, size), kinds[i]);
        check_number(number, kinds[i]);
    }
    return 0;
}
