// See config_show.h. What these functions write is compared by tests with the files in the repository.
#include "node/config_show.h"

#include "base/text/json.h"

#include <stdio.h>
#include <string.h>

// ---- in force

static void put_padded(struct buf *buf, struct str text, size_t width)
{
    buf_put(buf, text);
    for (size_t n = text.n; n < width; n++)
        buf_putc(buf, ' ');
}

void config_put_text(struct buf *buf, const struct config *config)
{
    enum { KEY_WIDTH = 21, VALUE_WIDTH = 26 };
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        buf_auto struct buf value = {0};
        config_put_value(&value, config, i);
        put_padded(buf, str_of(settings[i].key), KEY_WIDTH);
        put_padded(buf, value.n ? buf_str(&value) : STR("-"), VALUE_WIDTH);
        buf_putc(buf, ' ');
        config_put_source(buf, config, i);
        buf_putc(buf, '\n');
    }
}

static void put_json_text(struct buf *buf, const char *name, const struct buf *text)
{
    buf_printf(buf, "\"%s\":", name);
    if (text->n)
        json_put_string(buf, buf_str(text));
    else
        buf_puts(buf, "null");
}

void config_put_json_row(struct buf *buf, const struct config *config, enum setting_id id)
{
    static const char *const sources[] = {
        [FROM_DEFAULT] = "default", [FROM_FILE] = "file", [FROM_VARIABLE] = "variable", [FROM_FLAG] = "flag"};
    buf_auto struct buf value = {0}, where = {0};
    config_put_value(&value, config, id);
    config_put_source(&where, config, id);
    buf_printf(buf, "{\"setting\":\"%s\",", settings[id].key);
    put_json_text(buf, "value", &value);
    buf_printf(buf, ",\"source\":\"%s\",", sources[config->values[id].source]);
    put_json_text(buf, "where", &where);
    buf_printf(buf, ",\"reloads\":%s}", settings[id].reloads ? "true" : "false");
}

void config_put_json(struct buf *buf, const struct config *config)
{
    buf_puts(buf, "{\"settings\":[");
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (i)
            buf_putc(buf, ',');
        config_put_json_row(buf, config, i);
    }
    buf_puts(buf, "]}");
}

// ---- the table

static void put_sentence(struct buf *buf, const char *text)
{
    buf_putc(buf, *text >= 'a' && *text <= 'z' ? (char)(*text - 'a' + 'A') : *text);
    buf_printf(buf, "%s.", text + 1);
}

// Choices and roles are named by the help already.
static void put_takes_sentence(struct buf *buf, const struct setting *setting)
{
    if (setting->type == SETTING_CHOICE || setting->type == SETTING_ROLES)
        return;
    buf_puts(buf, " Takes ");
    setting_put_takes(buf, setting);
    buf_putc(buf, '.');
}

void config_put_markdown(struct buf *buf)
{
    buf_puts(buf,
             "# Settings\n\n"
             "Made by `rota config show --markdown` from the table in `src/node/config.c`.\n\n"
             "A setting of `rota serve` can be given as a flag, as a variable, or in a file of TOML that `--config FILE` or "
             "`ROTA_CONFIG` names; without either no file is read. What counts more: flag, then variable, then file, then "
             "default. An empty variable counts as none.\n\n"
             "- `rota config show` takes the same flags as `serve` and shows what is in force and where it comes from; "
             "passwords are hidden.\n"
             "- `rota config check [FILE]` says what is wrong, with line and column, and what would be right (exit code 2), as "
             "`serve` would when it starts.\n"
             "- `rota config show --sample` prints a file with all of them: [packaging/rota.toml](../packaging/rota.toml).\n"
             "- SIGHUP reads the file again. What is marked *reloads* changes at once, and a line in the log says so; another "
             "line names what needs a restart. A file that is wrong changes nothing, and the log says why.\n\n"
             "| setting | flag, variable | takes | default | meaning |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &settings[i];
        char flag[SETTING_NAME_MAX], variable[SETTING_NAME_MAX];
        setting_flag(setting, flag);
        setting_variable(setting, variable);
        buf_printf(buf, "| `%s` | `--%s`, `%s` | ", setting->key, flag, variable);
        setting_put_takes(buf, setting);
        buf_printf(buf, " | %s | ", setting->otherwise ? setting->otherwise : "");
        put_sentence(buf, setting->help);
        buf_printf(buf, "%s%s%s |\n", setting->about ? " " : "", setting->about ? setting->about : "",
                   setting->reloads ? " *Reloads*." : "");
    }
    buf_puts(buf,
             "\nSizes are written `512B`, `4KiB`, `256MiB`, `1GiB`, or as a number of bytes; durations `500ms`, `30s`, `10m`, "
             "`1h30m`, `7d`. The file is TOML 1.0, of which these settings need comments, tables, strings, whole numbers and "
             "lists of strings; other parts of TOML are refused ([decision 9](decisions/0009-settings.md)).\n");
}

// Is the value written in quotes in the file.
static bool is_quoted(const struct setting *setting)
{
    return setting->type != SETTING_NUMBER;
}

static struct str table_of(const struct setting *setting)
{
    const char *dot = strchr(setting->key, '.');
    return (struct str){setting->key, dot ? (size_t)(dot - setting->key) : 0};
}

// A comment over several lines.
static void put_comment(struct buf *buf, struct str text)
{
    enum { WIDTH = 100 };
    size_t column = 0;
    for (const char *at = text.p, *end = at + text.n; at < end;) {
        size_t n = 0;
        while (at + n < end && at[n] != ' ')
            n++;
        if (column && column + 1 + n > WIDTH) {
            buf_putc(buf, '\n');
            column = 0;
        }
        buf_puts(buf, column ? " " : "# ");
        buf_put(buf, (struct str){at, n});
        column += n + (column ? 1 : 2);
        at += n + (at + n < end);
    }
    buf_putc(buf, '\n');
}

static void put_sample_row(struct buf *buf, const struct setting *setting)
{
    buf_auto struct buf words = {0};
    struct str table = table_of(setting);
    put_sentence(&words, setting->help);
    put_takes_sentence(&words, setting);
    if (setting->about)
        buf_printf(&words, " %s", setting->about);
    if (setting->reloads)
        buf_puts(&words, " (Reloads.)");
    put_comment(buf, buf_str(&words));
    const char *quote = is_quoted(setting) ? "\"" : "";
    buf_printf(buf, "#%s = %s%s%s\n", setting->key + table.n + (table.n > 0), quote,
               setting->otherwise ? setting->otherwise : setting->example, quote);
}

void config_put_sample(struct buf *buf)
{
    buf_puts(
        buf,
        "# Settings of rota serve, all with their defaults: rota.toml(5), docs/config.md. Made by `rota config show --sample`.\n"
        "#\n"
        "# What counts more: flag, then variable (ROTA_LISTEN for listen), then this file, then the default.\n"
        "# `rota config check FILE` says what is wrong with it. SIGHUP reads it again: what is marked (Reloads.) changes at\n"
        "# once, the rest at the next start.\n");
    struct str table = {0};
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        buf_putc(buf, '\n');
        if (!str_eq(table, table_of(&settings[i]))) {
            table = table_of(&settings[i]);
            buf_printf(buf, "[" STR_FMT "]\n\n", STR_ARG(table));
        }
        put_sample_row(buf, &settings[i]);
    }
}

// What scdoc would take for markup is escaped.
static void put_scd(struct buf *buf, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\*_`~#[", *text))
            buf_putc(buf, '\\');
        buf_putc(buf, *text);
    }
}

static void put_scd_row(struct buf *buf, const struct setting *setting)
{
    buf_auto struct buf words = {0};
    char flag[SETTING_NAME_MAX], variable[SETTING_NAME_MAX];
    setting_flag(setting, flag);
    setting_variable(setting, variable);
    put_sentence(&words, setting->help);
    put_takes_sentence(&words, setting);
    if (setting->about)
        buf_printf(&words, " %s", setting->about);
    if (setting->otherwise)
        buf_printf(&words, " Default: %s.", setting->otherwise);
    if (setting->reloads)
        buf_puts(&words, " SIGHUP is enough to change it.");
    buf_putc(&words, 0);
    buf_puts(buf, "\n*");
    put_scd(buf, setting->key);
    buf_printf(buf, "* = _%s_ (--%s, ", setting->value, flag);
    put_scd(buf, variable);
    buf_puts(buf, ")\n\t");
    put_scd(buf, words.p);
    buf_putc(buf, '\n');
}

void config_put_scd(struct buf *buf)
{
    buf_puts(
        buf,
        "rota.toml(5)\n\n"
        "# NAME\n\nrota.toml - settings of a rota server\n\n"
        "# DESCRIPTION\n\n"
        "_rota serve_ reads the file that *--config* or the variable *ROTA\\_CONFIG* names; without either it reads none. It is "
        "TOML: comments, tables, strings, whole numbers and lists of strings. An unknown setting is an error.\n\n"
        "What counts more: flag, then variable, then file, then default. *rota config show* shows what is in force and where it "
        "comes from, *rota config check* says what is wrong.\n\n"
        "SIGHUP reads the file again. What can change while the server runs changes at once; the log names what needs a "
        "restart. A file that is wrong changes nothing.\n\n"
        "# SETTINGS\n\n"
        "A name with a dot may be written with it, or below a table: *log.level* = \"debug\" is *level* = \"debug\" below "
        "*\\[log]*.\n");
    for (size_t i = 0; i < SETTING_COUNT; i++)
        put_scd_row(buf, &settings[i]);
    buf_puts(buf, "\n# SEE ALSO\n\n*rota*(1)\n");
}
