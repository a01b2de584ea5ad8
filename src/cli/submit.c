// rota submit: options to JSON, one POST, and with --wait the watching of the job to its end.
//
// What a field may hold is the server's to say; here only what cannot be put into JSON is refused, and what is certainly a slip.
#include "cli/submit.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/call.h"
#include "cli/explain.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/times.h"
#include "cli/wait.h"
#include "core/task.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BODY_MAX = 1 << 20 };

struct field {
    const char *option, *member;
    bool (*put)(struct buf *buf, const struct field *field, const struct options *options, const char *value,
                char why[ERR_WHY_MAX]);
};

static bool put_string(struct buf *buf, const char *what, struct str text, char why[ERR_WHY_MAX])
{
    size_t at;
    if (!text_valid(text, &at)) {
        snprintf(why, ERR_WHY_MAX, "%s is not UTF-8 text: byte %zu %s", what, at + 1, text.p[at] ? "is not" : "is NUL");
        return false;
    }
    json_put_string(buf, text);
    return true;
}

static void put_name(struct buf *buf, const char *name)
{
    if (buf->p[buf->n - 1] != '{')
        buf_putc(buf, ',');
    json_put_string(buf, str_of(name));
    buf_putc(buf, ':');
}

static bool put_text(struct buf *buf, const struct field *field, const struct options *options, const char *value,
                     char why[ERR_WHY_MAX])
{
    char what[64];
    snprintf(what, sizeof what, "--%s", field->option);
    put_name(buf, field->member);
    return put_string(buf, what, str_of(value), why);
}

static bool put_time(struct buf *buf, const struct field *field, const struct options *options, const char *value,
                     char why[ERR_WHY_MAX])
{
    buf_auto struct buf time = {0};
    times_put_api_local(&time, str_of(value));
    buf_putc(&time, 0);
    return put_text(buf, field, options, time.p, why);
}

static bool read_number(const struct field *field, const char *value, long *ret_number, char why[ERR_WHY_MAX])
{
    char *end;
    errno = 0;
    *ret_number = strtol(value, &end, 10);
    if (errno || end == value || *end || *value == ' ' || *value == '+') {
        snprintf(why, ERR_WHY_MAX, "--%s takes a whole number, not %s", field->option, value);
        return false;
    }
    return true;
}

static bool put_number(struct buf *buf, const struct field *field, const struct options *options, const char *value,
                       char why[ERR_WHY_MAX])
{
    long number;
    if (!read_number(field, value, &number, why))
        return false;
    put_name(buf, field->member);
    buf_put_int(buf, number);
    return true;
}

static bool put_retry(struct buf *buf, const struct field *field, const struct options *options, const char *value,
                      char why[ERR_WHY_MAX])
{
    long number;
    if (!read_number(field, value, &number, why))
        return false;
    put_name(buf, field->member);
    buf_printf(buf, "{\"max\":%ld}", number);
    return true;
}

// Members of an object, given as NAME=VALUE.
static bool put_labels(struct buf *buf, const struct field *field, const struct options *options, const char *first,
                       char why[ERR_WHY_MAX])
{
    put_name(buf, field->member);
    buf_putc(buf, '{');
    for (size_t i = 0; i < options->count; i++) {
        const char *label = options->values[i], *equals = strchr(label, '=');
        if (!str_is(str_of(options->given[i]->name), field->option))
            continue;
        if (!equals || equals == label) {
            snprintf(why, ERR_WHY_MAX, "--label takes NAME=VALUE, not %s", label);
            return false;
        }
        if (buf->p[buf->n - 1] != '{')
            buf_putc(buf, ',');
        if (!put_string(buf, "--label", (struct str){label, (size_t)(equals - label)}, why))
            return false;
        buf_putc(buf, ':');
        if (!put_string(buf, "--label", str_of(equals + 1), why))
            return false;
    }
    buf_putc(buf, '}');
    return true;
}

static bool split_header(const char *line, struct str *ret_name, struct str *ret_value, char why[ERR_WHY_MAX])
{
    const char *colon = strchr(line, ':');
    *ret_name = str_trim((struct str){line, colon ? (size_t)(colon - line) : 0});
    if (!ret_name->n) {
        snprintf(why, ERR_WHY_MAX, "--header takes 'Name: value', not %s", line);
        return false;
    }
    *ret_value = str_trim(str_of(colon + 1));
    return true;
}

// JSON objects have no name twice, and the server would say only that.
static bool header_is_new(const struct options *options, size_t before, struct str name)
{
    for (size_t i = 0; i < before; i++) {
        struct str other, value;
        char why[ERR_WHY_MAX];
        if (str_is(str_of(options->given[i]->name), "header") && split_header(options->values[i], &other, &value, why) &&
            str_eq_nocase(other, name))
            return false;
    }
    return true;
}

static bool put_headers(struct buf *buf, const struct field *field, const struct options *options, const char *first,
                        char why[ERR_WHY_MAX])
{
    put_name(buf, field->member);
    buf_putc(buf, '{');
    for (size_t i = 0; i < options->count; i++) {
        struct str name, value;
        if (!str_is(str_of(options->given[i]->name), field->option))
            continue;
        if (!split_header(options->values[i], &name, &value, why))
            return false;
        if (!header_is_new(options, i, name)) {
            snprintf(why, ERR_WHY_MAX, "the header " STR_FMT " is given twice: join the values with a comma", STR_ARG(name));
            return false;
        }
        if (buf->p[buf->n - 1] != '{')
            buf_putc(buf, ',');
        if (!put_string(buf, "--header", name, why))
            return false;
        buf_putc(buf, ':');
        if (!put_string(buf, "--header", value, why))
            return false;
    }
    buf_putc(buf, '}');
    return true;
}

// Reads at most one byte more than may be sent, so that neither a huge file nor an endless one is taken in.
static bool read_file(struct buf *buf, const char *path, char why[ERR_WHY_MAX])
{
    int fd = str_is(str_of(path), "-") ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0 && buf->n <= BODY_MAX) {
        buf_reserve(buf, 65536);
        n = read(fd, buf->p + buf->n, 65536);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            buf->n += (size_t)n;
    }
    if (n < 0)
        snprintf(why, ERR_WHY_MAX, "--body @%.100s: the file cannot be read: %s (@- is stdin, also for text that begins with @)",
                 path, strerror(errno));
    else if (buf->n > BODY_MAX)
        snprintf(why, ERR_WHY_MAX, "%s has more than 1 MiB, which is the most a task may have", path);
    if (fd >= 0)
        close(fd);
    return n >= 0 && buf->n <= BODY_MAX;
}

static bool put_body(struct buf *buf, const struct field *field, const struct options *options, const char *value,
                     char why[ERR_WHY_MAX])
{
    if (value[0] != '@')
        return put_text(buf, field, options, value, why);
    buf_auto struct buf file = {0};
    if (!value[1]) {
        snprintf(why, ERR_WHY_MAX, "--body @ needs the name of a file behind the @, or - for stdin");
        return false;
    }
    if (!read_file(&file, value + 1, why))
        return false;
    put_name(buf, field->member);
    return put_string(buf, value + 1, buf_str(&file), why);
}

static const struct option options_table[] = {
    {"method", 0, "M", "GET, POST, PUT, PATCH or DELETE (POST)", .choices = "GET POST PUT PATCH DELETE"},
    {"header", 0, "'K: V'", "a header of the call", true},
    {"body", 0, "TEXT|@FILE", "what to send: this text, or a file's (@- is stdin)"},
    {"at", 0, "TIME", "when: '2030-01-31 09:00' on this machine's clock, or 2030-01-31T09:00:00Z, or with +02:00 for Z (now)"},
    {"in", 0, "DURATION", "when, from now: 500ms 30s 10m 1h30m 7d"},
    {"retry", 0, "N", "how often to try again after a failure, 0 to 100 (3)"},
    {"timeout", 0, "DURATION", "how long one try may take (30s)"},
    {"priority", 0, "N", "0 to 9, 9 goes first (5)"},
    {"queue", 0, "NAME", "which queue it waits in (default)"},
    {"key", 0, "KEY", "idempotency: the same key gives the same task, however often it is sent"},
    {"name", 0, "NAME", "a name for people"},
    {"label", 0, "NAME=VALUE", "a label, to find it by (rota list --label)", true},
    {"wait", 0, NULL, "wait until the job has ended; exit 0 when it succeeded, else 1"},
    {0},
};

static const struct field fields[] = {
    {"method", "method", put_text},   {"header", "headers", put_headers},
    {"body", "body", put_body},       {"at", "at", put_time},
    {"in", "in", put_text},           {"retry", "retry", put_retry},
    {"timeout", "timeout", put_text}, {"priority", "priority", put_number},
    {"queue", "queue", put_text},     {"key", "key", put_text},
    {"name", "name", put_text},       {"label", "labels", put_labels},
};

bool submit_build(struct buf *buf, const struct options *options, char why[ERR_WHY_MAX])
{
    if (options_get(options, "at") && options_get(options, "in")) {
        snprintf(why, ERR_WHY_MAX, "--at and --in both say when: give one of them");
        return false;
    }
    buf_putc(buf, '{');
    put_name(buf, "url");
    if (!put_string(buf, "URL", str_of(options->args[0]), why))
        return false;
    for (size_t i = 0; i < array_count(fields); i++) {
        const char *value = options_get(options, fields[i].option);
        if (value && !fields[i].put(buf, &fields[i], options, value, why))
            return false;
    }
    buf_putc(buf, '}');
    return true;
}

// Waiting

static bool is_over(const struct value *task)
{
    return show_state_final(value_text(value_at(task, "job.state")));
}

static void put_progress(struct buf *line, const struct value *task, int64_t waited_ms)
{
    show_put_progress(line, &(struct show){.now_ms = clock_now().wall_ms}, task, waited_ms);
}

static void put_held(struct buf *lines, struct caller *caller, const struct value *task)
{
    struct reply reply;
    const struct value *job = value_at(task, "job");
    if (!explain_is_held_up(task, job))
        return;
    explain_get(caller, value_text(value_at(job, "id")), &reply);
    if (reply.code == CLI_OK)
        show_put_waits(lines, reply.value, "\n  ");
    reply_done(&reply);
}

static void wait_for(struct caller *caller, const char *id, struct reply *reply)
{
    buf_auto struct buf path = {0};
    if (!call_path(&path, id, "")) {
        reply->code = CLI_UNREACHED;
        snprintf(reply->why, sizeof reply->why, "what answers there is not a rota server (no id of a task came back)");
        return;
    }
    wait_end(caller, &(struct wait){.path = path.p, .ended = is_over, .put = put_progress, .put_held = put_held}, reply);
}

// Output

static int show_reply(const struct cli *cli, const struct reply *reply, bool whole)
{
    buf_auto struct buf out = {0};
    struct show show = terminal_show();
    if (cli->output != OUTPUT_TEXT) {
        text_put_json(&out, buf_str(&reply->body), cli->output == OUTPUT_JSON);
        buf_putc(&out, '\n');
    } else if (whole) {
        show_put_task(&out, &show, reply->value);
    } else {
        text_put_short(&out, value_text(value_at(reply->value, "id")), 200);
        buf_putc(&out, '\n');
    }
    return terminal_write(buf_str(&out));
}

// Is it known by its key, and has somebody cancelled it since? Then the submit was taken, and yet nothing follows from it.
static bool was_cancelled(const struct reply *reply)
{
    return reply->status == 200 && str_is(value_text(value_at(reply->value, "state")), task_state_text(TASK_CANCELLED));
}

// Words for who looks on; a script gets the id on stdout and nothing else.
static void talk_submitted(const struct reply *reply, const char *id, bool wait)
{
    if (was_cancelled(reply)) {
        terminal_talk("rota submit: nothing will run: this task was submitted before under the key, and has been cancelled."
                      " rota retry %s runs it after all; another --key makes a new task\n",
                      id);
        return;
    }
    if (reply->status == 200)
        terminal_talk("the key is known: this task was submitted before\n");
    if (wait)
        terminal_talk("submitted %s\n", id);
    else if (terminal_is_watched())
        terminal_talk("submitted; rota get %s shows how it goes\n", id);
}

static int end_wait(const struct caller *caller, struct reply *reply, const char *id)
{
    if (reply->code != CLI_OK) {
        terminal_talk("rota submit: %s was submitted, but how it ended is not known\n", id);
        return call_explain(caller, reply);
    }
    int code = show_reply(caller->cli, reply, true);
    bool success = str_is(value_text(value_at(reply->value, "job.state")), job_state_text(JOB_SUCCESS));
    return code ? code : success ? CLI_OK : CLI_JOB_FAILED;
}

static int finish(struct caller *caller, struct reply *reply, struct arena *arena)
{
    bool wait = options_get(&caller->cli->options, "wait");
    if (reply->code != CLI_OK)
        return call_explain(caller, reply);
    const char *id = arena_copy(arena, value_text(value_at(reply->value, "id"))).p;
    talk_submitted(reply, id, wait);
    if (was_cancelled(reply)) {
        int code = show_reply(caller->cli, reply, false);
        return code ? code : CLI_REFUSED;
    }
    if (!wait)
        return show_reply(caller->cli, reply, false);
    wait_for(caller, id, reply);
    return end_wait(caller, reply, id);
}

static int run_submit(struct cli *cli)
{
    buf_auto struct buf task = {0};
    char why[ERR_WHY_MAX];
    struct caller caller;
    if (!submit_build(&task, &cli->options, why))
        return verb_misused(cli, "%s", why);
    int code = call_open(&caller, cli);
    if (code)
        return code;
    struct reply reply;
    call(&caller, "POST", "/v1/tasks", buf_str(&task), &reply);
    code = finish(&caller, &reply, &cli->arena);
    reply_done(&reply);
    call_close(&caller);
    return code;
}

const struct verb verb_submit = {.name = "submit",
                                 .args = "URL",
                                 .args_min = 1,
                                 .args_max = 1,
                                 .output = true,
                                 .server = true,
                                 .help = "Submit a task: call URL, now or later, until it succeeds",
                                 .about = "Prints the task's id; with --wait, the task and its job when it has ended.",
                                 .example = "rota submit https://hooks.example/ring --body 'hello' --in 10m",
                                 .options = options_table,
                                 .run = run_submit};
