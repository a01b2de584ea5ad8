// rota config check|show: what a server would be told, and the pages that are made of the table of settings.
#include "base/log.h"
#include "cli/settings.h"
#include "cli/show/terminal.h"
#include "cli/show/text.h"
#include "node/config_show.h"
#include "node/secret.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *option;
    void (*put)(struct buf *buf);
} pages[] = {{"markdown", config_put_markdown}, {"sample", config_put_sample}, {"scd", config_put_scd}};

static void put_json(struct cli *cli, const struct config *config, struct buf *out)
{
    buf_auto struct buf json = {0};
    if (cli->output == OUTPUT_JSON) {
        config_put_json(&json, config);
        text_put_json(out, buf_str(&json), true);
        buf_putc(out, '\n');
        return;
    }
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        json.n = 0;
        config_put_json_row(&json, config, i);
        text_put_json(out, buf_str(&json), false);
        buf_putc(out, '\n');
    }
}

static int show(struct cli *cli)
{
    buf_auto struct buf out = {0}, text = {0};
    struct given given;
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
        if (options_get(&cli->options, pages[i].option)) {
            pages[i].put(&out);
            return terminal_write(buf_str(&out));
        }
    int code = settings_read(&given, cli, NULL);
    if (!code && cli->output != OUTPUT_TEXT)
        put_json(cli, &given.config, &out);
    if (!code && cli->output == OUTPUT_TEXT) {
        config_put_text(&text, &given.config);
        text_put_safe(&out, buf_str(&text), true);
    }
    if (!code)
        code = terminal_write(buf_str(&out));
    settings_done(&given);
    return code;
}

// A variable that begins with ROTA_ and is no setting's is no mistake: a service called rota leaves such variables in containers
// beside it. One that is nearly a setting's is worth a word.
static void talk_about_slips(void)
{
    for (char **variable = environ; *variable; variable++) {
        char key[SETTING_NAME_MAX], meant[SETTING_NAME_MAX];
        size_t n = strcspn(*variable, "=");
        if (strncmp(*variable, "ROTA_", 5) != 0 || n - 5 >= sizeof key)
            continue;
        for (size_t i = 5; i <= n; i++)
            key[i - 5] = (char)(i < n ? tolower((unsigned char)(*variable)[i]) : 0);
        const struct setting *nearest = setting_find(str_of(setting_nearest(str_of(key))));
        if (!nearest)
            continue;
        setting_variable(nearest, meant);
        if (strlen(meant) != n || memcmp(meant, *variable, n) != 0)
            terminal_talk("rota config: the variable %.*s is no setting; is %s meant?\n", (int)n, *variable, meant);
    }
}

// config_read() does not open the secret: a server that reloads does not need it again, and whoever shows the settings may not be
// allowed to read it. A check is to find what would keep a server from starting.
static int check_secret(const struct config *config)
{
    const char *path = config_text(config, SET_SECRET_FILE);
    uint8_t secret[STORE_SECRET_SIZE];
    char why[ERR_WHY_MAX];
    if (!path)
        return CLI_OK;
    bool good = secret_read(path, secret, why);
    explicit_bzero(secret, sizeof secret);
    log_set_format((enum log_format)config_number(config, SET_LOG_FORMAT));
    if (*why)
        log_say(good ? LOG_WARN : LOG_ERROR, "rota config: %s", why);
    return good ? CLI_OK : CLI_USAGE;
}

static int check(struct cli *cli)
{
    buf_auto struct buf out = {0};
    struct given given;
    size_t count = 0;
    const char *named = options_get(&cli->options, "config"), *file = cli->options.arg_count > 1 ? cli->options.args[1] : NULL;
    if (file && named)
        return verb_misused(cli, "%s and --config %s: give one of them", file, named);
    int code = settings_read(&given, cli, file);
    talk_about_slips();
    if (!code)
        code = check_secret(&given.config);
    for (size_t i = 0; i < SETTING_COUNT; i++)
        count += given.config.values[i].source != FROM_DEFAULT;
    if (!code) {
        text_put_safe(&out, str_of(given.input.file ? given.input.file : "flags and variables (no file is named)"), false);
        buf_printf(&out, ": fine; %zu of %d settings are given\n", count, SETTING_COUNT);
        code = terminal_write(buf_str(&out));
    }
    settings_done(&given);
    return code;
}

static int run_config(struct cli *cli)
{
    struct str what = str_of(cli->options.args[0]);
    if (str_is(what, "check"))
        return check(cli);
    if (!str_is(what, "show"))
        return verb_misused(cli, "%s is not known; check and show are", what.p);
    if (cli->options.arg_count > 1)
        return verb_misused(cli, "%s is one argument too many: rota config show [--config FILE]", cli->options.args[1]);
    return show(cli);
}

static const struct option options[] = {
    {"markdown", 0, NULL, "show: all settings as docs/config.md has them"},
    {"sample", 0, NULL, "show: all settings as a file, with their defaults"},
    {"scd", 0, NULL, "show: all settings as the source of the manual page rota.toml(5)"},
    {0},
};

const struct verb verb_config = {
    .name = "config",
    .args = "check [FILE] | show",
    .args_min = 1,
    .args_max = 2,
    .output = true,
    .settings = true,
    .help = "Check the settings of a server, or show them",
    .about =
        "check says what is wrong with FILE (or what --config or ROTA_CONFIG names), the variables and the options, as serve "
        "would, and exits with 2. show prints what is in force and where it comes from; passwords are hidden. Both take the "
        "options of serve.",
    .example = "rota config check /etc/rota/rota.toml",
    .options = options,
    .run = run_config};
