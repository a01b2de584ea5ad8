// rota cron tzdiff. Layer: cli.
#pragma once
#include "cli/verb.h"

int cron_tzdiff_run(struct cli *cli);
