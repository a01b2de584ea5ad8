// cli/options: any words are options and arguments, or wrong; what they were read as, written plainly, is read as the same. And
// what `rota submit` makes of them is JSON. Input: the words with a line feed between them, the first being the verb.
#include "base/json.h"
#include "cli/submit.h"
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

// A body that is to be read from a file is left out: nothing is opened here.
static void check_submit(const struct options *options)
{
    buf_auto struct buf task = {0};
    char why[ERR_WHY_MAX] = "";
    struct json doc;
    const char *body = options_get(options, "body");
    if (options->arg_count != 1 || (body && body[0] == '@'))
        return;
    if (submit_build(&task, options, why))
        must(json_check(buf_str(&task), &doc, why) == ERR_OK && doc.type == JSON_OBJECT);
    else
        must(why[0]);
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
        if (verb == &verb_submit)
            check_submit(&options);
    } else {
        must(why[0]);
    }
    arena_done(&arena);
    return 0;
}
