// rota submit -f: many tasks out of a file.
// Layer: cli.
#pragma once
#include "cli/verb.h"

int submit_file_run(struct cli *cli, const char *path); // "-" is stdin; returns an exit code
