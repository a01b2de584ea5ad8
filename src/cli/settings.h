// The settings of a server on the command line: their flags, made from the table in node/config, and how they are read.
// Layer: cli. One thread.
#pragma once
#include "cli/verb.h"
#include "node/config.h"

const struct option *settings_options(void); // --config and a row for each setting

struct given {
    struct config_input input;
    struct config config;
};

// Flags, variables and the file that --config or ROTA_CONFIG names, or `file` if it is not NULL. When something is wrong, says so
// on stderr and returns CLI_USAGE. Ended with settings_done() either way; does not move in between.
int settings_read(struct given *ret_given, struct cli *cli, const char *file);
void settings_done(struct given *given);
