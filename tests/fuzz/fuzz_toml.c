// base/text/toml: what is read lies within the text and comes once; what is refused has a place in it and words. As a file of
// settings it never does more than say what is wrong. Whatever can be read as settings is read as the same in documents, and
// every value of those is JSON.
#include "base/text/toml.h"

#include "base/buf.h"
#include "base/text/json.h"
#include "fuzz.h"
#include "node/config.h"

static void check_entries(const struct toml *toml, int lines)
{
    for (size_t i = 0; i < toml->count; i++) {
        const struct toml_entry *entry = &toml->entries[i];
        must(entry->key.n > 0 && entry->line >= 1 && entry->line <= lines && entry->column >= 1);
        must(entry->value_line >= entry->line && entry->value_line <= lines);
        must(entry->type != TOML_BOOL || entry->number == 0 || entry->number == 1);
        must(entry->type != TOML_STRING || !entry->text.n || !memchr(entry->text.p, 0, entry->text.n));
        must(entry->item <= toml->item_count);
        for (size_t k = 0; k < i; k++)
            must(entry->item != toml->entries[k].item || !str_eq(entry->key, toml->entries[k].key));
    }
}

static const char *none(void *ctx, const char *name)
{
    return NULL;
}

static void check_settings(struct str text)
{
    struct config_input input = {.flag = none, .variable = none, .file = "rota.toml"};
    struct config config;
    buf_auto struct buf problems = {0};
    config_begin(&config, &input);
    bool taken = config_take_file(&config, text, &problems);
    must(taken == (problems.n == 0));
    config_done(&config);
}

static void check_errors(const struct toml *toml, int lines)
{
    for (size_t i = 0; i < toml->error_count; i++) {
        const struct toml_error *error = &toml->errors[i];
        must(error->line >= 1 && error->line <= lines && error->column >= 1 && error->why[0]);
        must(!i || error->line > error[-1].line);
    }
}

static void check_values(const struct toml *toml)
{
    static const char range[] = "represented"; // TOML has no words about how large a number may be
    for (size_t i = 0; i < toml->count; i++) {
        buf_auto struct buf json = {0};
        struct json value;
        char why[ERR_WHY_MAX];
        toml_put_json(&json, &toml->entries[i]);
        must(!json_check(buf_str(&json), &value, why) || strstr(why, range));
    }
}

static void check_same(const struct toml *plain, const struct toml *documents)
{
    must(plain->count == documents->count);
    for (size_t i = 0; i < plain->count; i++) {
        const struct toml_entry *one = &plain->entries[i], *other = &documents->entries[i];
        must(str_eq(one->key, other->key) && one->line == other->line && !other->item);
        must(one->type == other->type || (one->type == TOML_STRINGS && other->type == TOML_JSON));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_input(data, size);
    struct toml plain, documents;
    struct arena arena;
    int lines = 1;
    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n';
    arena_init(&arena);
    bool good = toml_read(text, &arena, &plain);
    must(good == (plain.error_count == 0));
    check_entries(&plain, lines);
    check_errors(&plain, lines);
    must(toml_read_documents(text, &arena, &documents) == (documents.error_count == 0));
    check_entries(&documents, lines);
    check_errors(&documents, lines);
    check_values(&documents);
    if (good)
        check_same(&plain, &documents);
    arena_done(&arena);
    check_settings(text);
    return 0;
}
