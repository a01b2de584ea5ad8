// cli/show/text: whatever a server says, what reaches a terminal is UTF-8 without control characters; and JSON laid out anew is
// the same JSON.
#include "base/text/json.h"
#include "cli/show/text.h"
#include "fuzz.h"

static void check_safe(struct str text, bool lines)
{
    size_t at;
    must(text_valid(text, &at));
    for (size_t i = 0; i < text.n; i++)
        must(((unsigned char)text.p[i] >= 0x20 && text.p[i] != 0x7f) || (lines && text.p[i] == '\n'));
}

static void check_json(struct str text)
{
    buf_auto struct buf wide = {0}, narrow = {0}, again = {0};
    struct json value, laid_out;
    char why[ERR_WHY_MAX];
    if (json_check(text, &value, why))
        return;
    text_put_json(&wide, text, true);
    text_put_json(&narrow, buf_str(&wide), false);
    text_put_json(&again, text, false);
    must(json_check(buf_str(&wide), &laid_out, why) == ERR_OK && laid_out.type == value.type);
    must(str_eq(buf_str(&narrow), buf_str(&again)));
    check_safe(buf_str(&wide), true);
    check_safe(buf_str(&narrow), false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_input(data, size);
    buf_auto struct buf safe = {0}, lines = {0}, cut = {0}, json = {0};
    text_put_safe(&safe, text, false);
    check_safe(buf_str(&safe), false);
    text_put_safe(&lines, text, true);
    check_safe(buf_str(&lines), true);
    must(text_put_short(&cut, text, size) && str_eq(buf_str(&cut), buf_str(&safe)));
    text_put_json(&json, text, true); // not JSON perhaps, but it must survive
    check_json(text);
    return 0;
}
