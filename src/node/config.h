// The settings of a server: one table, from which flags, variables, the file, help and docs follow, and the values in force.
// Layer: node. A config has one owner at a time; it does not change once it is read.
//
// What counts more: flag, then variable (ROTA_…), then file, then default.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum setting_id {
    SET_LISTEN,
    SET_DATA,
    SET_STORE,
    SET_ROLE,
    SET_SECRET_FILE,
    SET_STOP_TIMEOUT,
    SET_LOG_LEVEL,
    SET_LOG_FORMAT,
    SET_CALLS_MAX,
    SET_CALLS_PER_HOST,
    SET_CALLS_KEEP_RESPONSE,
    SET_HTTP_CONNECTIONS,
    SET_HTTP_IDLE_TIMEOUT,
    SET_HTTP_BODY_TIMEOUT,
    SET_HTTP_BODY_MEMORY,
    SET_JOBS_IN_HAND,
    SET_JOBS_IN_HAND_BYTES,
    SETTING_COUNT
};

enum setting_type {
    SETTING_ADDRESS,
    SETTING_PATH, // of a directory
    SETTING_FILE, // whose content is read at the start
    SETTING_STORE,
    SETTING_ROLES, // a list
    SETTING_CHOICE,
    SETTING_DURATION,
    SETTING_SIZE,
    SETTING_NUMBER,
};

struct setting {
    const char *key; // in the file: log.level. Its flag is --log-level, its variable ROTA_LOG_LEVEL
    enum setting_type type;
    const char *value;     // what help calls its value
    const char *otherwise; // its default, as one would write it; NULL: none, `help` says what happens then
    int64_t min, max;      // SETTING_DURATION in ms, SETTING_SIZE in bytes, SETTING_NUMBER
    const char *const *choices;
    const char *help;    // one line
    const char *about;   // sentences behind it, for the pages; or NULL
    const char *example; // what it may look like; only for one without a default
    bool reloads;        // SIGHUP is enough
    bool secret;         // parts of it are hidden when it is shown
};

extern const struct setting settings[SETTING_COUNT];

enum { SETTING_NAME_MAX = 48 };
void setting_flag(const struct setting *setting, char ret_name[SETTING_NAME_MAX]);     // "log-level"
void setting_variable(const struct setting *setting, char ret_name[SETTING_NAME_MAX]); // "ROTA_LOG_LEVEL"
void setting_put_takes(struct buf *buf, const struct setting *setting);                // "a duration from 1s to 1h, like 30s"
const struct setting *setting_find(struct str key);
const char *setting_nearest(struct str key); // the key that was probably meant, or NULL

enum config_source { FROM_DEFAULT, FROM_FILE, FROM_VARIABLE, FROM_FLAG }; // what counts more is greater

struct config_value {
    const char *text; // as it was given; NULL: none is in force
    int64_t number;   // ms, bytes, a number, a choice's place, roles
    enum config_source source;
    int line, column; // FROM_FILE: where its value stands
};

// Where settings come from. It must live as long as the config.
struct config_input {
    const char *(*flag)(void *ctx, const char *name);     // without dashes; NULL: not given
    const char *(*variable)(void *ctx, const char *name); // an empty one counts as none
    void *ctx;
    const char *file; // NULL: none
};

struct config {
    struct arena arena;
    const struct config_input *input;
    struct config_value values[SETTING_COUNT];
    const char *store; // what store and data come to, as one URL
};

enum { CONFIG_FILE_MAX = 64 * 1024 };

// Reads everything. False: `problems` has a line for each thing that is wrong, with where it stands and what would be right.
// The config is to be ended with config_done() either way.
err_check bool config_read(struct config *ret_config, const struct config_input *input, struct buf *problems);
void config_done(struct config *config);

static inline int64_t config_number(const struct config *config, enum setting_id id)
{
    return config->values[id].number;
}

static inline const char *config_text(const struct config *config, enum setting_id id)
{
    return config->values[id].text;
}

// The value as it may be shown, and where it comes from: "--listen", "ROTA_LISTEN", "rota.toml:3", "default".
void config_put_value(struct buf *buf, const struct config *config, enum setting_id id);
void config_put_source(struct buf *buf, const struct config *config, enum setting_id id);

// The parts of config_read() that need no file system. `config_begin` sets the defaults.
void config_begin(struct config *ret_config, const struct config_input *input);
bool config_take_file(struct config *config, struct str text, struct buf *problems);
