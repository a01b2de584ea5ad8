// rota cancel, run, retry, pause, resume and delete: one call for each id, and a line about what it is now. With filters instead
// of ids they are carried out by the server on all that match (cli/verbs/bulk).
#include "base/mem.h"
#include "base/text/json.h"
#include "base/text/when.h"
#include "cli/filter.h"
#include "cli/server/failure.h"
#include "cli/server/print.h"
#include "cli/show/state.h"
#include "cli/show/terminal.h"
#include "cli/show/text.h"
#include "cli/verbs/bulk.h"
#include "core/id.h"

// How a verb becomes a call. `kinds` are the ids that the verb takes. Where the API takes only a task's or only a job's, `find`
// finds the other one.
struct command {
    const char *verb, *kinds, *method, *rest;
    int (*find)(struct caller *caller, const char *id, const char **ret_id);
};

static int64_t ended_at(const struct value *job)
{
    int64_t at = 0;
    return when_parse(value_text(value_at(job, "completed_at")), &at) ? at : 0;
}

// retry of a task: its job that ended last. If none has, the newest is named, and the server says that it has not ended.
static int find_ended(struct caller *caller, const char *id, const char **ret_id)
{
    struct reply reply;
    *ret_id = id;
    if (id[0] == ID_JOB)
        return CLI_OK;
    call_get(caller, id, "/jobs?limit=1000", &reply);
    int code = failure_tell(caller, &reply);
    const struct value *items = value_at(reply.value, "items"), *job, *found = NULL;
    for (size_t i = 0; (job = value_item(items, i)); i++)
        if (state_final(value_text(value_at(job, "state"))) && (!found || ended_at(job) > ended_at(found)))
            found = job;
    found = found ? found : value_item(items, 0);
    if (found)
        *ret_id = arena_copy(caller->arena, value_text(value_at(found, "id"))).p;
    reply_done(&reply);
    return code;
}

// run of a job: its task, as long as that starts this very job.
static int find_task(struct caller *caller, const char *id, const char **ret_id)
{
    struct reply reply;
    *ret_id = id;
    if (id[0] == ID_TASK)
        return CLI_OK;
    call_get(caller, id, "", &reply);
    int code = failure_tell(caller, &reply);
    if (code == CLI_OK && state_final(value_text(value_at(reply.value, "state")))) {
        terminal_talk("rota run: %s has ended; rota retry %s runs it once more\n", id, id);
        code = CLI_REFUSED;
    }
    *ret_id = arena_copy(caller->arena, value_text(value_at(reply.value, "task_id"))).p;
    reply_done(&reply);
    return code;
}

static const struct command commands[] = {
    {"cancel", "tjb", "POST", "/cancel", NULL},    {"run", "tj", "POST", "/run", find_task},
    {"retry", "tj", "POST", "/retry", find_ended}, {"pause", "t", "POST", "/pause", NULL},
    {"resume", "t", "POST", "/resume", NULL},      {"delete", "t", "DELETE", "", NULL},
};

static const struct command *find_command(const struct cli *cli)
{
    size_t i = 0;
    while (!str_is(str_of(cli->verb->name), commands[i].verb))
        i++;
    return &commands[i];
}

static void put_changed(struct buf *out, const struct show *show, const struct value *object)
{
    show_put_head(out, show, object);
    buf_putc(out, '\n');
}

static int print_gone(const struct cli *cli, const char *id)
{
    buf_auto struct buf out = {0};
    if (cli->output == OUTPUT_TEXT)
        buf_printf(&out, "%s  gone\n", id);
    else
        terminal_talk("%s is done with, and is not kept\n", id);
    return terminal_write(buf_str(&out));
}

// What is said beside the id. Without such an option there is no body.
static void put_body(struct buf *body, const struct options *options)
{
    static const char *const names[] = {"note", "missed"};
    for (size_t i = 0; i < array_count(names); i++) {
        const char *value = options_get(options, names[i]);
        if (!value)
            continue;
        buf_printf(body, "%s\"%s\":", body->n ? "," : "{", names[i]);
        json_put_string(body, str_of(value));
    }
    if (body->n)
        buf_putc(body, '}');
}

static int send(struct caller *caller, const struct command *command, const char *id)
{
    buf_auto struct buf path = {0}, body = {0};
    struct reply reply;
    if (!call_path(&path, id, id[0] == CALL_BULK ? "/stop" : command->rest))
        return CLI_REFUSED;
    if (options_get(&caller->cli->options, "running")) {
        path.n--; // the NUL behind it
        call_put_query(&path, STR("running"), STR("1"));
        buf_putc(&path, 0);
    }
    put_body(&body, &caller->cli->options);
    call(caller, command->method, path.p, buf_str(&body), &reply);
    bool gone = reply.code == CLI_OK && !reply.value;
    int code = gone ? print_gone(caller->cli, id) : print_reply(caller, &reply, put_changed);
    reply_done(&reply);
    return code;
}

static int act_on(struct caller *caller, const char *given)
{
    const struct command *command = find_command(caller->cli);
    const char *id = given;
    int code = command->find ? command->find(caller, given, &id) : CLI_OK;
    code = code ? code : send(caller, command, id);
    if (code == CLI_REFUSED && caller->cli->options.arg_count > 1)
        terminal_talk("  (for %s)\n", given);
    return code;
}

static int run_command(struct cli *cli)
{
    bool filters = filter_given(&cli->options) || options_get(&cli->options, "all");
    if (filters && cli->options.arg_count)
        return verb_misused(cli, "give either ids or filters, not both");
    if (filters)
        return bulk_run(cli);
    if (!cli->options.arg_count)
        return verb_misused(cli, "say which: rota %s ID..., or filters as of rota list", cli->verb->name);
    return call_for_ids(cli, find_command(cli)->kinds, act_on);
}

// pause and resume, which also take queues

static void put_queue(struct buf *out, const struct show *show, const struct value *queue)
{
    text_put_short(out, value_text(value_at(queue, "queue")), 64);
    buf_puts(out, value_true(value_at(queue, "paused")) ? "  paused\n" : "  open\n");
}

// Calls /v1/queues/NAME and what follows.
static void call_queue(struct caller *caller, const char *method, const char *queue, const char *rest, struct reply *ret_reply)
{
    buf_auto struct buf path = {0};
    buf_puts(&path, "/v1/queues/");
    call_put_escaped(&path, str_of(queue));
    buf_puts(&path, rest);
    buf_putc(&path, 0);
    call(caller, method, path.p, (struct str){0}, ret_reply);
}

static int act_on_queue(struct caller *caller, const char *queue)
{
    struct reply reply;
    bool pause = str_is(str_of(caller->cli->verb->name), "pause");
    call_queue(caller, "POST", queue, pause ? "/pause" : "/resume", &reply);
    int code = print_reply(caller, &reply, put_queue);
    reply_done(&reply);
    return code;
}

static int act_on_queues(struct cli *cli)
{
    struct caller caller;
    const struct options *options = &cli->options;
    int code = call_open(&caller, cli);
    for (size_t i = 0; i < options->count && (code == CLI_OK || code == CLI_REFUSED); i++) {
        int latest = str_is(str_of(options->given[i]->name), "queue") ? act_on_queue(&caller, options->values[i]) : CLI_OK;
        code = latest ? latest : code;
    }
    call_close(&caller);
    return code;
}

// rota delete --queues: a queue is forgotten when nothing waits or runs in it. What to do otherwise, the server says in terms of
// the API, and this in terms of the command line.
static const struct {
    const char *code, *way;
} queue_ways[] = {{"queue_not_empty", "rota cancel"}, {"queue_paused", "rota resume"}};

static void hint_queue(const struct reply *reply, const char *queue)
{
    struct str code = value_text(value_at(reply->value, "code"));
    for (size_t i = 0; i < array_count(queue_ways); i++)
        if (str_is(code, queue_ways[i].code))
            terminal_talk("  from here: %s --queue %s\n", queue_ways[i].way, queue);
}

static int delete_queue(struct caller *caller, const char *queue)
{
    buf_auto struct buf out = {0};
    struct reply reply;
    call_queue(caller, "DELETE", queue, "", &reply);
    int code = reply.code;
    if (code != CLI_OK) {
        failure_tell(caller, &reply);
        hint_queue(&reply, queue);
    } else if (caller->cli->output == OUTPUT_TEXT) {
        text_put_short(&out, str_of(queue), 64);
        buf_puts(&out, "  gone\n");
        code = terminal_write(buf_str(&out));
    } else {
        terminal_talk("queue %s is gone\n", queue);
    }
    reply_done(&reply);
    return code;
}

static int delete_queues(struct cli *cli)
{
    struct caller caller;
    int code = call_open(&caller, cli);
    for (size_t i = 0; i < cli->options.arg_count && (code == CLI_OK || code == CLI_REFUSED); i++) {
        int one = delete_queue(&caller, cli->options.args[i]);
        code = one ? one : code;
    }
    call_close(&caller);
    return code;
}

static size_t count_given(const struct options *options, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < options->count; i++)
        count += str_is(str_of(options->given[i]->name), name);
    return count;
}

// Are there filters besides --queue? A --queue alone is the queue itself, with all that will come into it.
static bool is_filtered(const struct options *options)
{
    size_t others = 0;
    for (const struct option *filter = verb_filter_options; filter->name; filter++)
        others += str_is(str_of(filter->name), "queue") ? 0 : count_given(options, filter->name);
    return others || options_get(options, "all");
}

// Tasks by their ids, queues, or all tasks that match. The name of a queue that stands where an id does is told where it belongs.
static int run_pause(struct cli *cli)
{
    const struct options *options = &cli->options;
    size_t queues = count_given(options, "queue");
    bool filtered = is_filtered(options), says = options_get(options, "note") || options_get(options, "missed");
    if ((queues || filtered) && options->arg_count)
        return verb_misused(cli, "give either ids of tasks, --queue or filters");
    if (filtered && queues > 1)
        return verb_misused(cli, "beside other filters --queue is given once: a task is in one queue");
    if (says && !options->arg_count)
        return verb_misused(cli, "--note and --missed go with ids of recurring tasks");
    if (filtered)
        return bulk_run(cli);
    if (queues)
        return act_on_queues(cli);
    if (!options->arg_count)
        return verb_misused(cli, "say what: rota %s ID..., or rota %s --queue NAME, or filters as of rota list", cli->verb->name,
                            cli->verb->name);
    buf_auto struct buf path = {0};
    if (!call_path(&path, options->args[0], ""))
        return verb_misused(cli, "%s is not an id; for a queue of that name: rota %s --queue %s", options->args[0],
                            cli->verb->name, options->args[0]);
    return call_for_ids(cli, find_command(cli)->kinds, act_on);
}

// Tasks by their ids, all that match, or with --queues queues by their names.
static int run_delete(struct cli *cli)
{
    const struct options *options = &cli->options;
    if (!options_get(options, "queues"))
        return run_command(cli);
    if (filter_given(options) || options_get(options, "all") || options_get(options, "running") || options_get(options, "yes"))
        return verb_misused(cli, "--queues goes with names of queues, and nothing else");
    if (!options->arg_count)
        return verb_misused(cli, "say which: rota delete --queues NAME...");
    return delete_queues(cli);
}

#define QUEUE_OPTION                                                                                                 \
    {                                                                                                                \
        "queue", 0, "NAME", "a queue itself, instead of tasks; beside other filters: only tasks in this queue", true \
    }
static const struct option pause_options[] = {
    QUEUE_OPTION, {"note", 0, "TEXT", "why, shown with the recurring task while it is paused"}, BULK_OPTIONS, {0}};
static const struct option resume_options[] = {
    QUEUE_OPTION,
    {"note", 0, "TEXT", "why, for those who follow the events of the recurring task"},
    {"missed", 0, "WHICH", "of the runs that came while a recurring task was paused: skip them (as without it), one, or all",
     .choices = "skip one all"},
    BULK_OPTIONS,
    {0}};
static const struct option bulk_options[] = {BULK_OPTIONS, {0}};
static const struct option delete_options[] = {
    {"running", 0, NULL, "also cancel a job that is running"},
    {"queues", 0, NULL, "instead of tasks, forget queues in which nothing waits or runs; the arguments are their names"},
    BULK_OPTIONS,
    {0}};

const struct verb verb_cancel = {.name = "cancel",
                                 .args = "[ID...]",
                                 .args_max = SIZE_MAX,
                                 .output = true,
                                 .server = true,
                                 .help = "Cancel tasks or jobs that have not ended",
                                 .about = "The schedule of a recurring task ends with it. All ids are tried, also when the "
                                          "server refuses one of them. With filters instead of ids, all that match "
                                          "are cancelled, as a bulk that goes on at the server; the id of a bulk stops it.",
                                 .filters = true,
                                 .options = bulk_options,
                                 .run = run_command};

const struct verb verb_run = {
    .name = "run",
    .args = "[ID...]",
    .args_max = SIZE_MAX,
    .output = true,
    .server = true,
    .help = "Run a task's waiting job now, whatever its time",
    .about = "The id may be that of the waiting job. A recurring task gets one job more, beside those that are planned. What has "
             "ended is run once more by rota retry. Filters instead of ids run all tasks that match.",
    .filters = true,
    .options = bulk_options,
    .run = run_command};

const struct verb verb_retry = {
    .name = "retry",
    .args = "[ID...]",
    .args_max = SIZE_MAX,
    .output = true,
    .server = true,
    .help = "Run a job that has ended once more, as a new job",
    .about = "Of a task, the job that ended last is repeated. Shows the new job. With filters instead of ids, all "
             "jobs that match are repeated.",
    .example = "rota retry --state aborted --queue mail",
    .filters = true,
    .options = bulk_options,
    .run = run_command};

const struct verb verb_pause = {.name = "pause",
                                .args = "[ID...]",
                                .args_max = SIZE_MAX,
                                .output = true,
                                .server = true,
                                .help = "Hold tasks, or with --queue all that waits in a queue",
                                .about =
                                    "What is running goes on; what is submitted to a held queue waits there. With filters "
                                    "instead of ids, all tasks that match are held, as a bulk; what is submitted later is not.",
                                .example = "rota pause --queue mail",
                                .filters = true,
                                .options = pause_options,
                                .run = run_pause};

const struct verb verb_resume = {.name = "resume",
                                 .args = "[ID...]",
                                 .args_max = SIZE_MAX,
                                 .output = true,
                                 .server = true,
                                 .help = "Let tasks or queues go that were held by rota pause",
                                 .about = "With filters instead of ids, all tasks that match are let go, as a bulk.",
                                 .example = "rota resume --queue mail",
                                 .filters = true,
                                 .options = resume_options,
                                 .run = run_pause};

const struct verb verb_delete = {
    .name = "delete",
    .args = "[ID...]",
    .args_max = SIZE_MAX,
    .output = true,
    .server = true,
    .help = "End tasks and forget them, or with --queues queues that are empty",
    .about = "Jobs that wait are gone with their task. A call that runs goes on to its end and is not tried "
             "again; with --running it is broken off. Filters instead of ids delete all that match. A queue is "
             "refused while it is paused, or has jobs that have not ended; it is there again when something is submitted to it.",
    .example = "rota delete --queues mail.old",
    .filters = true,
    .options = delete_options,
    .run = run_delete};
