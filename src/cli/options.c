// The parser, and the guess at what was meant.
//
// Names are never abbreviated: an abbreviation that works today is ambiguous tomorrow. A value that looks like one of the options
// is refused rather than swallowed, because it is nearly always a forgotten value; --name=value says it for certain.
#include "cli/options.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

struct parse {
    struct options *options;
    const struct option *const *tables;
    struct arena *arena;
    int argc, at;
    char **argv;
    char *why;
};

static bool take_word(struct parse *parse, const char *word);

bool options_parse(struct options *ret_options, const struct option *const tables[], int argc, char **argv, struct arena *arena,
                   char why[ERR_WHY_MAX])
{
    size_t room = argc > 0 ? (size_t)argc : 1;
    *ret_options = (struct options){.given = arena_array(arena, const struct option *, room),
                                    .values = arena_array(arena, const char *, room),
                                    .args = arena_array(arena, const char *, room)};
    struct parse parse = {ret_options, tables, arena, argc, 1, argv, why};
    while (parse.at < argc) {
        const char *word = argv[parse.at++];
        if (strcmp(word, "--") == 0)
            break;
        if (!take_word(&parse, word))
            return false;
    }
    while (parse.at < argc)
        ret_options->args[ret_options->arg_count++] = argv[parse.at++];
    return true;
}

const char *options_get(const struct options *options, const char *name)
{
    for (size_t i = 0; i < options->count; i++)
        if (strcmp(options->given[i]->name, name) == 0)
            return options->values[i];
    return NULL;
}

const struct option *options_find(const struct option *const tables[], struct str name)
{
    for (; *tables; tables++)
        for (const struct option *option = *tables; option->name; option++)
            if (str_is(name, option->name))
                return option;
    return NULL;
}

static const struct option *find_letter(const struct option *const tables[], char letter)
{
    for (; *tables; tables++)
        for (const struct option *option = *tables; option->name; option++)
            if (letter && option->letter == letter)
                return option;
    return NULL;
}

// Other tools call our options by these names. Where a verb has the option, that one is meant.
static const struct {
    const char *ours, *others;
} synonyms[] = {
    {"body", "data d payload"},
    {"json", "data-json json-body"},
    {"header", "H headers"},
    {"method", "X request"},
    {"in", "delay after-delay"},
    {"at", "when time run-at start-at schedule-at scheduled-at eta"},
    {"cron", "crontab cron-schedule cron-expression schedule"},
    {"every", "interval recurrence-interval repeat repeat-every period"},
    {"timezone", "tz zone time-zone"},
    {"starts-at", "start from"},
    {"ends-at", "end until"},
    {"exclude", "except holidays"},
    {"not-after", "expires expiry expires-at deadline valid-until"},
    {"retry", "retries max-retries retry-max attempts max-attempts total-retry tries"},
    {"backoff", "retry-backoff"},
    {"timeout", "max-time max-execution-time"},
    {"label", "tag tags labels meta metadata"},
    {"key", "idempotency-key id dedupe"},
    {"ttl", "keep retention"},
    {"file", "from-file input batch"},
    {"clear", "unset remove"},
    {"if-version", "if-match version"},
    {"wait", "w sync"},
    {"output", "format"},
    {"limit", "n count"},
    {"state", "status"},
    {"yes", "y force"},
    {"server", "host url"},
    {"listen", "port p"},
    {"config", "c"},
    {"store", "db"},
};

// People look for these options, and they are not there yet: that is said rather than guessed at.
static const struct {
    const char *option, *others, *words;
} absent[] = {
    {"at", "after depends-on", "dependencies between tasks are not there yet"},
};

bool options_has_word(const char *words, struct str word)
{
    for (size_t n; *words; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        if (str_eq((struct str){words, n}, word))
            return true;
    }
    return false;
}

static const char *find_synonym(struct parse *parse, struct str name)
{
    for (size_t i = 0; i < array_count(synonyms); i++)
        if (options_has_word(synonyms[i].others, name) && options_find(parse->tables, str_of(synonyms[i].ours)))
            return synonyms[i].ours;
    return NULL;
}

static const char *find_absent(struct parse *parse, struct str name)
{
    for (size_t i = 0; i < array_count(absent); i++)
        if (options_has_word(absent[i].others, name) && options_find(parse->tables, str_of(absent[i].option)))
            return absent[i].words;
    return NULL;
}

static bool say_unknown(struct parse *parse, struct str name, const char *dashes)
{
    const char *words = find_absent(parse, name);
    if (words) {
        snprintf(parse->why, ERR_WHY_MAX, "there is no option %s" STR_FMT ": %s", dashes, STR_ARG(name), words);
        return false;
    }
    const char *names[128];
    size_t count = 0;
    for (const struct option *const *table = parse->tables; *table; table++)
        for (const struct option *option = *table; option->name && count < 128; option++)
            names[count++] = option->name;
    const char *nearest = find_synonym(parse, name);
    if (!nearest)
        nearest = options_nearest(arena_copy(parse->arena, name).p, names, count);
    snprintf(parse->why, ERR_WHY_MAX, "there is no option %s" STR_FMT "%s%s%s", dashes, name.n > 64 ? 64 : (int)name.n, name.p,
             nearest ? "; did you mean --" : "", nearest ? nearest : "", nearest ? "?" : "");
    return false;
}

// The value of an option that was not joined to it: the next word.
static bool take_next(struct parse *parse, const struct option *option, const char **ret_value)
{
    if (parse->at >= parse->argc) {
        snprintf(parse->why, ERR_WHY_MAX, "--%s needs a value: --%s %s", option->name, option->name, option->value);
        return false;
    }
    const char *word = parse->argv[parse->at];
    if (str_starts(str_of(word), STR("--")) && options_find(parse->tables, str_of(word + 2))) {
        snprintf(parse->why, ERR_WHY_MAX, "--%s needs a value: --%s %s (if %s is the value, write --%s=%s)", option->name,
                 option->name, option->value, word, option->name, word);
        return false;
    }
    parse->at++;
    *ret_value = word;
    return true;
}

// `joined` is what followed the name directly, or NULL.
static bool take_option(struct parse *parse, const struct option *option, const char *joined)
{
    struct options *options = parse->options;
    if (!option->repeatable && options_get(options, option->name)) {
        snprintf(parse->why, ERR_WHY_MAX, "--%s is given twice", option->name);
        return false;
    }
    const char *value = joined ? joined : "";
    if (!option->value && joined) {
        snprintf(parse->why, ERR_WHY_MAX, "--%s takes no value", option->name);
        return false;
    }
    if (option->value && !joined && !take_next(parse, option, &value))
        return false;
    options->given[options->count] = option;
    options->values[options->count++] = value;
    return true;
}

static bool take_letter(struct parse *parse, const char *word)
{
    const struct option *option = find_letter(parse->tables, word[1]);
    if (!option)
        return say_unknown(parse, str_of(word + 1), "-");
    return take_option(parse, option, word[2] ? word + 2 : NULL);
}

static bool take_word(struct parse *parse, const char *word)
{
    if (word[0] != '-' || word[1] == 0) {
        parse->options->args[parse->options->arg_count++] = word;
        return true;
    }
    if (word[1] != '-')
        return take_letter(parse, word);
    const char *equals = strchr(word, '=');
    struct str name = {word + 2, equals ? (size_t)(equals - word) - 2 : strlen(word) - 2};
    const struct option *option = options_find(parse->tables, name);
    if (!option)
        return say_unknown(parse, name, "--");
    return take_option(parse, option, equals ? equals + 1 : NULL);
}

const char *options_nearest(const char *word, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t n = strlen(word), best_distance = n < 4 ? 2 : n < 7 ? 3 : 4; // must be beaten: longer words may have more slips
    for (size_t i = 0; i < count; i++) {
        size_t steps = str_distance(str_of(word), str_of(names[i]));
        // The beginning of a name is as good as one slip.
        if (strlen(word) >= 2 && strncmp(word, names[i], strlen(word)) == 0)
            steps = 1;
        if (steps < best_distance) {
            best = names[i];
            best_distance = steps;
        }
    }
    return best;
}
