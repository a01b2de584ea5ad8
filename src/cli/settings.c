// Settings are rows of another kind in a lower layer: options are made of them once, when they are asked for first.
#include "cli/settings.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

enum { CHOICES_MAX = 64 };

// The words that a shell may offer. For a number, a duration or an address there are none.
static const char *choices_of(const struct setting *setting, char room[CHOICES_MAX])
{
    size_t n = 0;
    if (setting->type == SETTING_STORE)
        return "sqlite: postgres:// memory:";
    if (setting->type == SETTING_ROLES)
        return "all api puller executor completer";
    for (const char *const *choice = setting->choices; choice && *choice; choice++)
        n += (size_t)snprintf(room + n, CHOICES_MAX - n, "%s%s", n ? " " : "", *choice);
    return n ? room : NULL;
}

const struct option *settings_options(void)
{
    static struct option options[SETTING_COUNT + 2] = {
        {"config", 0, "FILE", "a file of settings; rota config show --sample prints one"},
    };
    static char names[SETTING_COUNT][SETTING_NAME_MAX], helps[SETTING_COUNT][160], choices[SETTING_COUNT][CHOICES_MAX];
    for (size_t i = 0; !options[SETTING_COUNT].name && i < SETTING_COUNT; i++) {
        const struct setting *setting = &settings[i];
        setting_flag(setting, names[i]);
        bool has_default = setting->otherwise;
        snprintf(helps[i], sizeof helps[i], "%s%s%s%s", setting->help, has_default ? " (" : "",
                 has_default ? setting->otherwise : "", has_default ? ")" : "");
        options[i + 1] = (struct option){names[i], 0, setting->value, helps[i], .choices = choices_of(setting, choices[i])};
    }
    return options;
}

static const char *flag(void *ctx, const char *name)
{
    return options_get(&((struct cli *)ctx)->options, name);
}

static const char *variable(void *ctx, const char *name)
{
    return getenv(name);
}

static const char *file_of(struct cli *cli)
{
    const char *file = options_get(&cli->options, "config");
    if (!file)
        file = getenv("ROTA_CONFIG");
    return file && *file ? file : NULL;
}

// The problems are said in the log's form, as far as that could be read: a program that parses a server's stderr can do so from
// the first line.
static void say_problems(const struct cli *cli, const struct config *config, const struct buf *problems)
{
    log_set_format((enum log_format)config_number(config, SET_LOG_FORMAT));
    for (const char *at = problems->p, *end = at + problems->n; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        log_say(LOG_ERROR, "rota %s: %.*s", cli->verb->name, (int)(stop - at), at);
        at = stop + 1;
    }
}

int settings_read(struct given *ret_given, struct cli *cli, const char *file)
{
    buf_auto struct buf problems = {0};
    const char *named = options_get(&cli->options, "config");
    *ret_given = (struct given){0};
    if (named && !*named)
        return verb_misused(cli, "--config takes the path of a file, not \"\"");
    ret_given->input = (struct config_input){.flag = flag, .variable = variable, .ctx = cli, .file = file ? file : file_of(cli)};
    if (config_read(&ret_given->config, &ret_given->input, &problems))
        return CLI_OK;
    say_problems(cli, &ret_given->config, &problems);
    return CLI_USAGE;
}

void settings_done(struct given *given)
{
    config_done(&given->config);
}
