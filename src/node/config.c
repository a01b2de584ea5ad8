// The table of settings, and how they are read. Every source gives a text (a number in the file is written out again), so there
// is one parser for each type and one way to say what is wrong.
//
// A value that another source overrides is still checked: a mistake in the file shows before the flag is taken away.
#include "node/config.h"

#include "base/log.h"
#include "base/mask.h"
#include "base/mem.h"
#include "base/text/toml.h"
#include "base/text/when.h"
#include "http/server/listen.h"
#include "node/roles.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const levels[] = {
    [LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error", NULL};
static const char *const formats[] = {[LOG_TEXT] = "text", [LOG_JSON] = "json", NULL};

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, KIB = 1024, MIB = 1024 * KIB };
#define GIB (INT64_C(1024) * MIB)

const struct setting settings[SETTING_COUNT] = {
    [SET_LISTEN] = {"listen", SETTING_ADDRESS, "ADDR:PORT", "127.0.0.1:7070", .help = "where to listen, on a loopback address",
                    .about = "There are no API keys yet, so whoever can reach the port may do everything: other addresses are "
                             "refused. Port 0 takes a free one and prints it. A socket that systemd passes counts more."},
    [SET_DATA] = {"data", SETTING_PATH, "DIR", "./rota-data", .help = "where everything is kept, in SQLite",
                  .about =
                      "Made if it is not there; its parent must be. A path that does not begin with / is looked for where the "
                      "server was started. Short for a store sqlite:DIR."},
    [SET_STORE] = {"store", SETTING_STORE, "URL", NULL, .example = "postgres://rota@localhost/rota", .secret = true,
                   .help = "a store such as postgres://…, in place of sqlite: in the data directory",
                   .about =
                       "Give store or data, not both in one place; what is given in a place that counts more wins. A password "
                       "in it is hidden wherever it is shown, but a command line can be seen by others: put it into the file, "
                       "the variable, PGPASSWORD or ~/.pgpass."},
    [SET_ROLE] = {"role", SETTING_ROLES, "LIST", "all", .help = "what this node does: api, puller, executor, completer",
                  .about = "The last three go together. Less than all needs a postgres:// store, where other nodes do the rest."},
    [SET_SECRET_FILE] =
        {"secret_file", SETTING_FILE, "FILE", NULL, .example = "/etc/rota/secret",
         .help = "a file with the secret that Rota-Token is signed with, in place of the store's",
         .about =
             "For servers on several databases that are to read each other's tokens: each has a file with the same bytes, all of "
             "which count, also a newline at the end. It has 32 to 4096 bytes, such as openssl rand -hex 32 makes. Tokens "
             "under the store's secret stay good. The file is read at the start only: another secret needs a restart, and "
             "tokens under the one before are refused from then on."},
    [SET_STOP_TIMEOUT] = {"stop_timeout", SETTING_DURATION, "DURATION", "10s", 0, HOUR, .reloads = true,
                          .help = "how long calls under way may take to end when it stops",
                          .about = "Then they are given up: the attempt is recorded as released, and the job is ready again."},
    [SET_LOG_LEVEL] = {"log.level", SETTING_CHOICE, "LEVEL", "info", .choices = levels, .reloads = true,
                       .help = "what is logged at least: debug, info, warn or error"},
    [SET_LOG_FORMAT] = {"log.format", SETTING_CHOICE, "FORMAT", "text", .choices = formats, .reloads = true,
                        .help = "how the log is written: text or json",
                        .about = "As json each line is an object with time, level and msg."},
    [SET_CALLS_MAX] = {"calls.max", SETTING_NUMBER, "N", "1024", 1, 10000, .help = "calls to targets at once",
                       .about =
                           "Each takes up to two file descriptors; with fewer than that (ulimit -n) there are fewer calls at "
                           "once, and the log says so."},
    [SET_CALLS_PER_HOST] = {"calls.per_host", SETTING_NUMBER, "N", "0", 0, 10000, .reloads = true,
                            .help = "calls to one host and port at once; 0 leaves it to fair shares",
                            .about =
                                "With 0 a host may use half of what its queue may use, and a queue half of what is free. The "
                                "limit is this node's; several nodes have it each."},
    [SET_CALLS_KEEP_RESPONSE] = {"calls.keep_response", SETTING_SIZE, "SIZE", "4KiB", 0, 64 * KIB, .reloads = true,
                                 .help = "how much of a target's answer is kept with the job"},
    [SET_HTTP_CONNECTIONS] = {"http.connections", SETTING_NUMBER, "N", "4096", 8, 65536, .help = "connections of clients at once",
                              .about = "When all are taken, who brings a request takes the place of one that has been silent for "
                                       "two seconds; if there is none it is answered with 503 busy. /healthz, /readyz and "
                                       "/metrics are answered even then: 16 connections more are kept for that."},
    [SET_HTTP_IDLE_TIMEOUT] = {"http.idle_timeout", SETTING_DURATION, "DURATION", "60s", 5 * SECOND, HOUR,
                               .help = "how long a client's connection may be silent"},
    [SET_HTTP_BODY_TIMEOUT] = {"http.body_timeout", SETTING_DURATION, "DURATION", "30s", SECOND, HOUR, .reloads = true,
                               .help = "how long a client may take to send a body"},
    [SET_HTTP_BODY_MEMORY] =
        {"http.body_memory", SETTING_SIZE, "SIZE", "48MiB", 16 * MIB, 64 * GIB, .reloads = true,
         .help = "memory for large bodies that are on their way",
         .about = "What comes beyond is answered with 503 busy; bodies up to 64 KiB are always taken. As much again is "
                  "kept of answers that clients do not take: beyond it, the connection that moved least recently is "
                  "closed."},
    [SET_JOBS_IN_HAND] = {"jobs.in_hand", SETTING_NUMBER, "N", "32768", 64, 100000,
                          .help = "jobs kept in memory: due within 5 s, or running", .about = "The rest waits in the store."},
    [SET_JOBS_IN_HAND_BYTES] =
        {"jobs.in_hand_bytes", SETTING_SIZE, "SIZE", "64MiB", 4 * MIB, 64 * GIB, .help = "memory for the tasks of jobs in hand",
         .about = "One queue alone may have half of them. What is beyond waits in the store, so that tasks with "
                  "large bodies do not fill the memory."},
};

// ---- names

void setting_flag(const struct setting *setting, char ret_name[SETTING_NAME_MAX])
{
    snprintf(ret_name, SETTING_NAME_MAX, "%s", setting->key);
    for (char *at = ret_name; (at = strpbrk(at, "._"));)
        *at = '-';
}

void setting_variable(const struct setting *setting, char ret_name[SETTING_NAME_MAX])
{
    snprintf(ret_name, SETTING_NAME_MAX, "ROTA_%s", setting->key);
    for (char *at = ret_name; *at; at++)
        *at = *at == '.' ? '_' : *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
}

const struct setting *setting_find(struct str key)
{
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (str_is(key, settings[i].key))
            return &settings[i];
    return NULL;
}

static struct str last_part(struct str key)
{
    const char *dot = key.n ? memrchr(key.p, '.', key.n) : NULL;
    return dot ? (struct str){dot + 1, key.n - (size_t)(dot + 1 - key.p)} : key;
}

// A right name in the wrong table is nearer than any slip of a finger.
const char *setting_nearest(struct str key)
{
    const char *best = NULL;
    size_t least = key.n < 4 ? 2 : key.n < 8 ? 3 : 4; // must be beaten
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        struct str known = str_of(settings[i].key);
        bool misplaced = str_eq(last_part(key), last_part(known));
        size_t steps = misplaced ? 0 : str_distance(key, known);
        if (steps < least) {
            best = settings[i].key;
            least = steps;
        }
    }
    return best;
}

// ---- values

static const struct {
    const char *name;
    int64_t bytes;
} units[] = {{"GiB", GIB}, {"MiB", MIB}, {"KiB", KIB}, {"B", 1}, {"", 1}};

static void put_size(struct buf *buf, int64_t bytes)
{
    size_t i = 0;
    while (!bytes || bytes % units[i].bytes)
        if (units[++i].bytes == 1)
            break;
    buf_printf(buf, "%lld%s", (long long)(bytes / units[i].bytes), bytes ? units[i].name : "");
}

static void put_choices(struct buf *buf, const char *const *choices)
{
    for (size_t i = 0; choices[i]; i++)
        buf_printf(buf, "%s%s", !i ? "" : choices[i + 1] ? ", " : " or ", choices[i]);
}

static void put_duration(struct buf *buf, int64_t ms)
{
    char text[WHEN_TEXT_SIZE];
    duration_format(text, ms);
    buf_puts(buf, text);
}

void setting_put_takes(struct buf *buf, const struct setting *setting)
{
    switch (setting->type) {
    case SETTING_ADDRESS:
        buf_puts(buf, "an address and a port, like 127.0.0.1:7070 or [::1]:7070");
        break;
    case SETTING_PATH:
        buf_puts(buf, "the path of a directory");
        break;
    case SETTING_FILE:
        buf_puts(buf, "the path of a file");
        break;
    case SETTING_STORE:
        buf_puts(buf, "sqlite:DIR, postgres://… or memory:");
        break;
    case SETTING_ROLES:
        buf_puts(buf, "all, or a list of api, puller, executor, completer");
        break;
    case SETTING_CHOICE:
        put_choices(buf, setting->choices);
        break;
    case SETTING_NUMBER:
        buf_printf(buf, "a whole number from %lld to %lld", (long long)setting->min, (long long)setting->max);
        break;
    case SETTING_DURATION:
        buf_puts(buf, "a duration from ");
        put_duration(buf, setting->min);
        buf_puts(buf, " to ");
        put_duration(buf, setting->max);
        buf_printf(buf, ", like %s", setting->otherwise);
        break;
    case SETTING_SIZE:
        buf_puts(buf, "a size from ");
        put_size(buf, setting->min);
        buf_puts(buf, " to ");
        put_size(buf, setting->max);
        buf_printf(buf, ", like %s", setting->otherwise);
        break;
    }
}

static bool parse_number(struct str text, int64_t *ret_number)
{
    char *end;
    if (!text.n || text.n > 18 || !(text.p[0] == '-' || (text.p[0] >= '0' && text.p[0] <= '9')))
        return false;
    *ret_number = strtoll(text.p, &end, 10);
    return end == text.p + text.n && end > text.p;
}

static bool parse_size(struct arena *arena, struct str text, int64_t *ret_bytes)
{
    size_t digits = strspn(text.p, "0123456789");
    int64_t number;
    if (!parse_number(arena_copy(arena, (struct str){text.p, digits}), &number))
        return false;
    for (size_t i = 0; i < array_count(units); i++)
        if (str_is((struct str){text.p + digits, text.n - digits}, units[i].name))
            return !__builtin_mul_overflow(number, units[i].bytes, ret_bytes);
    return false;
}

static bool parse_choice(const char *const *choices, struct str text, int64_t *ret_place)
{
    for (int64_t i = 0; choices[i]; i++)
        if (str_is(text, choices[i])) {
            *ret_place = i;
            return true;
        }
    return false;
}

static bool parse(struct config *config, const struct setting *setting, const char *value, int64_t *ret_number)
{
    struct str text = str_of(value);
    switch (setting->type) {
    case SETTING_ADDRESS:
        return http_listen_is_valid(value);
    case SETTING_PATH:
    case SETTING_FILE:
        return text.n > 0;
    case SETTING_STORE:
        return store_is_known(value);
    case SETTING_ROLES: {
        unsigned roles;
        char why[ERR_WHY_MAX];
        bool good = roles_parse(value, &roles, why);
        *ret_number = good ? roles : 0;
        return good;
    }
    case SETTING_CHOICE:
        return parse_choice(setting->choices, text, ret_number);
    case SETTING_NUMBER:
        return parse_number(text, ret_number) && *ret_number >= setting->min && *ret_number <= setting->max;
    case SETTING_DURATION:
        return duration_parse(text, ret_number) && *ret_number >= setting->min && *ret_number <= setting->max;
    case SETTING_SIZE:
        return parse_size(&config->arena, text, ret_number) && *ret_number >= setting->min && *ret_number <= setting->max;
    }
    return false;
}

// ---- what is wrong

// "--listen", "ROTA_LISTEN", "rota.toml:3:10: listen".
static void put_where(struct buf *buf, const struct config *config, const struct setting *setting,
                      const struct config_value *value)
{
    char name[SETTING_NAME_MAX];
    if (value->source == FROM_FILE) {
        buf_printf(buf, "%s:%d:%d: %s", config->input->file, value->line, value->column, setting->key);
    } else if (value->source == FROM_VARIABLE) {
        setting_variable(setting, name);
        buf_puts(buf, name);
    } else {
        setting_flag(setting, name);
        buf_printf(buf, "--%s", name);
    }
}

// What is nearly an address gets the whole of it.
static void put_address_hint(struct buf *buf, const char *text)
{
    char guess[128];
    bool is_port = *text && !text[strspn(text, "0123456789")];
    bool has_port = strchr(text, ':') && text[0] != '[';
    snprintf(guess, sizeof guess, "%s%.80s%s",
             is_port          ? "127.0.0.1:"
             : text[0] == ':' ? "127.0.0.1"
                              : "",
             text, is_port || has_port ? "" : ":7070");
    if (strcmp(guess, text) != 0 && http_listen_is_valid(guess))
        buf_printf(buf, "; did you mean %s?", guess);
}

// Only as much of it as is no secret.
static void put_given(struct buf *buf, const struct setting *setting, const char *text)
{
    enum { SHOWN = 80 };
    size_t n = setting->secret ? strcspn(text, ":") : strlen(text);
    bool whole = n <= SHOWN && !(setting->secret && text[n]);
    buf_printf(buf, "\"%.*s%s\"", n > SHOWN ? SHOWN : (int)n, text, whole ? "" : "…");
}

static void say_wrong(struct buf *problems, const struct config *config, const struct setting *setting,
                      const struct config_value *value)
{
    unsigned roles;
    char why[ERR_WHY_MAX];
    put_where(problems, config, setting, value);
    if (setting->type == SETTING_ROLES && *value->text && !roles_parse(value->text, &roles, why)) {
        buf_printf(problems, ": %s\n", why);
        return;
    }
    buf_puts(problems, " takes ");
    setting_put_takes(problems, setting);
    buf_puts(problems, ", not ");
    put_given(problems, setting, value->text);
    if (setting->type == SETTING_ADDRESS)
        put_address_hint(problems, value->text);
    buf_putc(problems, '\n');
}

// Takes a value of any source; what is there counts less, because sources are read in their order.
static void take(struct config *config, size_t id, struct config_value value, struct buf *problems)
{
    if (parse(config, &settings[id], value.text, &value.number))
        config->values[id] = value;
    else
        say_wrong(problems, config, &settings[id], &value);
}

// ---- the sources

void config_begin(struct config *ret_config, const struct config_input *input)
{
    *ret_config = (struct config){.input = input};
    arena_init(&ret_config->arena);
    buf_auto struct buf problems = {0};
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (settings[i].otherwise)
            take(ret_config, i, (struct config_value){.text = settings[i].otherwise}, &problems);
    if (problems.n)
        abort(); // a default in the table is wrong
}

void config_done(struct config *config)
{
    arena_done(&config->arena);
}

static struct str join_items(struct config *config, const struct toml_entry *entry)
{
    buf_auto struct buf text = {0};
    for (size_t i = 0; i < entry->item_count; i++) {
        if (i)
            buf_putc(&text, ',');
        buf_put(&text, entry->items[i]);
    }
    return arena_copy(&config->arena, buf_str(&text));
}

// The text of an entry, if its type is one that the setting may be written in.
static const char *entry_text(struct config *config, const struct setting *setting, const struct toml_entry *entry)
{
    bool is_number = setting->type == SETTING_NUMBER;
    if (entry->type == TOML_INT && (is_number || setting->type == SETTING_SIZE))
        return arena_printf(&config->arena, "%lld", (long long)entry->number).p;
    if (entry->type == TOML_STRING && !is_number)
        return arena_copy(&config->arena, entry->text).p;
    if (entry->type == TOML_STRINGS && setting->type == SETTING_ROLES)
        return join_items(config, entry).p;
    return NULL;
}

static void say_unknown(struct buf *problems, const struct config *config, const struct toml_entry *entry)
{
    const char *nearest = setting_nearest(entry->key);
    buf_printf(problems, "%s:%d:%d: there is no setting %.*s", config->input->file, entry->line, entry->column,
               entry->key.n > 80 ? 80 : (int)entry->key.n, entry->key.p);
    buf_printf(problems, "%s%s%s\n", nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static void take_entry(struct config *config, const struct toml_entry *entry, struct buf *problems)
{
    const struct setting *setting = setting_find(entry->key);
    if (!setting) {
        say_unknown(problems, config, entry);
        return;
    }
    struct config_value value = {entry_text(config, setting, entry), 0, FROM_FILE, entry->value_line, entry->value_column};
    if (value.text) {
        take(config, (size_t)(setting - settings), value, problems);
        return;
    }
    put_where(problems, config, setting, &value);
    buf_puts(problems, " takes ");
    setting_put_takes(problems, setting);
    buf_puts(problems, setting->type == SETTING_NUMBER ? ", without quotes\n" : ", in quotes\n");
}

// Those that stand before a line, so that what is wrong is told in the order of the file. Returns how many are told by now.
static size_t say_errors(struct buf *problems, const struct config *config, const struct toml *toml, size_t said, int before)
{
    for (; said < toml->error_count && toml->errors[said].line < before; said++)
        buf_printf(problems, "%s:%d:%d: %s\n", config->input->file, toml->errors[said].line, toml->errors[said].column,
                   toml->errors[said].why);
    return said;
}

bool config_take_file(struct config *config, struct str text, struct buf *problems)
{
    struct toml toml;
    size_t before = problems->n, said = 0;
    bool good = toml_read(text, &config->arena, &toml);
    for (size_t i = 0; i < toml.count; i++) {
        said = say_errors(problems, config, &toml, said, toml.entries[i].line);
        take_entry(config, &toml.entries[i], problems);
    }
    say_errors(problems, config, &toml, said, INT_MAX);
    return good && problems->n == before;
}

static bool read_all(int fd, struct buf *ret_text)
{
    buf_reserve(ret_text, CONFIG_FILE_MAX + 1);
    while (ret_text->n <= CONFIG_FILE_MAX) {
        ssize_t n = read(fd, ret_text->p + ret_text->n, CONFIG_FILE_MAX + 1 - ret_text->n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        ret_text->n += (size_t)n;
    }
    return true;
}

static void read_file(struct config *config, struct buf *problems)
{
    const char *path = config->input->file;
    buf_auto struct buf text = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !read_all(fd, &text))
        buf_printf(problems, "%s: cannot be read: %s\n", path, strerror(errno));
    else if (text.n > CONFIG_FILE_MAX)
        buf_printf(problems, "%s: has more than %d KiB, which cannot be a file of settings\n", path, CONFIG_FILE_MAX / KIB);
    else
        config_take_file(config, arena_copy(&config->arena, buf_str(&text)), problems);
    if (fd >= 0)
        close(fd);
}

static void read_variables(struct config *config, struct buf *problems)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        char name[SETTING_NAME_MAX];
        setting_variable(&settings[i], name);
        const char *text = config->input->variable(config->input->ctx, name);
        if (text && *text)
            take(config, i, (struct config_value){.text = text, .source = FROM_VARIABLE}, problems);
    }
}

static void read_flags(struct config *config, struct buf *problems)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        char name[SETTING_NAME_MAX];
        setting_flag(&settings[i], name);
        const char *text = config->input->flag(config->input->ctx, name);
        if (text)
            take(config, i, (struct config_value){.text = text, .source = FROM_FLAG}, problems);
    }
}

// ---- what holds between them

// data and store say the same thing: the one from the place that counts more is in force, the other is dropped.
static void settle_store(struct config *config, struct buf *problems)
{
    struct config_value *data = &config->values[SET_DATA], *store = &config->values[SET_STORE];
    if (store->text && store->source == data->source) {
        put_where(problems, config, &settings[SET_STORE], store);
        buf_puts(problems, " and ");
        put_where(problems, config, &settings[SET_DATA], data);
        buf_puts(problems, " exclude each other: a data DIR is short for a store sqlite:DIR\n");
    }
    if (store->text && store->source >= data->source) {
        *data = (struct config_value){0};
        config->store = store->text;
        return;
    }
    *store = (struct config_value){0};
    config->store = arena_printf(&config->arena, "sqlite:%s", data->text).p;
}

static void check_roles(struct config *config, struct buf *problems)
{
    const struct config_value *role = &config->values[SET_ROLE];
    if (role->number == ROLES_ALL || store_is_shared(config->store))
        return;
    put_where(problems, config, &settings[SET_ROLE], role);
    buf_printf(problems, ": %.60s leaves the rest to other nodes, and only a postgres:// store can have several; leave it out\n",
               role->text);
}

// Without keys, whoever can reach the port may do everything: so it must not be reachable from elsewhere.
static void check_listen(struct config *config, struct buf *problems)
{
    const struct config_value *listen = &config->values[SET_LISTEN];
    if (http_listen_is_loopback(listen->text))
        return;
    put_where(problems, config, &settings[SET_LISTEN], listen);
    buf_printf(problems,
               ": %.100s is not a loopback address such as 127.0.0.1:7070 or [::1]:7070: this version has no API keys yet, so it "
               "serves this machine only\n",
               listen->text);
}

bool config_read(struct config *ret_config, const struct config_input *input, struct buf *problems)
{
    size_t before = problems->n;
    config_begin(ret_config, input);
    if (input->file)
        read_file(ret_config, problems);
    read_variables(ret_config, problems);
    read_flags(ret_config, problems);
    settle_store(ret_config, problems);
    if (problems->n == before) // else the store is perhaps not the one that is meant
        check_roles(ret_config, problems);
    check_listen(ret_config, problems);
    return problems->n == before;
}

// ---- what is in force

void config_put_value(struct buf *buf, const struct config *config, enum setting_id id)
{
    const char *text = config->values[id].text;
    if (id == SET_STORE && !text)
        text = config->store;
    if (text && settings[id].secret)
        mask_put(buf, str_of(text));
    else if (text)
        buf_puts(buf, text);
}

void config_put_source(struct buf *buf, const struct config *config, enum setting_id id)
{
    const struct config_value *value = &config->values[id];
    if (!value->text)
        buf_puts(buf, id == SET_STORE ? "from data" : id == SET_DATA ? "not used: store is given" : "not given");
    else if (value->source == FROM_DEFAULT)
        buf_puts(buf, "default");
    else if (value->source == FROM_FILE)
        buf_printf(buf, "%s:%d", config->input->file, value->line);
    else
        put_where(buf, config, &settings[id], value);
}
