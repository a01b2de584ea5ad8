// cli/options: any words are options and arguments, or wrong; what they were read as, written plainly, is read as the same. And
// what `rota submit` and `rota update` make of them is JSON. Input: the words with a line feed between them, the first being the
// verb.
#include "base/text/json.h"
#include "cli/compose.h"
#include "cli/verb.h"
#include "fuzz.h"

enum { WORDS_MAX = 64 };

static int split(struct str text, struct arena *arena, char *ret_words[WORDS_MAX])
{
    int count = 0;
    while (text.n && count < WORDS_MAX) {
        struct str word = fuzz_cut(&text, '\n');
        ret_words[count++] = (char *)arena_copy(arena, word).p;
    }
    return count;
}

static void check_same(const struct options *a, const struct options *b)
{
    must(a->count == b->count && a->arg_count == b->arg_count);
    for (size_t i = 0; i < a->count; i++)
        must(a->given[i] == b->given[i] && strcmp(a->values[i], b->values[i]) == 0);
    for (size_t i = 0; i < a->arg_count; i++)
        must(strcmp(a->args[i], b->args[i]) == 0);
}

// --name=value for each, then -- and the arguments.
static void check_again(const struct options *options, const struct option *const tables[], struct arena *arena)
{
    char *words[WORDS_MAX * 2 + 2], why[ERR_WHY_MAX];
    int count = 0;
    struct options again;
    words[count++] = (char *)"verb";
    for (size_t i = 0; i < options->count; i++) {
        const struct option *option = options->given[i];
        words[count++] = (char *)arena_printf(arena, "--%s%s%s", option->name, option->value ? "=" : "", options->values[i]).p;
    }
    words[count++] = (char *)"--";
    for (size_t i = 0; i < options->arg_count; i++)
        words[count++] = (char *)options->args[i];
    must(options_parse(&again, tables, count, words, arena, why));
    check_same(options, &again);
}

static bool is_file(const char *body)
{
    return body && (body[0] == '@' || strcmp(body, "-") == 0);
}

// A body that is to be read from a file is left out: nothing is opened here.
static void check_composed(const struct options *options, bool patch)
{
    char why[ERR_WHY_MAX] = "";
    struct json doc;
    if (options->arg_count != 1 || is_file(options_get(options, "body")) || is_file(options_get(options, "json")))
        return;
    struct compose compose = {
        .options = options, .url = patch ? NULL : options->args[0], .patch = patch, .now_ms = 1784118600000};
    if (compose_task(&compose, why))
        must(json_check(buf_str(&compose.json), &doc, why) == ERR_OK && doc.type == JSON_OBJECT);
    else
        must(why[0]);
    compose_done(&compose);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *words[WORDS_MAX], why[ERR_WHY_MAX] = "";
    const struct option *tables[OPTION_TABLES_MAX];
    struct options options;
    struct arena arena;
    arena_init(&arena);
    int count = split(fuzz_input(data, size), &arena, words);
    const struct verb *verb = count ? verb_find(words[0]) : NULL;
    must(verb || count == 0 || !verb_nearest(words[0]) || verb_find(verb_nearest(words[0])));
    verb = verb ? verb : &verb_submit;
    verb_tables(verb, tables);
    if (options_parse(&options, tables, count, words, &arena, why)) {
        must(options.count + options.arg_count <= (size_t)count);
        check_again(&options, tables, &arena);
        if (verb->fields)
            check_composed(&options, verb == &verb_update);
    } else {
        must(why[0]);
    }
    arena_done(&arena);
    return 0;
}
