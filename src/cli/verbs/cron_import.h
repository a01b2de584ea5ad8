// rota cron import. Layer: cli.
#pragma once
#include "cli/verb.h"

int cron_import_run(struct cli *cli); // its second argument is the crontab
