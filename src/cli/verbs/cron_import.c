// rota cron import: a crontab as a file of tasks on stdout. What it cannot take is said, and shows in the exit code, so that a
// script does not go on with half of a crontab unawares.
#include "cli/verbs/cron_import.h"

#include "cli/crontab/import.h"
#include "cli/show/terminal.h"
#include "cli/whole_file.h"

#include <errno.h>

enum { CRONTAB_MAX = 1 << 20 };

static int check_options(const struct cli *cli)
{
    for (size_t i = 0; i < cli->options.count; i++)
        if (!str_is(str_of(cli->options.given[i]->name), "timezone"))
            return verb_misused(cli, "--%s is not for import, which takes --timezone only", cli->options.given[i]->name);
    if (cli->options.arg_count > 2)
        return verb_misused(cli, "%s is one argument too many: rota cron import CRONTAB", cli->options.args[2]);
    return CLI_OK;
}

static int show(const struct import *import)
{
    int code = terminal_write(buf_str(&import->file));
    terminal_talk(STR_FMT "%zu taken, %zu left out\n", STR_ARG(buf_str(&import->talk)), import->taken, import->left_out);
    return code ? code : import->left_out ? CLI_REFUSED : CLI_OK;
}

int cron_import_run(struct cli *cli)
{
    const char *path = cli->options.args[1];
    buf_auto struct buf text = {0};
    struct import import;
    int code = check_options(cli);
    if (code)
        return code;
    if (!whole_file_read(path, CRONTAB_MAX, &text))
        return verb_misused(cli, "%s cannot be read: %s", path, strerror(errno));
    import_crontab(buf_str(&text), str_is(str_of(path), "-") ? "stdin" : path, options_get(&cli->options, "timezone"), &import);
    code = show(&import);
    import_done(&import);
    return code;
}
